"""
Recordings of people, for the tests only: five sentences of LibriVox (public domain) that come with the Debian package
pocketsphinx-testdata. Their phonemes were aligned by pocketsphinx, so their times are less exact than those of a synthesizer.
"""

import os
import re

import numpy as np
import pocketsphinx
import scipy.io.wavfile

import phonemes
import synthesizers

FOLDER = "/usr/share/pocketsphinx/test/data/librivox"


def _decode(decoder, raw):
    decoder.start_utt()
    decoder.process_raw(raw, full_utt=True)
    decoder.end_utt()


def _align(samples, text):
    """The segments (start, end, phoneme) of a sound at 16 kHz, or `None` when the words do not fit."""
    decoder = pocketsphinx.Decoder(lm=None, loglevel="FATAL")
    raw = (np.clip(samples, -1, 1) * 32767).astype(np.int16).tobytes()
    decoder.set_align_text(text)
    _decode(decoder, raw)
    if decoder.hyp() is None:
        return None
    # The second pass aligns the phonemes within the words that the first pass has aligned.
    decoder.set_alignment()
    _decode(decoder, raw)
    return [
        (phoneme.start / 100, (phoneme.start + phoneme.duration) / 100, phoneme.name.lower())
        for word in decoder.get_alignment()
        for phoneme in word
    ]


def librivox():
    """The utterances that could be aligned."""
    result = []
    with open(os.path.join(FOLDER, "transcription"), encoding="utf8") as file:
        lines = [re.match(r"<s> (.*) </s> \((.*)\)", line) for line in file]
    for text, name in (match.groups() for match in lines if match):
        rate, samples = scipy.io.wavfile.read(os.path.join(FOLDER, f"{name}.wav"))
        segments = _align(samples / 32768, text)
        if segments:
            labels = phonemes.label(segments, lambda phoneme: phonemes.ENGLISH.get(phoneme, ("sil",)))
            result.append(synthesizers.to_utterance(rate, samples / 32768, labels))
    return result
