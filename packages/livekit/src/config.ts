/** Where the LiveKit server is, and the key with which the service signs for it. */
import { ConfigError, readVariable, type Variables } from "@realtime-avatar/runtime/config";
import { Secret } from "@realtime-avatar/storage/secret";

export type LivekitConfig = {
  /** `ws:` or `wss:`, for the service, avatar workers and browsers. */
  url: string;
  apiKey: string;
  apiSecret: Secret;
};

const NAMES = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"] as const;

const readUrl = (text: string): string | undefined =>
  /^wss?:\/\/[^\s/?#@]+\/?$/.test(text) && URL.canParse(text) ? text.replace(/\/$/, "") : undefined;

/** Visible ASCII. LiveKit wants secrets of at least 32 characters. */
const readText = (text: string, minimum: number): string | undefined =>
  /^[\x21-\x7e]{1,512}$/.test(text) && text.length >= minimum ? text : undefined;

/** Null when no variable is set. Throws a `ConfigError` that names the first variable that is missing or invalid. */
export const readLivekitConfig = (variables: Variables): LivekitConfig | null => {
  const url = readVariable<string | null>(variables, NAMES[0], null, "a ws:// or wss:// URL without a path", readUrl);
  const apiKey = readVariable<string | null>(variables, NAMES[1], null, "visible ASCII characters", (text) =>
    readText(text, 1),
  );
  const secret = readVariable<string | null>(variables, NAMES[2], null, "32 to 512 visible ASCII characters", (text) =>
    readText(text, 32),
  );
  if (url !== null && apiKey !== null && secret !== null) return { url, apiKey, apiSecret: new Secret(secret) };
  if (url === null && apiKey === null && secret === null) return null;
  const missing = NAMES[[url, apiKey, secret].indexOf(null)] ?? NAMES[0];
  throw new ConfigError(missing, "set when one of LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET is set");
};
