/** The log: JSON lines on standard output, or words when that is a terminal. */
import { Writable } from "node:stream";
import { maskApiKeys } from "@realtime-avatar/domain/api-key-secret";
import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./config.ts";

export type { Logger };

/** Where finished lines go. */
export type LogSink = {
  write(line: string): void;
  /** Sets what is called after lines were dropped, as soon as lines are taken again: with how many were. */
  onResume?(tell: (dropped: number) => void): void;
};

/** A stream such as `process.stdout`. `write` is false while the text waits in the stream; then comes a `drain`. */
export type LogStream = {
  write(text: string): boolean;
  on(event: "drain" | "error", listener: () => void): unknown;
};

export type LogOutput = Required<LogSink> & {
  /** How many lines were dropped since the start. */
  dropped(): number;
  /** Waits until the reader has all lines, for a second at most: to be called before the process ends. */
  drained(): Promise<void>;
};

/** So many characters wait for a reader at most, one or two bytes each: some seconds of a busy service. */
const MAX_WAITING = 4 * 1024 * 1024;
/** So long a process that ends waits for the reader of its log. */
const DRAIN_MS = 1000;

/**
 * Hands lines to `stream` together, at the end of each turn of the event loop: one by one, each would cost a system call
 * on the way of its request. What is left when the process ends goes then, but for an end by a signal that nobody handles.
 *
 * A reader that stalls neither blocks the process nor makes it grow. Bun writes to pipes and sockets without waiting, and
 * keeps what they do not take, without a limit. So nothing more is given to the stream until it has drained; lines wait
 * here, up to a limit, and beyond it they are dropped and counted. When the reader is gone, all are: the service outlives
 * it. (Files and terminals are written synchronously: a terminal that is paused pauses the process.)
 */
export const inTurns = (stream: LogStream): LogOutput => {
  let lines = "";
  let isScheduled = false;
  let isStalled = false;
  let isGone = false;
  let dropped = 0;
  let droppedBefore = 0;
  let tell: (dropped: number) => void = () => {};

  const flush = (): void => {
    isScheduled = false;
    if (isStalled || lines === "") return;
    const text = lines;
    lines = "";
    isStalled = !stream.write(text);
  };
  stream.on("drain", () => {
    isStalled = false;
    // First what was kept, then the number of what came after it.
    flush();
    const now = dropped - droppedBefore;
    droppedBefore = dropped;
    if (now > 0) tell(now);
  });
  stream.on("error", () => {
    isGone = true;
    isStalled = false;
    dropped += lines.split("\n").length - 1;
    lines = "";
  });
  process.on("exit", flush);
  return {
    write: (line) => {
      if (isGone || lines.length + line.length > MAX_WAITING) {
        dropped++;
        return;
      }
      lines += line;
      if (isScheduled || isStalled) return;
      isScheduled = true;
      setImmediate(flush);
    },
    onResume: (listener) => {
      tell = listener;
    },
    dropped: () => dropped,
    drained: async () => {
      const end = performance.now() + DRAIN_MS;
      flush();
      while ((isStalled || lines !== "") && performance.now() < end) await new Promise((next) => setTimeout(next, 5));
    },
  };
};

/** What turns lines of JSON into words, and hands these to `write`. */
const inWords = (write: (line: string) => void) => {
  // A stream of our own process: pino's transports are worker threads, which a bundle cannot start.
  const destination = new Writable({
    decodeStrings: false,
    write: (line, _encoding, done) => {
      write(String(line));
      done();
    },
  });
  return pretty({ destination, colorize: true, translateTime: "SYS:HH:MM:ss.l", singleLine: true });
};

/**
 * Makes a log. No code of ours logs a secret; should one slip into a message or a stack all the same, it is masked
 * here, in the finished line.
 */
export const createLog = (level: LogLevel, sink: LogSink = process.stdout, isTerminal = false): Logger => {
  const write = (line: string): void => sink.write(maskApiKeys(line));
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const log = pino(options, isTerminal ? inWords(write) : { write });
  sink.onResume?.((dropped) => log.warn({ dropped }, "log lines were dropped: their reader had stalled"));
  return log;
};
