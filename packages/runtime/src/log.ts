/** The log: JSON lines on standard output, or readable text when that is a terminal. */
import { maskApiKeys } from "@realtime-avatar/domain/api-keys/secret";
import { printable, printableJson, printableLines } from "@realtime-avatar/domain/text";
import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./config.ts";

export type { Logger };

/** The destination of formatted lines. */
export type LogSink = {
  write(line: string): void;
  /** Sets a listener that is called with the number of dropped lines, as soon as lines are accepted again. */
  onResume?(listener: (dropped: number) => void): void;
};

/** A stream such as `process.stdout`. `write` returns false when the stream buffers the text; a `drain` event follows. */
export type LogStream = {
  write(text: string): boolean;
  on(event: "drain" | "error", listener: () => void): unknown;
};

export type LogOutput = Required<LogSink> & {
  /** Number of lines dropped since the start. */
  dropped(): number;
  /** Waits until all lines are written, at most one second. Call it before the process exits. */
  drained(): Promise<void>;
};

/** Maximum number of buffered characters, one or two bytes each: some seconds of a busy service. */
const MAX_BUFFERED_CHARACTERS = 4 * 1024 * 1024;
/** How long shutdown waits until the log is written. */
const DRAIN_MS = 1000;

/**
 * Buffers lines and writes them to `stream` together at the end of each turn of the event loop, because a system call for
 * each line would delay its request. Buffered lines are also written when the process exits, unless an unhandled signal ends
 * it.
 *
 * A reader that stalls neither blocks the process nor makes its memory grow. Bun writes to pipes and sockets without
 * blocking, and buffers without limit what they do not accept. Therefore lines wait here until the stream has drained,
 * up to a limit. Further lines are dropped and counted. Without a reader, the service keeps running and drops all
 * lines. (Files and terminals are written synchronously: a paused terminal pauses the process.)
 */
export const inTurns = (stream: LogStream): LogOutput => {
  let lines = "";
  let isScheduled = false;
  let isStalled = false;
  let isGone = false;
  let dropped = 0;
  let reportedDropped = 0;
  let notifyDropped: (dropped: number) => void = () => {};

  const flush = (): void => {
    isScheduled = false;
    if (isStalled || lines === "") return;
    const text = lines;
    lines = "";
    isStalled = !stream.write(text);
  };
  stream.on("drain", () => {
    isStalled = false;
    // First write the buffered lines, then report how many were dropped after them.
    flush();
    const newlyDropped = dropped - reportedDropped;
    reportedDropped = dropped;
    if (newlyDropped > 0) notifyDropped(newlyDropped);
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
      if (isGone || lines.length + line.length > MAX_BUFFERED_CHARACTERS) {
        dropped++;
        return;
      }
      lines += line;
      if (isScheduled || isStalled) return;
      isScheduled = true;
      setImmediate(flush);
    },
    onResume: (listener) => {
      notifyDropped = listener;
    },
    dropped: () => dropped,
    drained: async () => {
      const end = performance.now() + DRAIN_MS;
      flush();
      while ((isStalled || lines !== "") && performance.now() < end) await new Promise((next) => setTimeout(next, 5));
    },
  };
};

/** Formats a JSON line as readable text, in this process: pino's transports are worker threads, which a bundle cannot start. */
const format = pretty.prettyFactory({
  colorize: true,
  translateTime: "SYS:HH:MM:ss.l",
  singleLine: true,
  messageFormat: ({ msg }) => printable(String(msg ?? "")),
});

const isJson = (line: string): boolean => {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
};

/** A line as readable text, with its fields as JSON. Only our colours affect the terminal. */
const readable = (line: string): string => (isJson(line) ? printableJson(format(line)) : printableLines(line));

/**
 * Passes on the complete lines of another process, which it has written with `createLog`: unchanged, or as readable
 * text on a terminal.
 */
export const passLine =
  (sink: LogSink, isTerminal: boolean) =>
  (line: string): void =>
    sink.write(isTerminal ? readable(line) : line);

/**
 * Creates a log. Our code does not log secrets. As a second line of defence, API keys are masked here in each formatted
 * line, for example in the text of an error. `base`: the fields of every line.
 */
export const createLog = (
  level: LogLevel,
  sink: LogSink = process.stdout,
  isTerminal = false,
  base: Record<string, string> | null = null,
): Logger => {
  // A terminal can show JSON lines too. Most lines are plain ASCII. A comparison of their length in bytes finds this in
  // a fraction of the time.
  const printableLine = (line: string): string =>
    Buffer.byteLength(line) === line.length ? line : printableJson(line);
  const write = (line: string): void => sink.write(printableLine(maskApiKeys(line)));
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime };
  const log = pino(options, { write: isTerminal ? (line) => write(readable(line)) : write });
  sink.onResume?.((dropped) => log.warn({ dropped }, "log lines were dropped because their reader had stalled"));
  return log;
};

/** The interval of a repeated warning. */
const WARNING_INTERVAL_MS = 60_000;

/** Returns a function that logs each message at most once a minute. */
export const limitedWarnings = (log: Logger) => {
  const loggedAt = new Map<string, number>();
  return (message: string, fields: object): void => {
    if (performance.now() - (loggedAt.get(message) ?? Number.NEGATIVE_INFINITY) < WARNING_INTERVAL_MS) return;
    loggedAt.set(message, performance.now());
    log.warn(fields, message);
  };
};
