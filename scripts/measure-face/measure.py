"""
Measures films of a speaking face against the phonemes that are spoken.

usage: python measure.py FILM LABELS [FILM LABELS ...]

FILM is a film of 512 × 512 pixels at 25 frames a second. LABELS is a JSON file: a list of [start, end, class], in seconds, with
the classes of ../train-mouth/phonemes.py. Prints a JSON object: the figures by film.
"""

import json
import os
import sys

import numpy as np

import landmarks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../train-mouth"))
import phonemes  # noqa: E402

STEPS_PER_FRAME = 4
COARTICULATION = 2.2
# A mouth with a larger distance of its inner lips than this, in silence, smiles or is open. In distances of the eyes.
OPEN_AT_REST = 0.035
# Shares of the widest gap below which lips are closed, and above which an a is open.
CLOSED_SHARE, OPEN_SHARE = 0.15, 0.35
BLINK_SHARE = 0.6
LONGEST_LAG = 20


def targets(labels, count):
    """By step of 10 ms: the class, and the curves of the gap and of the rounding that the phonemes ask for."""
    classes = np.full(count, "sil", "<U8")
    for start, end, name in labels:
        classes[int(start * 100) : int(end * 100)] = name
    shapes = np.array([phonemes.CLASSES[name] for name in classes])
    steps = np.arange(-6, 7)
    kernel = np.exp(-0.5 * (steps / COARTICULATION) ** 2)
    gap = np.pad(shapes[:, 0] * (1 - shapes[:, 3]), 6, mode="edge")
    return classes, np.convolve(gap, kernel / kernel.sum(), "valid")


def segments(classes, names, shortest=1):
    """The runs of the classes `names`: (first step, step after the last one)."""
    edges = np.flatnonzero(classes[1:] != classes[:-1]) + 1
    runs = zip([0, *edges], [*edges, len(classes)])
    return [(a, b) for a, b in runs if classes[a] in names and b - a >= shortest]


def share(values):
    """The share of true values, and their number."""
    return [round(float(np.mean(values)), 3) if len(values) else None, len(values)]


def correlate(curve, target, classes):
    """The correlation of the gap with the phonemes while a voice speaks, and the lag in ms at which it is the highest."""
    speaks = np.convolve(classes != "sil", np.ones(21), "same") > 0
    at = lambda lag: float(np.corrcoef(np.roll(curve, -lag)[speaks], target[speaks])[0, 1])
    best = max(range(-LONGEST_LAG, LONGEST_LAG + 1), key=at)
    return {"correlation": round(at(best), 3), "lag_ms": best * 10}


def to_steps(curve, count):
    """From frames to steps of 10 ms. A frame stands for its middle. Frames without a face have the median."""
    if np.isnan(curve).all():
        return None
    filled = np.where(np.isnan(curve), np.nanmedian(curve), curve)
    return np.interp(np.arange(count), np.arange(len(curve)) * STEPS_PER_FRAME + 2, filled)


def closed_values(gap, classes):
    """Whether each p, b and m is closed, each a open, and how much of each silence is closed."""
    closed, widest = np.percentile(gap, [3, 95])
    limit = closed + CLOSED_SHARE * (widest - closed)
    lips = [gap[max(0, a - 2) : b + 3].min() < limit for a, b in segments(classes, ("p",))]
    tucked = [gap[max(0, a - 2) : b + 3].min() < closed + OPEN_SHARE * (widest - closed) for a, b in segments(classes, ("f",))]
    vowels = [gap[a : b + 3].max() > closed + OPEN_SHARE * (widest - closed) for a, b in segments(classes, ("a", "ae"))]
    silences = [(gap[a + 25 : b - 5] < limit).mean() for a, b in segments(classes, ("sil",), 36)]
    return {
        "closed_p_b_m": share(lips),
        "narrow_f_v": share(tucked),
        "open_a": share(vowels),
        "closed_silence": round(float(np.mean(silences)), 3),
        "gap_closed": round(float(closed), 4),
        "gap_widest": round(float(widest), 4),
    }


def measure(film, labels, dlib):
    """The figures of one film."""
    frames = landmarks.read_frames(film)
    curves = landmarks.track(frames, dlib)
    count = len(frames) * STEPS_PER_FRAME
    classes, target = targets(labels, count)
    gap, width = to_steps(curves["gap"], count), to_steps(curves["width"], count)
    rounded = [width[a:b].min() for a, b in segments(classes, ("u", "w", "o"))]
    spread = [width[a:b].max() for a, b in segments(classes, ("i", "ih", "s"))]
    is_shut = curves["eyes"] < BLINK_SHARE * np.nanmedian(curves["eyes"])
    blinks = int((is_shut[1:] & ~is_shut[:-1]).sum())
    gap_at_rest = float(np.nanmedian(curves["gap"][:8]))
    result = {
        "frames": len(frames),
        "frames_without_face": int(np.isnan(curves["gap"]).sum()),
        "gap_at_rest": round(gap_at_rest, 4),
        "is_open_at_rest": gap_at_rest > OPEN_AT_REST,
        "mediapipe": correlate(gap, target, classes),
        **closed_values(gap, classes),
        "width_rounded_over_spread": round(float(np.median(rounded) / np.median(spread)), 3),
        "blinks_a_minute": round(blinks * 60 * 25 / len(frames), 1),
    }
    if dlib:
        result["dlib"] = correlate(to_steps(curves["gap_dlib"], count), target, classes)
        distances = landmarks.identity(frames, dlib)
        result["identity"] = {"mean": round(float(np.mean(distances)), 3), "max": round(float(np.max(distances)), 3)}
    return result


def main():
    paths = sys.argv[1:]
    if not paths or len(paths) % 2:
        sys.exit(__doc__)
    dlib = landmarks.open_dlib()
    result = {}
    for film, labels in zip(paths[::2], paths[1::2]):
        with open(labels, encoding="utf8") as file:
            result[os.path.splitext(os.path.basename(film))[0]] = measure(film, json.load(file), dlib)
        print(f"measured {film}", file=sys.stderr, flush=True)
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
