/** Keeps a spare call process ready. Starting one takes 0.2 s, for which a call would wait. */
import { type CallProcess, startCallProcess } from "./call-process.ts";

/** The delay of the next spare process, because a new call needs the processor more. */
const REFILL_MS = 500;
/** How long a spare process may take to be ready. It can hang when the system gives it no thread. */
const READY_MS = 30_000;
/** The longest pause after a spare process that ended by itself. */
const MAX_PAUSE_MS = 30_000;

export type CallProcesses = {
  /** A process for a call: the spare one, or a new one that is still starting. */
  take(): CallProcess;
  /** Resolves when the first spare process is ready. Rejects when it cannot be started. */
  ready(): Promise<void>;
  /**
   * False after a spare process has ended before it was ready, until another one is ready. For example, the machine may
   * be out of memory.
   */
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
