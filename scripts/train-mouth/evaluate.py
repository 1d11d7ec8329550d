"""How well the network does on a voice: shares of phonemes whose shape is right, and correlations."""

import numpy as np

import dataset
from phonemes import SHAPE

OPEN, WIDE, ROUND, CLOSED, TUCK, TONGUE = range(len(SHAPE))


def smoothstep(low, high, value):
    share = np.clip((value - low) / (high - low), 0, 1)
    return share * share * (3 - 2 * share)


def segments(classes):
    """Runs of one class: (class, first step, step after the last one)."""
    edges = np.flatnonzero(np.diff(classes)) + 1
    starts, ends = [0, *edges], [*edges, len(classes)]
    return [(dataset.CLASS_NAMES[classes[start]], int(start), int(end)) for start, end in zip(starts, ends)]


def drawn(outputs):
    """
    What is drawn of the outputs: the gap of the lips, and the share of the tuck. The lips are closed or tucked when they are at
    any time within 10 ms, as in the picture, and the curves are those of packages/face/src.
    """
    widest = lambda column: np.max([np.roll(outputs[:, column], shift) for shift in (-1, 0, 1)], axis=0)
    closed = smoothstep(0.35, 0.65, widest(CLOSED))
    return outputs[:, OPEN] * (1 - closed), smoothstep(0.12, 0.45, widest(TUCK))


def measure(outputs, targets, classes):
    """The figures of one voice. Shares are pairs of the share and of the number of phonemes."""
    gap, tuck = drawn(outputs)
    shares = {}

    def count(name, is_right):
        shares.setdefault(name, []).append(bool(is_right))

    runs = segments(classes)
    for index, (name, start, end) in enumerate(runs):
        neighbours = {run[0] for run in runs[max(0, index - 1) : index + 2]}
        if name == "p":
            count("p b m closed", gap[start:end].min() < 0.1)
        if name in ("a", "ae"):
            count("a open", gap[start:end].max() > 0.45)
        if name in ("a", "ae", "uh", "e", "O"):
            count("vowel closed by mistake", gap[start:end].max() < 0.1)
        if name in ("u", "w"):
            count("u w rounded", outputs[start:end, ROUND].max() > 0.45)
        if name == "i":
            count("i wide", outputs[start:end, WIDE].max() > 0.4)
        if name == "f":
            count("f v tucked", tuck[start:end].max() > 0.5)
        elif "f" not in neighbours:
            count("tucked by mistake", tuck[start:end].max() > 0.5)
        if name in ("th", "l"):
            count("th l tongue", outputs[start:end, TONGUE].max() > 0.35)
        elif name in ("p", "f", "u", "w", "sh", "k", "s") and not {"th", "l", "t", "n", "r"} & neighbours:
            count("tongue by mistake", outputs[start:end, TONGUE].max() > 0.35)
        if name == "sil" and end - start > 15:
            count("silence closed", (gap[start + 8 : end - 4] < 0.1).mean() > 0.9)
    correlation = lambda column: float(np.corrcoef(outputs[:, column], targets[:, column])[0, 1])
    shifted = lambda lag: np.corrcoef(np.roll(gap, -lag), targets[:, OPEN] * (1 - targets[:, CLOSED]))[0, 1]
    return {
        "opening": round(correlation(OPEN), 3),
        "lag_ms": 10 * max(range(-10, 11), key=shifted),
        **{name: [round(float(np.mean(values)), 3), len(values)] for name, values in sorted(shares.items())},
    }
