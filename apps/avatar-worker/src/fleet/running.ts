/** A process that runs a call: its messages, its limits, and its end. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { ProcessEnd } from "../process/call-process.ts";
import { RECORDED_CPU_SHARE, watchLimits } from "../process/limits.ts";
import type { CallReport, FromCallProcess, Start, ToCallProcess } from "../process/messages.ts";
import type { CallParts } from "./call-parts.ts";
import type { RecordingSender } from "./recording.ts";
import type { Said } from "./said.ts";
import type { Service } from "./service.ts";
import type { Turns } from "./turns.ts";

/** A process reports once a second. After this long without a report, its call does not count as started. */
const DOUBTFUL_SECONDS = 3;
/** After this long without a report, a process is considered hung. */
const MAX_SILENT_SECONDS = 10;
/** How long a process may take for its last message and for leaving the room. */
const END_MS = 6000;
/** A room that is still being joined is left after the join, which takes ten seconds at most. */
const LEAVE_MS = 13_000;
/** Maximum number of files that the process of a call may request. */
const MAX_FILES = 64;

/**
 * Watches whether a process is alive and within its limits. `onDoubt`: called when it has been silent for some seconds.
 * `onFault`: called once; the caller must then kill the process.
 */
const watchProcess = (
  pid: number | null,
  { isRecorded, onDoubt, onFault }: { isRecorded: boolean; onDoubt: () => void; onFault: (fault: object) => void },
) => {
  let silentSeconds = 0;
  // The silence is counted in ticks instead of measured. After a stop of the worker itself, its processes would seem
  // silent although they are alive.
  const timer = setInterval(() => {
    silentSeconds++;
    if (silentSeconds === DOUBTFUL_SECONDS) onDoubt();
    if (silentSeconds === MAX_SILENT_SECONDS) onFault({ silentSeconds });
  }, 1000);
  const options = isRecorded ? { cpuShare: RECORDED_CPU_SHARE } : {};
  const stopLimits = pid === null ? () => {} : watchLimits(pid, (limit) => onFault({ limit }), options);
  return {
    heard: () => {
      silentSeconds = 0;
    },
    stop: () => {
      clearInterval(timer);
      stopLimits();
    },
  };
};

/** A process that has the call. */
export type Running = {
  send(message: ToCallProcess): void;
  hasEnded(): boolean;
  ended: Promise<void>;
  /** Whether the process has sent a report. */
  hasReported(): boolean;
  kill(): void;
  stop(): Promise<void>;
};

type RunOptions = Pick<CallParts, "processes" | "preloads" | "service" | "watcher" | "traces"> & {
  log: Logger;
  said: Said | null;
  recording: RecordingSender | null;
  onReport: (report: CallReport) => void;
  onTurn: Turns["update"];
  onDoubt: () => void;
  onEnd: (end: ProcessEnd) => void;
};

/** Returns a function that sends a file of its call to a process. */
const createFileSender = (service: Pick<Service, "file">, { assigned }: Start, send: Running["send"]) => {
  let files = 0;
  return async (id: number, file: string): Promise<void> => {
    const isAllowed = ++files <= MAX_FILES;
    const bytes = isAllowed ? await service.file(assigned.session_id, file).catch(() => null) : null;
    send({ kind: "file", id, bytes });
  };
};

/** Returns a function that passes messages of a process on to the log, the metrics and the traces. */
const createObserver =
  ({ assigned }: Start, { watcher, traces, log }: Pick<RunOptions, "watcher" | "traces" | "log">) =>
  (message: FromCallProcess): void => {
    switch (message.kind) {
      case "failure":
        log.warn({ cause: message.cause }, "a call has failed");
        break;
      case "portrait":
        log.info({ cause: message.cause }, "a call shows a portrait instead of a face");
        break;
      case "still":
        log.warn({ cause: message.cause }, "a call shows a photo instead of an idle loop");
        break;
      case "provider":
        log.warn({ provider: message.provider, why: message.why }, "a provider of a conversation has failed");
        watcher?.providerFailed(message.provider, message.why);
        break;
      case "count":
        watcher?.counted(message.counted);
        break;
      case "timings":
        watcher?.turnTimed(message.timings);
        traces?.turnTimed(assigned, message.timings);
        break;
    }
  };

/** Runs a call in a process that `start` describes. */
export const runProcess = (start: Start, options: RunOptions): Running => {
  const { processes, preloads, service, log, said, recording, onReport, onTurn, onDoubt, onEnd } = options;
  const process = preloads?.take(start.assigned) ?? processes.take();
  const { pid } = process;
  const { mode } = start.assigned;
  log.info({ pid, mode }, start.isRestart ? "a call was started again" : "a call was assigned");
  const onFault = (fault: object): void => {
    log.warn(fault, "the process of a call is killed");
    process.kill();
  };
  const watch = watchProcess(pid, { isRecorded: recording !== null, onDoubt, onFault });
  let hasEnded = false;
  let setEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    setEnded = resolve;
  });
  let hasReported = false;
  const stop = (): Promise<void> => {
    watch.stop();
    return process.stop();
  };
  const observe = createObserver(start, options);
  const sendFile = createFileSender(service, start, process.send);
  const receive = (message: FromCallProcess): void => {
    watch.heard();
    switch (message.kind) {
      case "report":
        hasReported = true;
        onReport(message);
        if (message.state === "ended") void stop();
        break;
      case "turn":
        onTurn(message.turn);
        break;
      case "segment":
        said?.add(message.segment);
        break;
      case "speaking":
        said?.speak(message.segment);
        break;
      case "fragment":
      case "told":
      case "unrecorded":
        recording?.receive(message);
        break;
      case "load":
        void sendFile(message.id, message.file);
        break;
      case "left":
        void stop();
        break;
      default:
        observe(message);
    }
  };
  process.send(start);
  process.listen({
    onMessage: receive,
    onEnd: (end) => {
      watch.stop();
      hasEnded = true;
      setEnded();
      onEnd(end);
    },
  });
  const { send, kill } = process;
  return { send, hasEnded: () => hasEnded, ended, hasReported: () => hasReported, kill, stop };
};

/** Tells a process to end its call. Kills it if it does not. */
export const endProcess = ({ send, hasEnded, kill }: Running, reason: EndReason): void => {
  send({ kind: "end", reason });
  setTimeout(() => {
    if (!hasEnded()) kill();
  }, END_MS);
};

/** Tells a process to leave its room. Kills it if it does not. */
export const leaveProcess = async ({ send, hasEnded, ended, kill }: Running): Promise<void> => {
  if (hasEnded()) return;
  send({ kind: "leave" });
  const timer = setTimeout(kill, LEAVE_MS);
  await ended;
  clearTimeout(timer);
};
