/** Makes the sound of a video: 16-bit PCM, mono, 48 kHz. Runs in a child process. */
import { loudness } from "@realtime-avatar/face/loudness";
import { SpeechError } from "@realtime-avatar/speech/errors";
import { createResampler } from "./resample.ts";
import {
  MAX_SOUND_SAMPLES,
  MAX_SOUND_SECONDS,
  refuseSound,
  SAMPLE_RATE,
  type SoundRefusal,
  type SoundTask,
  type VideoReport,
} from "./tasks.ts";
import { createMixer, MalformedSound, type Read, readWav } from "./wav.ts";

/** How many bytes of the input are read at once. */
const READ_BYTES = 2 ** 18;
/** A sound is silent if no 20 ms of it are louder than this, about -60 dB: the noise of a microphone. */
const SILENT = 0.001;
const LEVEL_SAMPLES = SAMPLE_RATE / 50;

const TOO_LONG = `The audio is longer than ${MAX_SOUND_SECONDS} s. Cut it.`;
const SILENCE = "The audio has no sound. Use another recording.";
const EMPTY = "The audio has no samples. Use another recording.";
const NO_SPEAKABLE_WORD = "The voice can say nothing of the text. Use a text with words, or another voice.";
const NOT_SAID = `The voice cannot say the text within ${MAX_SOUND_SECONDS} s. Shorten it.`;

/** An open file. */
export type SoundInput = { read: Read; size: number };

/** Thrown to refuse a sound. */
class Refusal extends Error {
  constructor(readonly refusal: SoundRefusal) {
    super(refusal.detail);
  }
}

const toPcm = (samples: Float64Array): Int16Array =>
  Int16Array.from(samples, (sample) => Math.round(Math.min(1, Math.max(-1, sample)) * 32_767));

function* readPieces({ read }: SoundInput, start: number, end: number, unit: number): Generator<Uint8Array> {
  const length = READ_BYTES - (READ_BYTES % unit);
  for (let at = start; at < end; at += length) yield read(at, Math.min(end, at + length));
}

function* readWavSound(input: SoundInput): Generator<Int16Array> {
  const wav = readWav(input.read, input.size);
  if ((wav.end - wav.start) / wav.frameBytes / wav.sampleRate > MAX_SOUND_SECONDS) {
    throw new Refusal(refuseSound("audio_too_long", TOO_LONG));
  }
  const mix = createMixer(wav);
  const resampler = createResampler(wav.sampleRate);
  for (const bytes of readPieces(input, wav.start, wav.end, wav.frameBytes)) yield toPcm(resampler.push(mix(bytes)));
  yield toPcm(resampler.flush());
}

function* readPcm(input: SoundInput): Generator<Int16Array> {
  for (const bytes of readPieces(input, 0, input.size - (input.size % 2), 2)) {
    yield new Int16Array(new Uint8Array(bytes).buffer);
  }
}

/** Loads the files that a task needs. */
export const loadSpeaker = async ({ source }: SoundTask): Promise<void> => {
  if (source.kind !== "text") return;
  const [{ loadFlite }] = await Promise.all([
    import("@realtime-avatar/speech/flite"),
    import("@realtime-avatar/speech/speak"),
  ]);
  await loadFlite();
};

async function* sayText({ read, size }: SoundInput, providerVoice: string): AsyncGenerator<Int16Array> {
  const { speak } = await import("@realtime-avatar/speech/speak");
  const voice = { id: "", name: "", language: null, provider: "flite", providerVoice } as const;
  yield* speak(new TextDecoder().decode(read(0, size)), voice, { provider: null });
}

const openSound = (input: SoundInput, { source }: SoundTask): Iterable<Int16Array> | AsyncIterable<Int16Array> => {
  switch (source.kind) {
    case "wav":
      return readWavSound(input);
    case "pcm":
      return readPcm(input);
    case "text":
      return sayText(input, source.voice);
  }
};

/** Checks a sound, piece by piece, for a part that is not silent. */
const createSilenceCheck = () => {
  let waiting = new Int16Array(0);
  let isLoud = false;
  return {
    hear: (pcm: Int16Array): void => {
      if (isLoud) return;
      const all = new Int16Array(waiting.length + pcm.length);
      all.set(waiting);
      all.set(pcm, waiting.length);
      let at = 0;
      for (; at + LEVEL_SAMPLES <= all.length; at += LEVEL_SAMPLES) {
        if (loudness(all.subarray(at, at + LEVEL_SAMPLES)) > SILENT) isLoud = true;
      }
      waiting = all.slice(at);
    },
    isLoud: (): boolean => isLoud || loudness(waiting) > SILENT,
  };
};

/** Writes the sound of `input`. `write` gets its bytes in order. */
export const makeSound = async (
  input: SoundInput,
  task: SoundTask,
  write: (bytes: Uint8Array) => void,
): Promise<VideoReport<"sound">> => {
  const silence = createSilenceCheck();
  let samples = 0;
  try {
    for await (const pcm of openSound(input, task)) {
      samples += pcm.length;
      if (samples > MAX_SOUND_SAMPLES) return refuseSound("audio_too_long", TOO_LONG);
      silence.hear(pcm);
      write(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
    }
  } catch (error) {
    if (error instanceof Refusal) return error.refusal;
    if (error instanceof SpeechError) return refuseSound("voice_refused", NOT_SAID);
    if (error instanceof MalformedSound) {
      return refuseSound("audio_malformed", `The audio cannot be read. ${error.message} Export it anew as WAV.`);
    }
    throw error;
  }
  if (samples === 0 && task.source.kind === "text") return refuseSound("audio_silent", NO_SPEAKABLE_WORD);
  if (samples === 0) return refuseSound("audio_malformed", EMPTY);
  return silence.isLoud() ? { kind: "accepted", samples } : refuseSound("audio_silent", SILENCE);
};
