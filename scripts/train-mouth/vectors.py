"""Writes what this program computes for a sound, so that a test in TypeScript can compare."""

import json

import numpy as np

import features
import network

STEPS_BETWEEN_VECTORS = 7


def make_sound():
    """One second at 48 kHz: a sawtooth of 120 Hz, then noise, then both. Whole numbers, so that each language gets the same."""
    state = 1
    samples = []
    for index in range(48000):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        sawtooth = (index % 400 - 200) * 40
        noise = (state >> 16) % 8001 - 4000
        part = index // 16000
        samples.append((sawtooth if part != 1 else 0) + (noise if part != 0 else noise // 100))
    return np.array(samples, np.int16)


def write(path, layers, past, future):
    """Writes some steps of the sound with their features and the outputs of the network."""
    rows = features.features(make_sound())
    outputs = network.run(layers, rows, past, future)
    steps = range(0, len(rows) - future, STEPS_BETWEEN_VECTORS)
    vectors = [
        {
            "step": step,
            "features": [round(float(value), 5) for value in rows[step]],
            "outputs": [round(float(value), 5) for value in outputs[step]],
        }
        for step in steps
    ]
    with open(path, "w", encoding="utf8") as file:
        json.dump(vectors, file)
        file.write("\n")
