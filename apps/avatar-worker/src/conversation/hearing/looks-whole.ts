/**
 * Whether the text of a pause looks like a whole turn. A full stop alone proves little, because recognizers also write
 * one where only the voice has fallen.
 */

/**
 * Words that cannot end a whole sentence, by language: articles, prepositions, conjunctions, possessives, and sounds of
 * hesitation. English "so" is not in the list, because many whole sentences end with it ("I think so").
 */
const OPEN_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: [
    ..."a an the and or but nor because if that than as while whereas although unless until".split(" "),
    ..."of to in on at for from with by about into onto between during without".split(" "),
    ..."my your his her its our their is are am was were i'm it's i you we they he she this maybe whether".split(" "),
    ..."um uh uhm er erm hmm mr mrs ms dr".split(" "),
  ],
  de: [
    ..."der die das den dem des ein eine einen einem einer eines und oder aber sondern weil wenn dass ob als".split(
      " ",
    ),
    ..."von zu zum zur in im am an auf für mit bei aus nach über unter vor zwischen ohne durch gegen".split(" "),
    ..."mein meine meinen meinem dein deine sein seine ihr ihre unser unsere ich wir vielleicht".split(" "),
    ..."äh ähm öh hm herr frau dr".split(" "),
  ],
  fr: [
    ..."le la les l un une des du de d et ou mais car parce que qu si quand comme donc".split(" "),
    ..."à au aux en dans sur pour par avec sans chez entre vers".split(" "),
    ..."mon ma mes ton ta tes son sa ses notre votre nos vos leur leurs je j il elle nous vous".split(" "),
    ..."euh heu hum ben m mme".split(" "),
  ],
  es: [
    ..."el la los las un una unos unas y e o u pero porque que si cuando como aunque".split(" "),
    ..."de del a al en con por para sin sobre entre desde hasta".split(" "),
    ..."mi mis tu tus su sus nuestro nuestra yo es está son".split(" "),
    ..."eh em este pues sr sra".split(" "),
  ],
  it: [
    ..."il lo la i gli le un uno una l e ed o ma perché che se quando come".split(" "),
    ..."di del della dei delle a al alla da dal dalla in nel nella con su sul per tra fra senza".split(" "),
    ..."mio mia tuo tua suo sua nostro nostra io è sono ehm eh uhm".split(" "),
  ],
  pt: [
    ..."o a os as um uma uns umas e ou mas porque que se quando como".split(" "),
    ..."de do da dos das em no na nos nas com por para sem sobre entre até".split(" "),
    ..."meu minha seu sua nosso nossa eu é são está eh hum".split(" "),
  ],
  nl: [
    ..."de het een en of maar want omdat dat als dan toen".split(" "),
    ..."van te in op aan voor met bij uit naar over onder tussen zonder door".split(" "),
    ..."mijn jouw je zijn haar ons onze hun ik wij we eh ehm uh".split(" "),
  ],
};

/** English words that can end a question but not a statement: "Where are you from?", "What is it?" */
const CLOSE_QUESTIONS = new Set("from for about with at that this you we they he she is are was were am i".split(" "));
/** English pronouns that end a statement after one of the words below: "Thank you.", "Yes, it is.", "I like that." */
const PRONOUNS = "i you we they he she it that this there here".split(" ");
const OBJECT_OF = "for with to about of from in on like love see help meet hear tell ask know need want do".split(" ");
const CLOSED_AFTER = new Map<string, readonly string[]>([
  ...(["am", "is", "are", "was", "were"] as const).map((word) => [word, PRONOUNS] as const),
  ...(["that", "this"] as const).map((word) => [word, OBJECT_OF] as const),
  ["you", ["thank", ...OBJECT_OF.filter((word) => word !== "do" && word !== "know")]],
]);

const ENDS = /[.?!。？！؟।]["'”’»)\]]*$/u;
const TRAILS_OFF = /(?:\.{2,}|…)["'”’»)\]]*$/u;
const IS_QUESTION = /[?？؟]["'”’»)\]]*$/u;
const IS_CALL = /[!！]["'”’»)\]]*$/u;
/** Scripts without spaces between words: the last word cannot be found. */
const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** In a language without a list, words of this length are articles and prepositions. */
const SHORT_WORD = 3;
/** Common words that identify a text as English when no language is given. */
const ENGLISH = new Set("the a i you it is to and of in my for me that what do can please yes no okay".split(" "));

const splitWords = (text: string): string[] =>
  (
    text
      .toLowerCase()
      .replaceAll("’", "'")
      .match(/[\p{L}\p{M}\p{N}']+/gu) ?? []
  ).map((word) => word.replace(/^'+|'+$/g, ""));

/**
 * The language whose list applies, or null. Without a given language, a text is taken as English when it is short or
 * has a common English word.
 */
const findLanguage = (words: readonly string[], named: string | undefined): string | null => {
  const language = named?.toLowerCase().split(/[-_]/)[0] ?? "";
  if (language !== "") return language in OPEN_WORDS ? language : null;
  return words.length < 4 || words.some((word) => ENGLISH.has(word)) ? "en" : null;
};

const closesEnglish = (last: string, before: string, isQuestion: boolean): boolean =>
  isQuestion ? CLOSE_QUESTIONS.has(last) : (CLOSED_AFTER.get(last)?.includes(before) ?? false);

/**
 * Whether the text looks like a whole turn. `language`: a tag such as `en` or `de-AT`, if it is known. In a language
 * without a list, a statement of several words does not look whole if it ends with a short word: a wrong wait costs a
 * second, a wrong end costs the turn.
 */
export const looksWhole = (text: string, language?: string): boolean => {
  const trimmed = text.trim();
  if (!ENDS.test(trimmed) || TRAILS_OFF.test(trimmed)) return false;
  if (NO_SPACES.test(trimmed)) return true;
  const words = splitWords(trimmed);
  const last = words.at(-1);
  if (last === undefined) return false;
  const isQuestion = IS_QUESTION.test(trimmed);
  const known = findLanguage(words, language);
  if (known === null) return words.length === 1 || isQuestion || IS_CALL.test(trimmed) || last.length > SHORT_WORD;
  if (!OPEN_WORDS[known]?.includes(last)) return true;
  return known === "en" && closesEnglish(last, words.at(-2) ?? "", isQuestion);
};
