"""Sounds that are no speech, for which the mouth has to stay closed: noise, tones, chords, clicks, melodies, hum."""

import numpy as np

RATE = 16000
SECONDS = 3
KINDS = ("white noise", "brown noise", "tone", "chord", "clicks", "wobbling tone", "melody", "hum", "band noise", "taps")


def _envelope(random, count):
    points = int(random.integers(4, 24))
    return np.interp(np.arange(count), np.linspace(0, count, points), random.uniform(0.1, 1, points))


def _melody(random, time):
    """Notes of three harmonics, each with a sharp start, over a scale."""
    result = np.zeros_like(time)
    start = 0.0
    while start < SECONDS:
        length = random.uniform(0.12, 0.6)
        hertz = 110 * 2 ** (random.integers(0, 30) / 12)
        since = time - start
        shape = np.where((since >= 0) & (since < length * 1.5), np.exp(-np.maximum(since, 0) * random.uniform(2, 9)), 0)
        result += shape * sum(np.sin(2 * np.pi * hertz * k * time) / k for k in range(1, 4))
        start += length
    return result


def _clicks(random, count, rate, decay):
    impulses = (random.random(count) < rate / RATE).astype(float)
    return np.convolve(impulses, np.exp(-np.arange(800) / decay) * random.normal(0, 1, 800), "same")


def make_sound(kind, random):
    """Three seconds of a kind of sound at 16 kHz, with a random loudness."""
    time = np.arange(RATE * SECONDS) / RATE
    noise = random.normal(0, 1, len(time))
    if kind == "white noise":
        sound = noise
    elif kind == "brown noise":
        sound = np.cumsum(noise)
        sound -= np.convolve(sound, np.ones(800) / 800, "same")
    elif kind == "tone":
        sound = np.sin(2 * np.pi * random.uniform(80, 3000) * time)
    elif kind == "chord":
        hertz = random.uniform(110, 500)
        sound = sum(np.sin(2 * np.pi * hertz * ratio * time + random.uniform(0, 6)) for ratio in (1, 1.25, 1.5, 2))
    elif kind == "clicks":
        sound = _clicks(random, len(time), 8, 120)
    elif kind == "wobbling tone":
        sound = np.sin(2 * np.pi * random.uniform(200, 900) * time + 3 * np.sin(2 * np.pi * random.uniform(1, 8) * time))
    elif kind == "melody":
        sound = _melody(random, time)
    elif kind == "hum":
        sound = sum(np.sin(2 * np.pi * random.choice([50, 60]) * k * time) / k for k in range(1, 8)) + 0.05 * noise
    elif kind == "band noise":
        center = random.uniform(300, 5000)
        sound = noise * np.sin(2 * np.pi * center * time)
        sound = np.convolve(sound, np.hanning(int(random.uniform(4, 40))), "same")
    else:
        sound = _clicks(random, len(time), 3, 30)
    if random.random() < 0.6:
        sound = sound * _envelope(random, len(sound))
    return sound / max(1e-6, np.abs(sound).max()) * random.uniform(0.05, 0.6) + random.normal(0, 1e-4, len(sound))
