"""
Makes the speech, trains the network twice and writes its file. See README.md.

usage: python train.py [--copies N] [--epochs N] [--folder FOLDER] [--output FILE] [--vectors FILE] [--figures FILE]
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os

# Two trainings run at once. With one thread each, they give the same weights in each run.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

import dataset
import evaluate
import network
import sounds
import speech
import vectors

PAST, FUTURE = 8, 3
HIDDEN = (128, 56)
COPIES, EPOCHS = 4, 9
SEED = 1
SOUNDS = 360
MAX_BYTES = 60_000
# How much an error counts: by output, and by class. Rare or short phonemes count more.
OUTPUT_WEIGHTS = np.array([1, 0.7, 1, 1.5, 4, 2], np.float32)
CLASS_WEIGHTS = {"p": 12, "f": 1.5, "th": 1.5, "u": 2, "w": 2, "o": 2, "O": 2, "sil": 0.5}
# Shares of other phonemes in which a tuck or a tongue may be seen. A tongue behind the teeth is less striking.
TUCK_MISTAKES, TONGUE_MISTAKES = 0.03, 0.08
# Voices that the first training never hears. Its figures show the accuracy of the network on unknown voices.
HELD_OUT = ("slt", "ked", "espeak-cs", "russian")


def is_held_out(name):
    return any(part in name for part in HELD_OUT)


def sound_examples(count, random):
    """Sounds that are no speech: their shape is that of silence."""
    return [dataset.example(sounds.make_sound(sounds.KINDS[i % len(sounds.KINDS)], random), []) for i in range(count)]


def train(voices, copies=COPIES, epochs=EPOCHS):
    """Trains with these voices. The same seed gives the same network on the same machine."""
    random = np.random.default_rng(SEED)
    examples = dataset.training_examples(voices, copies, random) + sound_examples(SOUNDS, random)
    by_class = np.array([CLASS_WEIGHTS.get(name, 1) for name in dataset.CLASS_NAMES], np.float32)
    streams = [(rows, shapes, by_class[classes][:, None] * OUTPUT_WEIGHTS) for rows, shapes, classes in examples]
    print(f"{sum(len(rows) for rows, _, _ in streams)} steps of {len(voices)} voices", flush=True)
    trainer = network.Trainer(streams, PAST, FUTURE, HIDDEN, random)
    trainer.train(epochs)
    return calibrate(trainer.layers(), voices)


def calibrate(layers, voices):
    """Shifts `tuck` and `tongue` so that they are seen in no more phonemes than the shares above, where they should not be."""
    tests = [dataset.test_example(utterances) for utterances in voices.values()]
    bias = layers[2][1]
    for column, limit, mistakes, names, alike in (
        (evaluate.TUCK, evaluate.TUCK_LIMIT, TUCK_MISTAKES, ("f",), evaluate.LIKE_F),
        (evaluate.TONGUE, evaluate.TONGUE_LIMIT, TONGUE_MISTAKES, ("th", "l"), evaluate.LIKE_L),
    ):
        values = [
            value
            for rows, _, classes in tests
            for value in evaluate.peaks(network.run(layers, rows, PAST, FUTURE), classes, column, names, alike)
        ]
        logit = lambda share: np.log(share / (1 - share))
        bias[column] += logit(limit) - logit(np.quantile(values, 1 - mistakes))
    return layers


def figures(layers, voices):
    """The figures of each voice, and of other sounds that the training did not hear."""
    result = {}
    for name, utterances in voices.items():
        rows, targets, classes = dataset.test_example(utterances)
        result[name] = evaluate.measure(network.run(layers, rows, PAST, FUTURE), targets, classes)
    result["other sounds"] = {}
    for kind in sounds.KINDS:
        gaps = []
        for seed in range(4):
            rows, _, _ = dataset.example(sounds.make_sound(kind, np.random.default_rng(1000 + seed)), [])
            gap, _ = evaluate.drawn(network.run(layers, rows, PAST, FUTURE))
            gaps.append(gap[20:])
        result["other sounds"][kind] = round(float((np.concatenate(gaps) < 0.1).mean()), 3)
    return result


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--copies", type=int, default=COPIES, help="variations of each sentence")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--folder", default=os.path.join(here, ".speech"), help="keeps the speech between two runs")
    parser.add_argument("--output", default=os.path.join(here, "../../packages/face/src/mouth.bin"))
    parser.add_argument("--vectors", default=os.path.join(here, "../../packages/face/src/sound/training.json"))
    parser.add_argument("--figures", default=os.path.join(here, "figures.json"))
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    training, tests = speech.training_speech(options.folder), speech.test_speech(options.folder)

    held_out = {name: utterances for name, utterances in training.items() if is_held_out(name)}
    rest = {name: utterances for name, utterances in training.items() if not is_held_out(name)}
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        without_held_out, final = pool.map(train, (rest, training), [options.copies] * 2, [options.epochs] * 2)
    result = {"held out": figures(without_held_out, {**held_out, **tests})}
    rounded = network.write(options.output, final, PAST, FUTURE)
    assert os.path.getsize(options.output) <= MAX_BYTES
    vectors.write(options.vectors, rounded, PAST, FUTURE)
    result["final"] = figures(rounded, {**held_out, **tests})
    with open(options.figures, "w", encoding="utf8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
