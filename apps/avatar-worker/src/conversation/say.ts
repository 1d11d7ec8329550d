/** Says texts, one after another. */
import { spokenText } from "@realtime-avatar/speech/text";
import type { Outcome, SpeechPiece, SpeechQueue } from "./speech-queue.ts";

/** The sound of a spoken text: 16-bit PCM, mono, 48 kHz. */
export type Voice = (text: string, signal: AbortSignal) => AsyncIterable<Int16Array>;

export type Saying = {
  queue: SpeechQueue;
  voice: Voice;
  signal: AbortSignal;
  /** The first sound of a text is handed on. `said`: all texts so far. */
  onSaid(said: string): void;
  /** Called exactly once, as soon as all was heard or the sound was cut off. */
  onFinished(outcome: Outcome): void;
};

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
 * Says `texts`, without what is not said of them (`spokenText`). Resolves when all was heard or the sound was cut off. When a text or
 * its sound fails, says what came before, and then throws that error.
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
  try {
    for await (const text of texts) {
      const words = spokenText(text).replaceAll("\n", " ");
      if (words === "") continue;
      await segment.room();
      signal.throwIfAborted();
      await pushSpeech(segment.add(words), voice(words, signal));
    }
  } finally {
    segment.close();
    await finished;
  }
};
