/** Whether LiveKit responds, and whether those who join can create rooms. */
import { readEmbeddedConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms, type LivekitError } from "@realtime-avatar/livekit/rooms";
import { readCommonConfig } from "@realtime-avatar/runtime/config";

export type LivekitHealth =
  | { status: "not_configured" }
  | { status: "reachable"; autoCreate: boolean }
  | { status: "unreachable"; reason: LivekitError["kind"] };

export const checkLivekit = async (): Promise<LivekitHealth> => {
  const { databaseUrl, dataDirectory } = readCommonConfig(process.env).database;
  // With a database of its own, the service starts no LiveKit by itself.
  const embedded = databaseUrl === null ? await readEmbeddedConfig(dataDirectory) : null;
  const config = readLivekitConfig(process.env) ?? embedded;
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
