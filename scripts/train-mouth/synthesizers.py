"""
Speech whose phonemes have known times, from three synthesizers. Each function returns a list of utterances: a pair of the sound
(floats at 16 kHz) and the labels (start, end, class), in seconds.
"""

import ctypes
import math
import os
import re
import subprocess
import tempfile

import numpy as np
import scipy.io.wavfile
import scipy.signal

import phonemes

RATE = 16000
LONGEST_GLIDE_S = 0.065


def to_utterance(rate, samples, labels):
    """Brings the sound to 16 kHz and to half of the full scale."""
    factor = math.gcd(rate, RATE)
    if rate != RATE:
        samples = scipy.signal.resample_poly(samples, RATE // factor, rate // factor)
    return (samples / max(1e-6, np.abs(samples).max()) * 0.5).astype(np.float32), labels


def flite(voice, texts):
    """Speaks with flite. Its option `-psdur` prints each phoneme with the time of its end."""
    utterances = []
    for text in texts:
        with tempfile.NamedTemporaryFile(suffix=".wav") as file:
            command = ["flite", "-voice", voice, "-psdur", "-t", text, "-o", file.name]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rate, samples = scipy.io.wavfile.read(file.name)
        ends = [(match[1], float(match[2])) for match in re.finditer(r"([a-z#]+)\d*:([\d.]+)", printed)]
        starts = [0.0] + [end for _, end in ends]
        segments = [(start, end, name) for start, (name, end) in zip(starts, ends)]
        utterances.append(to_utterance(rate, samples / 32768, phonemes.label(segments, phonemes.ENGLISH.get)))
    return utterances


def festival(voice, texts, classes):
    """Speaks with festival, one process for a voice. `classes` is the table of the phonemes of the voice."""
    utterances = []
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"(voice_{voice})"]
        for index, text in enumerate(texts):
            lines.append(f'(set! u (utt.synth (Utterance Text "{text}")))')
            lines.append(f"(utt.save.wave u \"{folder}/{index}.wav\" 'riff)")
            lines.append(f'(utt.save.segs u "{folder}/{index}.lab")')
        script = os.path.join(folder, "speak.scm")
        with open(script, "w", encoding="utf8") as file:
            file.write("\n".join(lines))
        subprocess.run(["festival", "--batch", script], capture_output=True, check=True)
        for index in range(len(texts)):
            rate, samples = scipy.io.wavfile.read(f"{folder}/{index}.wav")
            segments, start = [], 0.0
            with open(f"{folder}/{index}.lab", encoding="latin1") as file:
                for end, _, name in (line.split() for line in file if len(line.split()) == 3):
                    segments.append((start, float(end), name.rstrip(":") if classes is phonemes.FINNISH else name))
                    start = float(end)
            unknown = {name for _, _, name in segments} - set(classes)
            if unknown:
                raise ValueError(f"{voice} has the unknown phonemes {unknown}")
            utterances.append(to_utterance(rate, samples / 32768, phonemes.label(segments, classes.get)))
    return utterances


class _Event(ctypes.Structure):
    """`espeak_EVENT` of speak_lib.h."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position_ms", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    ]


_SENTENCE_END, _MESSAGE_END, _PHONEME = 5, 6, 7
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


class Espeak:
    """Speaks with libespeak-ng, whose events tell the time of each phoneme. A process can have one."""

    def __init__(self):
        self._library = ctypes.CDLL("libespeak-ng.so.1")
        self._pieces, self._starts = [], []
        self._callback = _CALLBACK(self._hear)
        # 2: synchronous. 1 | 2: events for phonemes, named in IPA.
        self._rate = self._library.espeak_Initialize(2, 0, None, 1 | 2)
        self._library.espeak_SetSynthCallback(self._callback)

    def _hear(self, samples, count, events):
        if samples and count > 0:
            self._pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        index = 0
        while events[index].type != 0:
            event = events[index]
            if event.type == _PHONEME:
                self._starts.append((event.audio_position_ms / 1000, event.id.decode("utf8", "ignore")))
            elif event.type in (_SENTENCE_END, _MESSAGE_END):
                self._starts.append((event.audio_position_ms / 1000, "_"))
            index += 1
        return 0

    def speak(self, voice, text, words_per_minute, pitch):
        """Speaks one sentence. `pitch` lies between 0 and 99."""
        self._pieces.clear()
        self._starts.clear()
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise ValueError(f"espeak-ng has no voice {voice}")
        self._library.espeak_SetParameter(1, words_per_minute, 0)
        self._library.espeak_SetParameter(3, pitch, 0)
        encoded = text.encode()
        self._library.espeak_Synth(encoded, len(encoded) + 1, 0, 0, 0, 1, None, None)
        samples = np.concatenate(self._pieces) / 32768
        ends = self._starts[1:] + [(len(samples) / self._rate, "_")]
        segments = []
        for (start, name), (end, following) in zip(self._starts, ends):
            # A short phoneme without a name is a glide, a trill or a glottal stop: the mouth is already at the next phoneme.
            if not name:
                name = following if end - start < LONGEST_GLIDE_S else "_"
            if end > start:
                segments.append((start, end, name or "_"))
        return to_utterance(self._rate, samples, phonemes.label(segments, phonemes.ipa_classes))
