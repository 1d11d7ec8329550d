"""
All speech of the training and of the tests, by voice. Making it takes two minutes; it is kept in a folder.

Only voices with a permissive licence are in `TRAINING`. Those in `TESTS` (GPL, LGPL, recordings) measure the result and leave no
trace in the weights.
"""

import os
import pickle
import random

import phonemes
import recordings
import synthesizers
import texts

ESPEAK_VARIANTS = ["", *"m1 m3 m5 m7 f1 f2 f3 f4 f5 klatt2 Annie Andy Gene Michael Alicia steph Denis anika linda".split()]
ESPEAK_NAMES = {"en": "en-us"}
SEED = 7


def _english():
    return texts.ENGLISH + texts.ENGLISH_MORE


def _speak_espeak():
    """By language: each sentence in several voices, at random speeds and pitches."""
    random.seed(SEED)
    espeak = synthesizers.Espeak()
    result = {}
    for language, sentences in {"en": _english(), **texts.OTHERS}.items():
        result[f"espeak-{language}"] = [
            espeak.speak(
                "+".join(filter(None, [ESPEAK_NAMES.get(language, language), random.choice(ESPEAK_VARIANTS)])),
                sentence,
                random.randint(130, 200),
                random.randint(25, 95),
            )
            for sentence in sentences
            for _ in range(2 if language == "en" else 5)
        ]
    return result


def _training():
    flite = {f"flite-{voice}": synthesizers.flite(voice, _english()) for voice in ("slt", "rms", "awb", "kal16")}
    festival = {
        f"festival-{voice}": synthesizers.festival(voice, _english(), phonemes.ENGLISH)
        for voice in ("kal_diphone", "ked_diphone", "cmu_us_slt_arctic_hts")
    }
    russian = synthesizers.festival("msu_ru_nsh_clunits", texts.RUSSIAN_VOICE, phonemes.RUSSIAN)
    return {**flite, **festival, "festival-russian": russian, **_speak_espeak()}


def _tests():
    voices = {
        "czech_dita": ("czech", phonemes.CZECH),
        "czech_krb": ("czech", phonemes.CZECH),
        "lp_diphone": ("italian", phonemes.ITALIAN),
        "suo_fi_lj_diphone": ("finnish", phonemes.FINNISH),
        "hy_fi_mv_diphone": ("finnish", phonemes.FINNISH),
    }
    spoken = {
        name: synthesizers.festival(name, texts.TESTS[language], classes) for name, (language, classes) in voices.items()
    }
    return {**spoken, "librivox": recordings.librivox()}


def _load(path, make):
    """Reads `path`, which this program has written, or makes and writes it."""
    if not os.path.exists(path):
        made = make()
        with open(path, "wb") as file:
            pickle.dump(made, file)
    with open(path, "rb") as file:
        return pickle.load(file)


def training_speech(folder):
    """The utterances for the training, by voice or, for espeak-ng, by language."""
    return _load(os.path.join(folder, "training.pickle"), _training)


def test_speech(folder):
    """The utterances of voices that are for tests only, by voice."""
    return _load(os.path.join(folder, "tests.pickle"), _tests)
