"""
Compares the network in TypeScript with onnxruntime on ten minutes of sound: compare.py. Exits with an error when a result
differs by 0.001 or more. `compare.py vector` writes what the test compares with.
"""

import json
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path

import numpy
import onnxruntime

from convert import HEARING, source

REPOSITORY = Path(__file__).parents[2]
sys.path.append(str(REPOSITORY / "scripts/train-mouth"))
import sounds  # noqa: E402
import texts  # noqa: E402

RATE = 16000
WINDOW = 512
SECONDS = 600
LIMIT = 0.001
RECORDINGS = Path("/usr/share/pocketsphinx/test/data/librivox")
SPEECH = REPOSITORY / "packages/face/src/testing/speech.wav"


def read(path):
    """A sound at 16 kHz, between -1 and 1."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-ar", str(RATE), "-ac", "1", "-f", "s16le", "-"]
    return numpy.frombuffer(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, "<i2") / 32768


def speak(number, text, folder):
    path = Path(folder) / f"{number}.wav"
    voices = [["flite", "-voice", voice] for voice in ("slt", "rms", "awb", "kal16")]
    voices += [["espeak-ng", "-v", voice] for voice in ("en-us", "en-gb+f3", "de", "fr+f2", "es")]
    command = voices[number % len(voices)]
    arguments = ["-t", text, "-o", path] if command[0] == "flite" else ["-w", path, text]
    subprocess.run([*command, *arguments], check=True, stderr=subprocess.DEVNULL)
    return read(path)


def make_sound():
    """Recordings of people, nine synthetic voices, pauses, and noises of ten kinds at -6 to 40 dB below the speech."""
    random = numpy.random.default_rng(1)
    people = [read(path) for path in sorted(RECORDINGS.glob("*.wav"))]
    result = list(people)
    length = sum(map(len, people))
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while length < SECONDS * RATE:
            part = speak(number, texts.ENGLISH[number % len(texts.ENGLISH)], folder) * random.uniform(0.05, 1)
            part = numpy.concatenate([part, numpy.zeros(int(random.uniform(0.1, 3) * RATE))])
            noise = numpy.resize(sounds.make_sound(sounds.KINDS[number % len(sounds.KINDS)], random), len(part))
            noise *= part.std() / max(noise.std(), 1e-9) * 10 ** (-random.uniform(-6, 40) / 20)
            result.append(numpy.clip(part + noise, -1, 1))
            length += len(part)
            number += 1
    print(f"{sum(map(len, people)) / RATE:.0f} s of recordings, {length / RATE:.0f} s in all")
    return numpy.concatenate(result)[: SECONDS * RATE].astype("<f4")


def run_reference(sound):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(source(), options, providers=["CPUExecutionProvider"])
    state = numpy.zeros((2, 1, 128), "f4")
    context = numpy.zeros((1, 64), "f4")
    rate = numpy.array(RATE, numpy.int64)
    results = []
    start = time.process_time()
    for at in range(0, len(sound) - WINDOW + 1, WINDOW):
        window = sound[None, at : at + WINDOW]
        joined = numpy.concatenate([context, window], axis=1)
        result, state = session.run(None, {"input": joined, "state": state, "sr": rate})
        context = window[:, -64:]
        results.append(result[0, 0])
    print(f"onnxruntime: {(time.process_time() - start) * 1000 / (len(sound) / RATE):.1f} ms a second of sound")
    return numpy.array(results)


def compare():
    sound = make_sound()
    reference = run_reference(sound)
    with tempfile.TemporaryDirectory() as folder:
        sound.tofile(f"{folder}/sound")
        command = ["bun", "scripts/convert-vad/likelihoods.ts", f"{folder}/sound", f"{folder}/likelihoods"]
        subprocess.run(command, check=True, cwd=REPOSITORY)
        ours = numpy.fromfile(f"{folder}/likelihoods", "<f4")
    difference = numpy.abs(ours - reference)
    print(f"{len(ours)} windows, {100 * (reference > 0.5).mean():.0f} % speech, largest difference {difference.max():.2g}")
    if len(ours) != len(reference) or not difference.max() < LIMIT:
        sys.exit("The results differ.")


def write_vector():
    with wave.open(str(SPEECH)) as file:
        sound = numpy.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    likelihoods = [round(float(value), 6) for value in run_reference(sound.astype("f4"))]
    (HEARING / "likelihoods.json").write_text(json.dumps(likelihoods) + "\n")


if __name__ == "__main__":
    write_vector() if sys.argv[1:] == ["vector"] else compare()
