/** Whether LiveKit responds, and whether those who join can create rooms. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type LivekitConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms, type LivekitError } from "@realtime-avatar/livekit/rooms";
import { readCommonConfig } from "@realtime-avatar/runtime/config";
import { Secret } from "@realtime-avatar/storage/secret";

export type LivekitHealth =
  | { status: "not_configured" }
  | { status: "reachable"; autoCreate: boolean }
  | { status: "unreachable"; reason: LivekitError["kind"] };

/** The LiveKit that the service has started by itself; null when it has not. */
const readEmbedded = async (): Promise<LivekitConfig | null> => {
  const { databaseUrl, dataDirectory } = readCommonConfig(process.env).database;
  if (databaseUrl !== null) return null;
  try {
    const { port, keys } = JSON.parse(await readFile(join(dataDirectory, "livekit.yaml"), "utf8"));
    const [[apiKey, apiSecret]] = Object.entries(keys) as [[string, string]];
    return { url: `ws://127.0.0.1:${port}`, apiKey, apiSecret: new Secret(apiSecret) };
  } catch {
    return null;
  }
};

export const checkLivekit = async (): Promise<LivekitHealth> => {
  const config = readLivekitConfig(process.env) ?? (await readEmbedded());
  if (config === null) return { status: "not_configured" };
  try {
    return { status: "reachable", autoCreate: await createRooms(config).autoCreates() };
  } catch (error) {
    return { status: "unreachable", reason: (error as LivekitError).kind };
  }
};

export const livekitText = (health: LivekitHealth): string => {
  switch (health.status) {
    case "not_configured":
      return "LiveKit: not configured";
    case "reachable":
      return `LiveKit: reachable, auto_create ${health.autoCreate ? "on" : "off"}`;
    case "unreachable":
      return `LiveKit: ${health.reason}`;
  }
};
