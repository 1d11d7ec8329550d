/** Whether LiveKit responds, and whether participants can create rooms. */
import { readEmbeddedConfig, readLivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms, type LivekitError } from "@realtime-avatar/livekit/rooms";
import { readCommonConfig, readVariables } from "@realtime-avatar/runtime/config";

export type LivekitHealth =
  | { status: "not_configured" }
  | { status: "reachable"; autoCreate: boolean; url: string }
  | { status: "unreachable"; reason: LivekitError["kind"]; url: string };

export const checkLivekit = async (): Promise<LivekitHealth> => {
  const [{ database }, configured] = readVariables(
    process.env,
    (variables) => [readCommonConfig(variables), readLivekitConfig(variables)] as const,
  );
  // A service with `DATABASE_URL` starts no LiveKit.
  const embedded = database.databaseUrl === null ? await readEmbeddedConfig(database.dataDirectory) : null;
  const config = configured ?? embedded;
  if (config === null) return { status: "not_configured" };
  const { url } = config;
  try {
    return { status: "reachable", autoCreate: await createRooms(config).autoCreates(), url };
  } catch (error) {
    return { status: "unreachable", reason: (error as LivekitError).kind, url };
  }
};

export const livekitText = (health: LivekitHealth): string => {
  switch (health.status) {
    case "not_configured":
      return "LiveKit: not configured";
    case "reachable":
      return `LiveKit: reachable, auto_create ${health.autoCreate ? "on" : "off"} (${health.url})`;
    case "unreachable":
      return `LiveKit: ${health.reason} (${health.url})`;
  }
};
