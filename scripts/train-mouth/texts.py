"""
The sentences that are spoken for the training and the tests. The first twenty in English are of the Harvard sentences (IEEE,
1969, public domain). All others were written for this project.
"""

ENGLISH = """
The birch canoe slid on the smooth planks.
Glue the sheet to the dark blue background.
It is easy to tell the depth of a well.
These days a chicken leg is a rare dish.
Rice is often served in round bowls.
The juice of lemons makes fine punch.
The box was thrown beside the parked truck.
The hogs were fed chopped corn and garbage.
Four hours of steady work faced us.
A large size in stockings is hard to sell.
The boy was there when the sun rose.
A rod is used to catch pink salmon.
The source of the huge river is the clear spring.
Kick the ball straight and follow through.
Help the woman get back to her feet.
A pot of tea helps to pass the evening.
Smoky fires lack flame and heat.
The soft cushion broke the man's fall.
The salt breeze came across from the sea.
The girl at the booth sold fifty bonds.
Hello, my name is Ada, how may I help you today?
Please open the window, the room is very warm.
My mother put the baby in a blue bubble bath.
Five very fine vases fell from the van.
Would you show me who you do know?
I think that these things are worth a thousand thanks.
Maybe we can move the meeting to Monday morning.
You should choose the shoes with the yellow zipper.
Papa bought a map of Alabama.
We wanted one more moment before bedtime.
What a beautiful view over the bay.
Oh no, the old boat is going home alone.
She sells sea shells by the shore.
Peter Piper picked a peck of pickled peppers.
Ah, I see. Thank you very much for waiting.
The value of the offer will be above average.
""".strip().splitlines()

ENGLISH_MORE = """
Vivian gave every visitor a full cup of coffee.
If the food is safe, half of the families will leave by five.
The chief of staff verified the final figures for February.
Save the leaves of the fig tree for the festival of fire.
Have you ever heard of a fever that vanished over lunch?
Philip found a few rough stones off the coast of France.
Give me a sieve, a knife and a loaf of fresh bread.
I believe the vague reviews were unfair and far from funny.
Move the sofa five feet above the stove, then fix the valve.
We have to save fuel, or even the ferry will not leave.
The wife of the chef loves violets and fresh foliage.
A brave fox often finds food in the frozen fields.
Both brothers breathe through their mouths.
Three thin thieves thought a thousand thoughts on Thursday.
The weather in the north is rather smooth this month.
Little Lily lay in the lovely yellow light.
All the dolls fell into the cold lake.
Tell Nell to let the tall man in.
Did Dan need ten tin cans at noon?
My mum and Bob made plum jam by the lamp.
Pam's puppy jumped up and bumped a big pipe.
Go and ask the clerk about the black truck.
Why do you always use your blue shoes at school?
Who knew you could do two at noon?
He reads three green leaves each evening.
Our house is now far out of town.
The boy enjoys a noisy toy.
Father saw a large palm in the calm harbour.
That bad cat sat on a black mat.
Rush the orange juice to the judge at the church.
Thanks for calling, I will check that for you right now.
Your order has been shipped and should arrive on Friday.
Could you repeat the last four digits, please?
Your appointment is on the seventh of November at half past five.
I am sorry, that offer is no longer available.
Let me find the form for you, it will only take a few seconds.
""".strip().splitlines()

OTHERS = {
    "de": """
Guten Morgen, mein Name ist Ada, wie kann ich Ihnen helfen?
Die Mutter backt am Abend einen großen Apfelkuchen.
Über den Wolken muss die Freiheit wohl grenzenlos sein.
Bitte öffnen Sie das Fenster, es ist sehr warm.
Fünf schöne Vögel fliegen über das blaue Wasser.
Wir möchten morgen um zehn Uhr anrufen.
Viele Väter wollen am Freitag vor elf Uhr auf die Wiese.
Das Pferd läuft auf dem Hof, der Affe schläft im Haus.
Wo waren wir, als der Wind die Waffeln wegwehte?
""",
    "fr": """
Bonjour, je m'appelle Ada, comment puis-je vous aider?
Un bon vin blanc pour mon ami, merci beaucoup.
Nous voulons ouvrir la fenêtre parce qu'il fait chaud.
Le petit bateau bleu part du port ce matin.
Pouvez-vous répéter la question, s'il vous plaît?
La femme du chef a fait du café frais pour neuf enfants.
Vous avez vu vingt vieux vélos devant la ville.
Il faut enfin finir avant vendredi.
""",
    "es": """
Buenos días, me llamo Ada, ¿en qué puedo ayudarle?
El perro blanco bebe agua fresca por la mañana.
Mi familia vive en un pueblo muy bonito.
Por favor, abra la ventana porque hace calor.
Cuatro barcos pequeños van por el río.
La profesora prefiere café frío y fruta fresca.
Al fin, el jefe firmó la oferta de febrero.
""",
    "it": """
Buongiorno, mi chiamo Ada, come posso aiutarla?
Un piccolo uomo beve un bicchiere di vino buono.
La mamma prepara il pane e la pasta ogni mattina.
Vorrei prenotare un tavolo per quattro persone.
La famiglia va al forno e trova nove favolose uova fritte.
Davvero vuole fare una foto al fiume?
""",
    "pt": """
Bom dia, meu nome é Ada, como posso ajudar?
O menino pequeno bebe água e come um bolo bom.
A minha família mora em uma casa azul.
Você vai ver a avó favorita na sexta-feira.
O café ficou frio, faça favor de ferver.
""",
    "pl": """
Dzień dobry, mam na imię Ada, w czym mogę pomóc?
Proszę otworzyć okno, bo jest bardzo ciepło.
Mały chłopiec biegnie przez most.
Wiele kwiatów widać w nowym filmie o wojnie.
Fabryka farb w Warszawie wysyła wagony.
""",
    "ru": """
Добрый день, меня зовут Ада, чем я могу помочь?
Мама купила большой белый автомобиль.
Пожалуйста, откройте окно.
Вова видел в филармонии фиалки и фрукты.
Фёдор всегда говорит о форме ваших слов.
Папа пьёт воду из вазы у фонтана.
""",
    "cs": """
Dobrý den, jmenuji se Ada, jak vám mohu pomoci?
Malý pes běží přes most do parku.
Moje babička vaří výbornou bramborovou polévku.
Ve vlaku bylo víc lidí než ve filmu.
Dva hoši fotili fialové květy.
""",
    "hi": """
नमस्ते, मेरा नाम आदा है, मैं आपकी क्या मदद कर सकती हूँ?
बच्चा पानी पी रहा है।
वह विमान फिर वापस आया।
""",
    "tr": """
Günaydın, benim adım Ada, size nasıl yardımcı olabilirim?
Büyük mavi bir araba buradan geçti.
Fatma sevdiği filmi evde seyretti.
Vapur fırtınada ufak bir adaya vardı.
""",
    "sv": """
God morgon, jag heter Ada, hur kan jag hjälpa dig?
Min mamma bakar ett stort bröd.
Vi vill flytta fem stolar från verkstaden.
Far och farfar fiskar ofta vid viken.
""",
    "nl": """
Goedemorgen, mijn naam is Ada, hoe kan ik u helpen?
De blauwe boot vaart over het meer.
Wij willen vier verse vissen van de visser.
De fiets van Floor valt voor het feest.
""",
    "fi": """
Hyvää huomenta, nimeni on Ada, kuinka voin auttaa?
Pieni poika juo maitoa pöydän ääressä.
Vanha vene lipui hiljaa vihreällä vedellä.
""",
    "id": """
Selamat pagi, nama saya Ada, apa yang bisa saya bantu?
Ibu membeli buah di pasar besar.
Foto wanita itu ada di tivi, bukan di film.
""",
}
OTHERS = {language: text.strip().splitlines() for language, text in OTHERS.items()}

# For the Russian voice of festival.
RUSSIAN_VOICE = """
Добрый день, меня зовут Ада, чем я могу вам помочь?
Мама купила большой белый автомобиль.
Пожалуйста, откройте окно, в комнате очень тепло.
Вова видел в филармонии фиалки и фрукты.
Фёдор всегда говорит о форме ваших слов.
Папа пьёт воду из вазы у фонтана.
Ваш заказ готов, вы можете забрать его в пятницу.
Фотографии выставки висят в фойе.
Бабушка варит вкусный борщ и печёт пирог.
Мы поём песню о море и о белом пароходе.
Пять весёлых ребят бегут по мосту.
Вы хотите повторить вопрос или поговорить с оператором?
У нас была хорошая погода, но вечером пошёл дождь.
Он купил шкаф, шарф, кофту и новый портфель.
Дети любят смотреть фильмы о животных.
Эта улица ведёт к вокзалу, а та к площади.
Любовь Васильевна вошла в вагон и вынула веер.
В феврале в городе Уфе открыли новую фабрику.
Тётя Поля пила чай и ела яблоки.
Лампа упала на пол и разбилась.
Вечером волк выл на луну, а филин ухал.
Верните, пожалуйста, две синие вилки.
Семь плюс восемь будет пятнадцать.
Юля играет на флейте, а Фима на виолончели.
Ваш вызов очень важен для нас, оставайтесь на линии.
Вы всё ещё живёте в Волгограде?
Вчера вечером ветер сорвал вывеску с вокзала.
Виктор, возьмите ваши вещи и выйдите на второй этаж.
Фима фотографирует шофёра в фуражке.
Профессор философии выпил кофе без кефира.
В этой фирме работают финны и французы.
Вот уже двадцать лет она живёт в деревне.
Давайте встретимся завтра во дворе у фонаря.
Совет выслушал доводы адвоката и вынес вердикт.
Новый свитер висит в шкафу слева.
Ефим купил конфеты, вафли и фисташки.
Мой брат будет ждать вас у большого моста.
Бабочка порхает над белым полем.
Мы обедаем в половине первого в маленьком кафе.
Помогите, пожалуйста, поменять пароль.
Петя поймал большую рыбу и отпустил её обратно в воду.
Это очень интересная книга об истории города.
Ты уже умеешь читать и писать?
Самолёт улетает в восемь утра из нового аэропорта.
У окна стоит стол, на столе лежит журнал.
Учитель объясняет ученикам трудный урок.
Можно мне чашку чая и кусок яблочного пирога?
Здесь тихо и тепло, а на улице шумит ветер.
""".strip().splitlines()

# Without accents, because these voices do not know them.
TESTS = {
    "czech": """
dobry den jmenuji se ada jak vam mohu pomoci
maly pes bezi pres most do parku
moje babicka vari vybornou bramborovou polevku
prosim otevrete okno je velmi teplo
mama bota papa pivo voda
kupuju nove auto a bilou lampu
ve vlaku bylo mnoho lidi
slunce svitilo nad modrou horou
umim mluvit pomalu a potichu
vidim fialovou vazu na stole
dva muzi sli domu pozde vecer
bobek mel hlad a pil mleko
""",
    "italian": """
buongiorno mi chiamo ada come posso aiutarla
un piccolo uomo beve un bicchiere di vino buono
la mamma prepara il pane e la pasta ogni mattina
vorrei prenotare un tavolo per quattro persone
il tempo oggi bello e la primavera arriva
puoi aprire la finestra per favore
una bambina bionda mangia una mela rossa
dove posso comprare un biglietto per il treno
fammi vedere la foto della famiglia
il vecchio ponte sul fiume rotto
non voglio parlare con nessuno
amore mio vieni subito qui
ho visto un film molto bello ieri sera
tu ed io usiamo lo stesso computer nuovo
la luna piena illumina il bosco
""",
    "finnish": """
hyvaa huomenta minun nimeni on ada
pieni poika juo maitoa poydan luona
kaunis tyhja huone odottaa meita
minua palelee koska ulkona on kova pakkanen
voisitko avata ikkunan koska taalla on kuuma
auto ajoi nopeasti vanhan sillan yli
haluan ostaa uuden punaisen puvun
mama ja papa menivat mokille viime sunnuntaina
vanha mies puhui hitaasti ja hiljaa
bussi pysahtyi pankin eteen
""",
}
TESTS = {language: text.strip().splitlines() for language, text in TESTS.items()}
