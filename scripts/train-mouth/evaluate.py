"""How well the network does on a voice: shares of phonemes whose shape is right, and correlations."""

import numpy as np

import dataset
from phonemes import SHAPE

OPEN, WIDE, ROUND, CLOSED, TUCK, TONGUE = range(len(SHAPE))
# Above this limit, half of the tuck or of the tongue is drawn.
TUCK_LIMIT, TONGUE_LIMIT = 0.285, 0.475
# Sounds that differ little from f and v, and those for which the tongue is at nearly the same place as for l.
LIKE_F, LIKE_L = ("th", "h"), ("t", "n", "r")


def smoothstep(low, high, value):
    share = np.clip((value - low) / (high - low), 0, 1)
    return share * share * (3 - 2 * share)


def segments(classes):
    """Runs of one class: (class, first step, step after the last one)."""
    edges = np.flatnonzero(np.diff(classes)) + 1
    starts, ends = [0, *edges], [*edges, len(classes)]
    return [(dataset.CLASS_NAMES[classes[start]], int(start), int(end)) for start, end in zip(starts, ends)]


def largest(outputs, column):
    """The largest output within 10 ms: lips and tongue are drawn where they are at any time of a picture."""
    return np.max([np.roll(outputs[:, column], shift) for shift in (-1, 0, 1)], axis=0)


def drawn(outputs):
    """What is drawn of the outputs, by the curves of packages/face/src/life: the gap of the lips, and the share of the tuck."""
    closed = smoothstep(0.35, 0.65, largest(outputs, CLOSED))
    return outputs[:, OPEN] * (1 - closed), smoothstep(0.12, 0.45, largest(outputs, TUCK))


def peaks(outputs, classes, column, names, alike):
    """The largest output of each phoneme that is neither of the classes `names` or `alike` nor beside one."""
    values, runs = largest(outputs, column), segments(classes)
    excluded = {*names, *alike}
    return [
        values[start:end].max()
        for index, (_, start, end) in enumerate(runs)
        if not excluded & {run[0] for run in runs[max(0, index - 1) : index + 2]}
    ]


def measure(outputs, targets, classes):
    """The figures of one voice. Shares are pairs of the share and of the number of phonemes."""
    gap, tuck = drawn(outputs)
    tongue = largest(outputs, TONGUE)
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
        elif not {"f", *LIKE_F} & neighbours:
            count("tucked by mistake", tuck[start:end].max() > 0.5)
        if name in ("th", "l"):
            count("th l tongue", tongue[start:end].max() > TONGUE_LIMIT)
        elif not {"th", "l", *LIKE_L} & neighbours:
            count("tongue by mistake", tongue[start:end].max() > TONGUE_LIMIT)
        if name == "sil" and end - start > 15:
            count("silence closed", (gap[start + 8 : end - 4] < 0.1).mean() > 0.9)
    correlation = lambda column: float(np.corrcoef(outputs[:, column], targets[:, column])[0, 1])
    shifted = lambda lag: np.corrcoef(np.roll(gap, -lag), targets[:, OPEN] * (1 - targets[:, CLOSED]))[0, 1]
    return {
        "opening": round(correlation(OPEN), 3),
        "lag_ms": 10 * max(range(-10, 11), key=shifted),
        **{name: [round(float(np.mean(values)), 3), len(values)] for name, values in sorted(shares.items())},
    }
