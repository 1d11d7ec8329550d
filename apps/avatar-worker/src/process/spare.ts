/** Keeps a call process ready: it takes 0.2 s to start one, which a call would wait for. */
import { type CallProcess, startCallProcess } from "./call-process.ts";

/** A call that has just begun needs the processor more than the next spare process does. */
const REFILL_MS = 500;
/** How long a spare process may take to be ready. One that gets no thread from the system can hang. */
const READY_MS = 30_000;
/** The longest pause after a spare process that has ended by itself. */
const MAX_PAUSE_MS = 30_000;

export type CallProcesses = {
  /** A process for a call: the spare one, or a new one that is still starting. */
  take(): CallProcess;
  /** Resolves when the first spare process is ready; rejects when it cannot be. */
  ready(): Promise<void>;
  /** False from the end of a spare process that was never ready until another one is: the machine may have no memory left, say. */
  canStart(): boolean;
  stop(): Promise<void>;
};

export const createCallProcesses = (
  start: () => CallProcess = startCallProcess,
  readyMs: number = READY_MS,
): CallProcesses => {
  let spare: CallProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = REFILL_MS;
  let isStopped = false;
  let canStart = true;

  const refillLater = (): void => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(refill, pauseMs);
  };
  const refill = (): CallProcess => {
    const started = start();
    spare = started;
    const hanging = setTimeout(started.kill, readyMs);
    started.ready().then(
      () => {
        clearTimeout(hanging);
        pauseMs = REFILL_MS;
        canStart = true;
      },
      () => {
        clearTimeout(hanging);
        canStart = false;
      },
    );
    started.listen({
      onMessage: () => {},
      onEnd: () => {
        if (spare !== started) return;
        spare = null;
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
        refillLater();
      },
    });
    return started;
  };
  const first = refill();
  return {
    take: () => {
      const taken = spare ?? start();
      spare = null;
      refillLater();
      return taken;
    },
    ready: () => first.ready(),
    canStart: () => canStart,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      const left = spare;
      spare = null;
      await left?.stop();
    },
  };
};
