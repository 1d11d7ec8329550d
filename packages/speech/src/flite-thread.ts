/** Flite on a thread of this process. The main thread keeps running, so the pictures of a call are not late. */
import { parentPort, Worker } from "node:worker_threads";
import { SpeechError } from "./errors.ts";
import { type SpeakPiece, speakPiece } from "./flite.ts";

type Request = { id: number; text: string; voice: string };
/** `samples`: null for a text that Flite cannot speak. */
type Response = { id: number; samples: Int16Array<ArrayBuffer> | null };

/** Runs on the thread: speaks the pieces that the main thread sends. */
export const runFliteThread = (): void => {
  parentPort?.on("message", async ({ id, text, voice }: Request) => {
    const samples = await speakPiece(text, voice).catch(() => null);
    parentPort?.postMessage({ id, samples } satisfies Response, samples ? [samples.buffer] : []);
  });
};

/**
 * Returns a function that speaks on a thread. The thread runs `program`, which must call `runFliteThread`, and starts with the
 * first piece. It takes about 10 MB. When it ends, its pieces fail with `voice_refused`, and the next piece starts
 * another one.
 */
export const createFliteThread = (program: string): SpeakPiece => {
  const waiting = new Map<number, (samples: Response["samples"]) => void>();
  let thread: Worker | null = null;
  let count = 0;
  const finish = ({ id, samples }: Response): void => {
    waiting.get(id)?.(samples);
    waiting.delete(id);
  };
  const start = (): Worker => {
    const started = new Worker(program);
    const stop = (): void => {
      if (thread !== started) return;
      thread = null;
      for (const id of waiting.keys()) finish({ id, samples: null });
    };
    started.on("message", finish).on("error", stop).on("exit", stop).unref();
    return started;
  };
  return async (text, voice) => {
    const id = ++count;
    thread ??= start();
    thread.postMessage({ id, text, voice } satisfies Request);
    const samples = await new Promise<Response["samples"]>((resolve) => waiting.set(id, resolve));
    if (samples === null) throw new SpeechError("voice_refused");
    return samples;
  };
};
