"""
From utterances to examples. Several utterances of a voice follow each other in one stream, as in a call: the network then sees
the slow means of the features at their start and later.
"""

import numpy as np
import scipy.fft
import scipy.signal

import features
import phonemes

CLASS_NAMES = list(phonemes.CLASSES)
SHAPES = np.array([phonemes.CLASSES[name] for name in CLASS_NAMES], np.float32)
SILENCE = CLASS_NAMES.index("sil")
# Standard deviations in steps of 10 ms of the Gaussians that stand for coarticulation. Lips close faster than jaws move.
SMOOTHING = {"open": 2.2, "wide": 2.2, "round": 2.2, "closed": 1.8, "tuck": 1.8, "tongue": 2.0}
RATE = 16000
# A mouth takes its shape this long before it is heard.
LEAD_S = 0.01
STREAM_UTTERANCES = 5
# The length of the vocal tract varies by this much, without a change of the speed.
LARGEST_WARP = 0.1
# A factor of speed also changes the length of the vocal tract: men become women, and women children.
SPEEDS_OF_MEN = (0.82, 0.9, 1.1, 1.18, 1.26, 1.34)
SPEEDS_OF_WOMEN = (0.82, 0.9, 1.06, 1.12)
# Microphones differ by this much. With a larger difference, an f would sound like an s.
TILTS = (-0.3, 0.5)
LARGEST_GAIN_DB = 4


def smooth(targets):
    """Smooths each of the six curves of an array of steps × 6."""
    steps = np.arange(-8, 9)
    result = np.empty_like(targets)
    for column, name in enumerate(phonemes.SHAPE):
        kernel = np.exp(-0.5 * (steps / SMOOTHING[name]) ** 2)
        padded = np.pad(targets[:, column], 8, mode="edge")
        result[:, column] = np.convolve(padded, kernel / kernel.sum(), "valid")
    return result


def step_classes(labels, count):
    """The class that the mouth shows at each of `count` steps, as an index. Step k is centred at 10 k + 12.5 ms."""
    classes = np.full(count, SILENCE)
    for start, end, name in labels:
        first, last = (max(0, round((time - LEAD_S - 0.0125) * 100)) for time in (start, end))
        classes[first:last] = CLASS_NAMES.index(name)
    return classes


def join(utterances, random, pause=None):
    """One sound of all utterances, with pauses, and its labels. A pause of `None` has a random length."""
    lengths = [pause or random.uniform(0.15, 0.7) for _ in range(len(utterances) + 1)]
    pieces, labels, time = [], [], 0.0
    for length, (samples, spoken) in zip(lengths, utterances):
        silence = np.zeros(int(length * RATE), np.float32)
        time += len(silence) / RATE
        labels += [(start + time, end + time, name) for start, end, name in spoken]
        pieces += [silence, samples]
        time += len(samples) / RATE
    return np.concatenate([*pieces, np.zeros(int(lengths[-1] * RATE), np.float32)]), labels


def _colour(samples, random):
    """Another microphone: a tilt, and three broad gains at random frequencies."""
    samples = scipy.signal.lfilter([1, -random.uniform(*TILTS)], [1], samples)
    count = scipy.fft.next_fast_len(len(samples))
    spectrum = np.fft.rfft(samples, count)
    octave = np.log2(np.maximum(np.fft.rfftfreq(count, 1 / RATE), 30))
    decibels = np.zeros_like(octave)
    for _ in range(3):
        centre, width = random.uniform(6.5, 13), random.uniform(0.4, 1.5)
        decibels += random.uniform(-LARGEST_GAIN_DB, LARGEST_GAIN_DB) * np.exp(-0.5 * ((octave - centre) / width) ** 2)
    return np.fft.irfft(spectrum * 10 ** (decibels / 20), count)[: len(samples)]


def _room(samples, random):
    """The echoes of a small room, 12 to 26 dB below the voice."""
    time = np.arange(int(0.15 * RATE)) / RATE
    echoes = random.normal(0, 1, len(time)) * np.exp(-time / random.uniform(0.02, 0.06))
    echoes *= 10 ** (random.uniform(-26, -12) / 20) / np.sqrt((echoes**2).sum())
    echoes[0] = 1
    return scipy.signal.fftconvolve(samples, echoes)[: len(samples)]


def vary(samples, labels, speed, random):
    """The same speech at another speed, by another microphone, louder or quieter, and with noise."""
    samples = np.interp(np.arange(0, len(samples), speed), np.arange(len(samples)), samples)
    samples = _colour(samples, random)
    if random.random() < 0.3:
        samples = _room(samples, random)
    samples = samples * 10 ** random.uniform(-1.2, 0.2)
    noise = random.normal(0, 10 ** random.uniform(-4.4, -2.6), len(samples))
    return samples + noise, [(start / speed, end / speed, name) for start, end, name in labels]


def to_pcm(samples):
    """From floats at 16 kHz to 16 bit at 48 kHz."""
    raised = scipy.signal.resample_poly(samples, 3, 1)
    return (np.clip(raised, -1, 1) * 32767).astype(np.int16)


def _warp(bands, factor):
    """The bands of a vocal tract that is shorter by `factor`."""
    mel = np.linspace(*features.MEL_RANGE, features.BANDS + 2)[1:-1]
    hertz = 700 * (10 ** (mel / 2595) - 1)
    positions = np.interp(hertz * factor, hertz, np.arange(features.BANDS))
    low = np.minimum(positions.astype(int), features.BANDS - 2)
    share = positions - low
    return bands[:, low] * (1 - share) + bands[:, low + 1] * share


def example(samples, labels, warp=1.0):
    """The features, the shapes and the classes of a sound, one row for each 10 ms."""
    bands = features.mel_bands(features.resample(to_pcm(samples)))
    rows = features.normalize(bands if warp == 1 else _warp(bands, warp))
    classes = step_classes(labels, len(rows))
    return rows, smooth(SHAPES[classes]), classes


def training_examples(voices, copies, random):
    """Examples of all voices, each utterance `copies` times: once almost as it is, otherwise varied."""
    result = []
    for name, utterances in voices.items():
        speeds = SPEEDS_OF_WOMEN if "slt" in name else SPEEDS_OF_MEN
        for copy in range(copies):
            order = random.permutation(len(utterances))
            for first in range(0, len(order), STREAM_UTTERANCES):
                samples, labels = join([utterances[i] for i in order[first : first + STREAM_UTTERANCES]], random)
                warp = 1.0
                if copy == 0:
                    samples = samples + random.normal(0, 1e-4, len(samples))
                else:
                    speed = 1 if copy == 1 else random.choice(speeds)
                    samples, labels = vary(samples, labels, speed, random)
                    warp = random.uniform(1 - LARGEST_WARP, 1 + LARGEST_WARP)
                result.append(example(samples, labels, warp))
    return result


def test_example(utterances):
    """All utterances of a voice in one stream, with a little noise."""
    random = np.random.default_rng(0)
    samples, labels = join(utterances, random, pause=0.4)
    return example(samples + random.normal(0, 1e-4, len(samples)), labels)
