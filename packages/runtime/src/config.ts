/**
 * Reads configuration from environment variables. An invalid value prevents the start. The error names the variable and its
 * expected form, never the value, which may be a secret. `readVariables` names all invalid variables at once.
 */

import type { DatabaseConfig } from "@realtime-avatar/db/open";
import { DEFAULT_MARK, MARK_FORM, readMark } from "@realtime-avatar/domain/calls/mark";
import { Secret } from "@realtime-avatar/storage/secret";

/** The environment variables of a process. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** A sentence for each invalid variable, each on its line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  constructor(sentences: Iterable<string>) {
    super([...sentences].join("\n"));
  }
}

/** The sentences that each call of `readVariables` in progress has collected, by its variables. */
const readings = new WeakMap<Variables, Set<string>>();

/**
 * Reports an invalid variable. Within `readVariables`, collects the sentence, and the caller continues with any value.
 * Otherwise throws.
 */
export const refuse = (variables: Variables, name: string, form: string): void => {
  const sentence = `${name} must be ${form}.`;
  const sentences = readings.get(variables);
  if (sentences === undefined) throw new ConfigError([sentence]);
  sentences.add(sentence);
};

/** Reads a configuration. Throws a `ConfigError` that names all invalid variables. */
export const readVariables = <Config>(variables: Variables, read: (variables: Variables) => Config): Config => {
  // A nested call reports with the outer one.
  if (readings.has(variables)) return read(variables);
  const copy = { ...variables };
  const sentences = new Set<string>();
  readings.set(copy, sentences);
  const config = read(copy);
  if (sentences.size > 0) throw new ConfigError(sentences);
  return config;
};

/** The variable's value as parsed by `parse`, or `fallback` if unset or empty. Refuses it when `parse` returns `undefined`. */
export const readVariable = <Value>(
  variables: Variables,
  name: string,
  fallback: Value,
  form: string,
  parse: (text: string) => Value | undefined,
): Value => {
  const text = variables[name];
  if (text === undefined || text === "") return fallback;
  const value = parse(text);
  if (value !== undefined) return value;
  refuse(variables, name, form);
  return fallback;
};

/** An integer in decimal digits, from `minimum` to `maximum`. `form` describes it in an error. */
export const readInteger = <Fallback extends number | null>(
  variables: Variables,
  name: string,
  fallback: Fallback,
  [minimum, maximum]: readonly [number, number],
  form = "a whole number",
): number | Fallback =>
  readVariable<number | Fallback>(variables, name, fallback, `${form} from ${minimum} to ${maximum}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  });

/** A TCP port for metrics, other than `port`, which is the value of `portName`; null when metrics are disabled. */
export const readMetricsPort = (variables: Variables, name: string, portName: string, port: number): number | null => {
  if (!variables[name]) return null;
  const metricsPort = readPort(variables, name, 0);
  if (metricsPort !== 0 && metricsPort === port) refuse(variables, name, `another port than ${portName}`);
  return metricsPort;
};

/** A TCP port; 0 selects any free port. */
export const readPort = (variables: Variables, name: string, fallback: number): number =>
  readInteger(variables, name, fallback, [0, 65_535], "a port number");

const MILLISECONDS = "a number of milliseconds";

/** The label drawn into the pictures of avatars; empty for no label. */
export const readAvatarMark = (variables: Variables): string =>
  readVariable(variables, "AVATAR_MARK", DEFAULT_MARK, MARK_FORM, readMark);

export const readBoolean = <Fallback extends boolean | null>(
  variables: Variables,
  name: string,
  fallback: Fallback,
): boolean | Fallback =>
  readVariable<boolean | Fallback>(variables, name, fallback, "true or false", (text) =>
    text === "true" ? true : text === "false" ? false : undefined,
  );

/** 32 characters of base64url are 192 bits. */
export const MIN_SECRET_LENGTH = 32;

/** A secret with which this service signs; null when it is not set. */
export const readSecret = (variables: Variables, name: string): Secret | null =>
  readVariable<Secret | null>(variables, name, null, `text of at least ${MIN_SECRET_LENGTH} characters`, (text) =>
    text.length >= MIN_SECRET_LENGTH ? new Secret(text) : undefined,
  );

/** The secret that avatar workers and the API share; null when it is unset. */
export const readAvatarWorkerSecret = (variables: Variables): Secret | null =>
  readVariable<Secret | null>(variables, "AVATAR_WORKER_SECRET", null, "32 to 512 visible ASCII characters", (text) =>
    /^[\x21-\x7e]{32,512}$/.test(text) ? new Secret(text) : undefined,
  );

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The address at which a process listens. */
export const readHost = (variables: Variables): string =>
  readVariable(variables, "HOST", "127.0.0.1", "a host name or an IP address", (text) =>
    /^[A-Za-z0-9.:-]+$/.test(text) ? text : undefined,
  );

export const readLogLevel = (variables: Variables): LogLevel =>
  readVariable<LogLevel>(variables, "LOG_LEVEL", "info", `one of ${LOG_LEVELS.join(", ")}`, (text) =>
    LOG_LEVELS.find((level) => level === text),
  );

/** The configuration that all processes share. */
export type CommonConfig = {
  host: string;
  database: DatabaseConfig;
  logLevel: LogLevel;
  /** Idle time after which a connection is closed. */
  keepAliveMs: number;
  /** How long a process still serves requests after SIGTERM. Meanwhile it reports that it is not ready. */
  shutdownGraceMs: number;
};

/** A postgres:// URL with at least one host. `new URL` does not accept several hosts. */
const DATABASE_URL = /^postgres(ql)?:\/\/([^\s/@]*@)?[^\s/@?#]+(\/\S*)?$/;

export const readCommonConfig = (variables: Variables): CommonConfig => ({
  host: readHost(variables),
  database: {
    databaseUrl: readVariable<string | null>(variables, "DATABASE_URL", null, "a postgres:// URL", (text) =>
      DATABASE_URL.test(text) ? text : undefined,
    ),
    deadlineMs: readInteger(variables, "REQUEST_TIMEOUT_MS", 5000, [1, 120_000], MILLISECONDS),
    connections: readInteger(variables, "DATABASE_CONNECTIONS", 10, [1, 1000], "a number"),
    prepare: readBoolean(variables, "PREPARED_STATEMENTS", true),
    isByNode: readBoolean(variables, "DATABASE_SHARD_NODES", true),
    allowWeakAuth: readBoolean(variables, "DATABASE_ALLOW_WEAK_AUTH", false),
    dataDirectory: readVariable(variables, "DATA_DIR", ".data", "a path", (text) =>
      text.includes("\0") ? undefined : text,
    ),
  },
  keepAliveMs: readInteger(variables, "KEEP_ALIVE_MS", 75_000, [1000, 240_000], MILLISECONDS),
  shutdownGraceMs: readInteger(variables, "SHUTDOWN_GRACE_MS", 0, [0, 600_000], MILLISECONDS),
  logLevel: readLogLevel(variables),
});
