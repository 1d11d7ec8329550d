"""
The features of packages/face/src/sound, in numpy. A test in TypeScript compares both: change them together.
"""

import numpy as np

BANDS = 24
FEATURES = BANDS + 1
WINDOW, HOP, FFT_SIZE, RATE = 400, 160, 512, 16000
PEAK_FALL, FIRST_PEAK, LOWEST_PEAK, LOWEST_BAND = 0.0015, -1.0, -1.5, -4.0
MEAN_RATE, SPEECH_LEVEL = 0.004, -2.0
TAPS, CUTOFF = 33, 7000 / 48000


def _low_pass():
    distance = np.arange(TAPS) - (TAPS - 1) / 2
    taps = 2 * CUTOFF * np.sinc(2 * CUTOFF * distance) * np.hamming(TAPS)
    return taps / taps.sum()


MEL_RANGE = [2595 * np.log10(1 + hertz / 700) for hertz in (80, 7600)]


def _triangles():
    edges = 700 * (10 ** (np.linspace(*MEL_RANGE, BANDS + 2) / 2595) - 1)
    hz = np.arange(FFT_SIZE // 2 + 1) * RATE / FFT_SIZE
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    return np.maximum(0, np.minimum((hz - low) / (middle - low), (high - hz) / (high - middle)))


FILTER = _low_pass()
TRIANGLES = _triangles()
HANN = np.hanning(WINDOW + 1)[:WINDOW]


def resample(pcm):
    """From 16 bit at 48 kHz to floats at 16 kHz."""
    return np.convolve(np.concatenate([np.zeros(TAPS - 1), pcm / 32768]), FILTER[::-1], "valid")[::3]


def mel_bands(samples):
    """The decimal logarithms of 24 energies, each 10 ms: an array of steps × 24. Step k is centred at 10 k + 12.5 ms."""
    count = (len(samples) - WINDOW) // HOP + 1
    samples = np.ascontiguousarray(samples)
    shape, strides = (count, WINDOW), (samples.strides[0] * HOP, samples.strides[0])
    windows = np.lib.stride_tricks.as_strided(samples, shape, strides)
    power = np.abs(np.fft.rfft(windows * HANN, FFT_SIZE, axis=1)) ** 2
    return np.log10(power @ TRIANGLES.T + 1e-7)


def normalize(bands):
    """
    What the network sees of each step: 24 bands against their slow mean, the level, and that mean. An array of steps × 49.
    """
    loudest = bands.max(axis=1)
    result = np.empty((len(bands), FEATURES + BANDS), np.float32)
    peak, mean = FIRST_PEAK, np.zeros(BANDS)
    for step, step_bands in enumerate(bands):
        peak = max(loudest[step], peak - PEAK_FALL, LOWEST_PEAK)
        level = loudest[step] - peak
        step_bands = step_bands - peak
        if level > SPEECH_LEVEL:
            mean += (step_bands - mean) * MEAN_RATE
        result[step, :BANDS] = np.maximum(step_bands, LOWEST_BAND) - mean
        result[step, BANDS] = level
        result[step, FEATURES:] = mean
    return result


def features(pcm):
    """The features of sound of 16 bit at 48 kHz, mono."""
    return normalize(mel_bands(resample(pcm)))
