/** The address of the LiveKit server, and the key with which the service signs its tokens. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readVariable, refuse, type Variables } from "@realtime-avatar/runtime/config";
import { Secret } from "@realtime-avatar/storage/secret";
import { isLocked } from "./embedded-lock.ts";

export type LivekitConfig = {
  /** `ws:` or `wss:`, for the service, avatar workers and browsers. */
  url: string;
  apiKey: string;
  apiSecret: Secret;
};

const readUrl = (text: string): string | undefined =>
  /^wss?:\/\/[^\s/?#@]+\/?$/.test(text) && URL.canParse(text) ? text.replace(/\/$/, "") : undefined;

/** Visible ASCII. LiveKit requires secrets of at least 32 characters. */
const readText =
  (minimum: number) =>
  (text: string): string | undefined =>
    /^[\x21-\x7e]{1,512}$/.test(text) && text.length >= minimum ? text : undefined;

/** Null when no variable is set. Throws a `ConfigError` that names a variable that is missing or invalid. */
export const readLivekitConfig = (variables: Variables): LivekitConfig | null => {
  const form = { url: "a ws:// or wss:// URL without a path", secret: "32 to 512 visible ASCII characters" };
  const url = readVariable<string | null>(variables, "LIVEKIT_URL", null, form.url, readUrl);
  const apiKey = readVariable<string | null>(
    variables,
    "LIVEKIT_API_KEY",
    null,
    "visible ASCII characters",
    readText(1),
  );
  const secret = readVariable<string | null>(variables, "LIVEKIT_API_SECRET", null, form.secret, readText(32));
  if (url === null && apiKey === null && secret === null) return null;
  const required = (name: string, value: string | null): string => {
    // Within `readVariables`, an invalid variable is also null, and already reported.
    if (!variables[name])
      refuse(variables, name, "set when one of LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET is set");
    return value ?? "";
  };
  return {
    url: required("LIVEKIT_URL", url),
    apiKey: required("LIVEKIT_API_KEY", apiKey),
    apiSecret: new Secret(required("LIVEKIT_API_SECRET", secret)),
  };
};

/**
 * The configuration file of the LiveKit that a service with this data directory runs. It is JSON, which is valid YAML.
 */
export const embeddedConfigFile = (dataDirectory: string): string => join(dataDirectory, "livekit.yaml");

/**
 * Reads that file; null when it does not exist, or when its LiveKit has ended. A killed service leaves the file, and by
 * now any program can listen on that port.
 */
export const readEmbeddedConfig = async (dataDirectory: string): Promise<LivekitConfig | null> => {
  try {
    if (!isLocked(dataDirectory)) return null;
    const { port, keys } = JSON.parse(await readFile(embeddedConfigFile(dataDirectory), "utf8"));
    const [[apiKey, apiSecret]] = Object.entries(keys) as [[string, string]];
    return { url: `ws://127.0.0.1:${port}`, apiKey, apiSecret: new Secret(apiSecret) };
  } catch {
    return null;
  }
};
