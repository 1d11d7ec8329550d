/** The log: JSON lines on standard output, or words when that is a terminal. */
import { Writable } from "node:stream";
import { maskApiKeys } from "@realtime-avatar/domain/api-key-secret";
import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./config.ts";

export type { Logger };

/** Where finished lines go. */
export type LogSink = { write(line: string): void };

/**
 * Hands lines to `sink` together, at the end of each turn of the event loop: one by one, each would cost a system call on
 * the way of its request. What is left when the process ends goes then, but for an end by a signal that nobody handles.
 */
export const inTurns = (sink: LogSink): LogSink => {
  let lines = "";
  const flush = (): void => {
    const text = lines;
    lines = "";
    if (text !== "") sink.write(text);
  };
  process.on("exit", flush);
  return {
    write: (line) => {
      if (lines === "") setImmediate(flush);
      lines += line;
    },
  };
};

/**
 * Makes a log. No code of ours logs a secret; should one slip into a message or a stack all the same, it is masked
 * here, in the finished line.
 */
export const createLog = (level: LogLevel, sink: LogSink = process.stdout, isTerminal = false): Logger => {
  const masked = new Writable({
    decodeStrings: false,
    write: (line, _encoding, done) => {
      sink.write(maskApiKeys(String(line)));
      done();
    },
  });
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isTerminal) return pino(options, masked);
  // A stream of our own process: pino's transports are worker threads, which a bundle cannot start.
  const words = pretty({ destination: masked, colorize: true, translateTime: "SYS:HH:MM:ss.l", singleLine: true });
  return pino(options, words);
};
