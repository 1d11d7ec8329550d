"""
Phonemes of the synthesizers, the classes to which they belong, and the shape of the mouth of each class.

A shape has six numbers between 0 and 1, in the order of `SHAPE`:
open    how far the jaw is open, 1 as in "father"
wide    how far the corners are apart, 1 for the widest spread
round   how far the lips are protruded
closed  the lips touch
tuck    the lower lip touches the upper teeth
tongue  the tip of the tongue shows between the teeth (1) or behind them (less)
"""

import re

SHAPE = ("open", "wide", "round", "closed", "tuck", "tongue")

CLASSES = {
    "sil": (0.00, 0.00, 0.00, 1.0, 0.0, 0.0),
    "p": (0.00, 0.00, 0.05, 1.0, 0.0, 0.0),
    "f": (0.08, 0.10, 0.00, 0.2, 1.0, 0.0),
    "th": (0.22, 0.15, 0.00, 0.0, 0.0, 1.0),
    "l": (0.30, 0.15, 0.00, 0.0, 0.0, 0.7),
    "r": (0.30, 0.15, 0.00, 0.0, 0.0, 0.4),
    "t": (0.20, 0.20, 0.00, 0.0, 0.0, 0.3),
    "n": (0.20, 0.15, 0.00, 0.0, 0.0, 0.35),
    "s": (0.10, 0.45, 0.00, 0.0, 0.0, 0.0),
    "sh": (0.18, 0.00, 0.55, 0.0, 0.0, 0.0),
    "k": (0.25, 0.10, 0.00, 0.0, 0.0, 0.0),
    "h": (0.35, 0.10, 0.00, 0.0, 0.0, 0.0),
    "j": (0.20, 0.50, 0.00, 0.0, 0.0, 0.0),
    "R": (0.22, 0.00, 0.35, 0.0, 0.0, 0.0),
    "w": (0.12, 0.00, 1.00, 0.0, 0.0, 0.0),
    "a": (1.00, 0.10, 0.00, 0.0, 0.0, 0.0),
    "ae": (0.85, 0.45, 0.00, 0.0, 0.0, 0.0),
    "uh": (0.60, 0.10, 0.00, 0.0, 0.0, 0.0),
    "schwa": (0.40, 0.05, 0.00, 0.0, 0.0, 0.0),
    "e": (0.60, 0.45, 0.00, 0.0, 0.0, 0.0),
    "i": (0.30, 0.75, 0.00, 0.0, 0.0, 0.0),
    "ih": (0.35, 0.45, 0.00, 0.0, 0.0, 0.0),
    "O": (0.65, 0.00, 0.65, 0.0, 0.0, 0.0),
    "o": (0.42, 0.00, 0.85, 0.0, 0.0, 0.0),
    "u": (0.22, 0.00, 1.00, 0.0, 0.0, 0.0),
    "U": (0.28, 0.00, 0.65, 0.0, 0.0, 0.0),
    "y": (0.20, 0.00, 0.90, 0.0, 0.0, 0.0),
    "er": (0.35, 0.00, 0.30, 0.0, 0.0, 0.0),
}


def table(text):
    """Parses lines of `class: phoneme phoneme ...`. A class of two names (`a+ih`) is a diphthong: half of its time each."""
    result = {}
    for line in text.strip().splitlines():
        names, phonemes = line.split(":", 1)
        for phoneme in phonemes.split():
            result[phoneme] = tuple(names.strip().split("+"))
    return result


# American English: flite, and the voices kal, ked and slt of festival.
ENGLISH = table("""
sil: pau sil SIL h#
p: p b m em
f: f v
th: th dh
l: l el
t: t d dx
n: n en
s: s z
sh: ch jh sh zh
k: k g ng
h: hh
j: y
R: r
w: w
a: aa
ae: ae
uh: ah
schwa: ax
e: eh
i: iy
ih: ih
O: ao
u: uw
U: uh
er: er axr
o: o
O+o: ow
a+ih: ay
a+U: aw
e+i: ey
O+ih: oy
""")

# The voice msu_ru_nsh of festival. Doubled vowels are stressed, doubled consonants palatal.
RUSSIAN = table("""
sil: pau
p: p pp b bb m mm
f: f ff v vv
t: t tt d dd
n: n nn
l: l ll
r: r rr
s: s ss z zz c
sh: sh sch zh ch
k: k kk g gg h hh
j: j
a: aa
uh: a ay
ae: ae
e: ee e
i: ii i
ih: yy y ur
O: oo
u: uu u
""")

# Voices that are used for tests only.
CZECH = table("""
sil: #
p: p b m
f: f v m*
t: t d t~ d~
n: n n~
l: l
r: r
s: c s z dz
sh: c~ s~ z~ r~ r~* dz~ ch~
k: k g x ch n* N
h: h
j: j
schwa: ? _
a: a a:
e: e e:
i: i i:
O: o o:
u: u u:
""")
ITALIAN = table("""
sil: # h#
p: p b m
f: f v nf
t: t d
n: n JJ J
l: l LL L
r: r
s: s z ts dz
sh: S tS dZ
k: k g ng
j: j
w: w
a: a a1
e: e e1 E1 E
i: i i1
o: o o1 O1
u: u u1
""")
FINNISH = table("""
sil: # ##
p: p b m
f: f v
t: t d T D
n: n
l: l
r: r
s: s z
sh: S Z
k: k g N
h: h
j: j
w: w
a: a
ae: &
e: e
i: i
o: o
u: u
y: y 7
schwa: @
""")

# The letters of the International Phonetic Alphabet that espeak-ng uses.
IPA = table("""
p: p b m ɓ β
f: f v ʋ ɱ
th: θ ð
t: t d ʈ ɖ ɾ
n: n ɲ ɳ
l: l ɫ ʎ ɭ
r: r
s: s z ç
sh: ʃ ʒ ʂ ʐ ɕ ʑ
k: k g ɡ ŋ x ɣ q χ ʁ ʀ
h: h ɦ
j: j
R: ɹ ɻ
w: w
a: a ɑ
ae: æ
uh: ɐ ʌ
schwa: ə ʔ
e: e ɛ
i: i
ih: ɪ ɨ ɯ ᵻ
O: ɔ ɒ œ
o: o ɵ
u: u ʉ
U: ʊ
y: y ʏ ø ɥ
er: ɚ ɜ ɝ
""")
IPA_MARKS = re.compile("[ˈˌː̩̃ʲ̪ʰˑ.ʼ̥̆͡‿͈̯ ]")


def ipa_classes(name):
    """The classes of a phoneme of espeak-ng, `None` when it is a mark without a sound."""
    letters = IPA_MARKS.sub("", name)
    if not letters:
        return None
    classes = [IPA[letter][0] for letter in letters if letter in IPA]
    if not classes:
        return ("sil",) if re.fullmatch(r"[_|:;0-9^\"']+", letters) or "_" in letters else None
    if classes[0] == "t" and classes[1:2] in (["sh"], ["s"]):
        return (classes[1],)
    return tuple(classes)


def label(segments, classes_by_phoneme):
    """
    Turns (start, end, phoneme) into (start, end, class), in seconds. `classes_by_phoneme` is a function that returns the classes
    of a phoneme, or `None` when the segment is to be left out.
    """
    result = []
    for start, end, phoneme in segments:
        classes = classes_by_phoneme(phoneme)
        if classes is None:
            continue
        length = (end - start) / len(classes)
        result += [(start + i * length, start + (i + 1) * length, name) for i, name in enumerate(classes)]
    return result
