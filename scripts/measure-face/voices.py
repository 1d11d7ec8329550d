"""
Makes the voices for the films: python voices.py FOLDER writes slt, rms, awb and ked as FOLDER/<voice>.wav (48 kHz, mono) and
FOLDER/<voice>.json, the times of the phonemes as measure.py reads them. Needs flite, festival and festvox-kdlpc16k.
"""

import json
import os
import sys

import numpy as np
import scipy.io.wavfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../train-mouth"))
import dataset  # noqa: E402
import phonemes  # noqa: E402
import synthesizers  # noqa: E402

SENTENCES = [
    "Hello, my name is Ada, how may I help you today?",
    "Please open the window, the room is very warm.",
    "My mother put the baby in a blue bubble bath.",
    "Five very fine vases fell from the van.",
    "Oh no, the old boat is going home alone.",
    "Maybe we can move the meeting to Monday morning.",
    "Peter Piper picked a peck of pickled peppers.",
    "She sells sea shells by the shore.",
]
PAUSE_S = 0.6


def main(folder):
    os.makedirs(folder, exist_ok=True)
    voices = {voice: synthesizers.flite(voice, SENTENCES) for voice in ("slt", "rms", "awb")}
    voices["ked"] = synthesizers.festival("ked_diphone", SENTENCES, phonemes.ENGLISH)
    random = np.random.default_rng(0)
    for voice, utterances in voices.items():
        samples, labels = dataset.join(utterances, random, pause=PAUSE_S)
        samples = samples + random.normal(0, 3e-4, len(samples))
        scipy.io.wavfile.write(os.path.join(folder, f"{voice}.wav"), 48000, dataset.to_pcm(samples))
        with open(os.path.join(folder, f"{voice}.json"), "w", encoding="utf8") as file:
            json.dump(labels, file)


if __name__ == "__main__":
    main(sys.argv[1])
