/** The configuration of the avatar worker, read once at the start. */
import { MAX_SLOTS } from "@realtime-avatar/domain/calls/worker-sync";
import { MAX_SHARDS } from "@realtime-avatar/domain/shards";
import {
  type LogLevel,
  readAvatarMark,
  readAvatarWorkerSecret,
  readHost,
  readLogLevel,
  readMetricsPort,
  readPort,
  readVariable,
  readVariables,
  refuse,
  type Variables,
} from "@realtime-avatar/runtime/config";
import { readSpeechSettings } from "@realtime-avatar/runtime/config/speech";
import { readTracingConfig, type TracingConfig } from "@realtime-avatar/runtime/tracing-config";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { Secret } from "@realtime-avatar/storage/secret";
import { type ConversationSettings, readConversationSettings } from "./conversation/settings.ts";

export type AvatarWorkerConfig = {
  serviceUrl: string;
  secret: Secret;
  slots: number;
  renderer: "face" | "portrait";
  /** Label drawn into each picture, because viewers must know that the person is artificial. Empty: no label. */
  label: string;
  /** null: no language model is configured, and calls echo. */
  conversation: ConversationSettings | null;
  /** The voices of calls. */
  speech: SpeechSettings;
  /** The shards whose calls this worker takes, in an installation with shards. */
  shards: readonly number[];
  host: string;
  /** Port of the health checks. */
  port: number;
  /** null when metrics are disabled. */
  metricsPort: number | null;
  logLevel: LogLevel;
  /** null when traces are disabled. */
  tracing: TracingConfig | null;
};

const readUrl = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, password, origin, pathname } = new URL(text);
  const isPlain = ["http:", "https:"].includes(protocol) && username === "" && password === "" && pathname === "/";
  return isPlain ? origin : undefined;
};

/** Numbers and ranges of shards, without spaces: `0-7,12`. */
const readShards = (text: string): number[] | undefined => {
  const shards: number[] = [];
  for (const part of text.split(",")) {
    const [, start, end = start] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
    const [from, to] = [Number(start), Number(end)];
    if (start === undefined || from > to || to >= MAX_SHARDS) return undefined;
    for (let shard = from; shard <= to; shard++) shards.push(shard);
  }
  return new Set(shards).size === shards.length ? shards : undefined;
};

const readSettings = (variables: Variables): AvatarWorkerConfig => {
  const name = "AVATAR_WORKER_SECRET";
  if (!variables[name]) refuse(variables, name, "set to the secret of the API");
  const secret = readAvatarWorkerSecret(variables) ?? new Secret("");
  const speech = readSpeechSettings(variables);
  const port = readPort(variables, "AVATAR_WORKER_PORT", 3002);
  return {
    serviceUrl: readVariable(
      variables,
      "SERVICE_URL",
      "http://127.0.0.1:3000",
      "an http:// or https:// URL without a path",
      readUrl,
    ),
    secret,
    slots: readVariable(variables, "AVATAR_SLOTS", 4, `a whole number from 1 to ${MAX_SLOTS}`, (text) =>
      /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_SLOTS ? Number(text) : undefined,
    ),
    renderer: readVariable(variables, "RENDERER", "face", "face or portrait", (text) =>
      text === "face" || text === "portrait" ? text : undefined,
    ),
    label: readAvatarMark(variables),
    conversation: readConversationSettings(variables, speech),
    speech,
    shards: readVariable(
      variables,
      "AVATAR_WORKER_SHARD",
      [0],
      `numbers of shards from 0 to ${MAX_SHARDS - 1}, each once, such as 3 or 0-7,12`,
      readShards,
    ),
    host: readHost(variables),
    port,
    metricsPort: readMetricsPort(variables, "AVATAR_WORKER_METRICS_PORT", "AVATAR_WORKER_PORT", port),
    logLevel: readLogLevel(variables),
    tracing: readTracingConfig(variables, "realtime-avatar-avatar-worker"),
  };
};

/** Throws a `ConfigError` that names all invalid variables. */
export const readConfig = (variables: Variables): AvatarWorkerConfig => readVariables(variables, readSettings);
