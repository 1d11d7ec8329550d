/** Says texts, one after another. */
import { spokenText } from "@realtime-avatar/speech/text";
import type { Outcome, SpeechPiece, SpeechQueue } from "./speech-queue.ts";

/** The sound of a spoken text: 16-bit PCM, mono, 48 kHz. */
export type Voice = (text: string, signal: AbortSignal) => AsyncIterable<Int16Array>;

export type Saying = {
  queue: SpeechQueue;
  voice: Voice;
  signal: AbortSignal;
  /** The first sound of a text is queued. `said`: all texts so far. */
  onSaid(said: string): void;
  /** Called exactly once, when all sound was heard or dropped. */
  onFinished(outcome: Outcome): void;
};

/** Loudness of silence, in 16-bit samples: about -42 dB. */
const QUIET = 250;
/** Sound before the first loud sample: 10 ms. */
const LEAD_SAMPLES = 480;

/**
 * Removes the silence at the start of a sound. Voices begin with a tenth of a second of silence, which would delay the
 * answer.
 */
async function* trimStart(sound: AsyncIterable<Int16Array>): AsyncGenerator<Int16Array> {
  let hasBegun = false;
  for await (const pcm of sound) {
    const start = hasBegun ? 0 : pcm.findIndex((value) => Math.abs(value) > QUIET);
    if (start === -1) continue;
    hasBegun = true;
    yield pcm.subarray(Math.max(0, start - LEAD_SAMPLES));
  }
}

const pushSpeech = async (piece: SpeechPiece, sound: AsyncIterable<Int16Array>): Promise<void> => {
  let isCut = true;
  try {
    for await (const pcm of sound) piece.push(pcm);
    isCut = false;
  } finally {
    piece.end(isCut);
  }
};

/**
 * Says `texts` after `spokenText` has removed unspeakable parts. Resolves when all was heard or the sound was cut off.
 * When a text or its sound fails, says the texts before it, and then throws that error.
 */
export const say = async (texts: AsyncIterable<string>, saying: Saying): Promise<void> => {
  const { queue, voice, signal, onSaid, onFinished } = saying;
  let resolve = (): void => {};
  const finished = new Promise<void>((settle) => {
    resolve = settle;
  });
  const segment = queue.open({
    onPiece: onSaid,
    onFinished: (outcome) => {
      onFinished(outcome);
      resolve();
    },
  });
  let isFirst = true;
  try {
    for await (const text of texts) {
      const words = spokenText(text).replaceAll("\n", " ");
      if (words === "") continue;
      await segment.room();
      signal.throwIfAborted();
      const sound = voice(words, signal);
      await pushSpeech(segment.add(words), isFirst ? trimStart(sound) : sound);
      isFirst = false;
    }
  } finally {
    segment.close();
    await finished;
  }
};
