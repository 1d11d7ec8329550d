/**
 * An avatar that waits for its agent, on a real LiveKit server. Before the agent comes, the avatar publishes nothing,
 * because this time is not charged.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { AGENT_IDENTITY, joinAsAgent } from "./support/agent.ts";
import { type ControlPlane, sign, startControlPlane } from "./support/control-plane.ts";
import { AVATAR_WORKER } from "./support/service.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `an avatar that waits for its agent${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let worker: RunningProcess;
  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
    worker = startProcess(AVATAR_WORKER, { ...control.variables, RUST_LOG: "off" });
  });
  afterAll(async () => {
    worker?.kill("SIGKILL");
    await worker?.exited;
    await control?.stop();
    await livekit?.stop();
  });

  /** A call whose avatar is in the room and whose agent is not. */
  const start = async (change: Partial<AssignedCall> = {}) => {
    const { session, room } = await control.start({ agent_identity: AGENT_IDENTITY, mode: "avatar", ...change }, true);
    await control.untilInRoom(room, "avatar");
    return { session, room };
  };
  const join = async (room: string) => {
    const { video, ...token } = personToken(room);
    const { canPublishSources: _, ...grant } = video;
    const agentToken = await sign(livekit, { ...token, identity: AGENT_IDENTITY, kind: "agent", video: grant });
    return joinAsAgent(livekit.url, agentToken, "avatar");
  };
  const trackCount = async (room: string): Promise<number> => {
    const [avatar] = await control.rooms.listParticipants(room);
    return avatar?.tracks.length ?? 0;
  };

  test("an agent that comes later: nothing is published before", async () => {
    const { session, room } = await start();
    // Longer than an avatar without an agent takes to be published.
    await Bun.sleep(2000);
    expect(await trackCount(room)).toBe(0);
    expect(control.reportsOf(session).at(-1)).toMatchObject({ state: "joining", used_seconds: 0 });
    const agent = await join(room);
    await agent.untilSeen();
    await control.untilReported(session, "started");
    control.end(session, "user_ended");
    await control.untilReported(session, "ended");
    await agent.leave();
  });

  const absences: [string, Partial<AssignedCall>, number][] = [
    ["that never comes", {}, 0],
    ["that does not come back to another worker", { generation: 2, used_seconds: 5, away_seconds: 2 }, 5],
  ];
  test.each(absences)("an agent %s: nothing is published; the call ends", async (_, change, used_seconds) => {
    const { session, room } = await start({ idle_seconds: 3, ...change });
    expect(await trackCount(room)).toBe(0);
    const { reason, ...ended } = await control.untilReported(session, "ended", change.generation);
    expect({ reason, used_seconds: ended.used_seconds }).toEqual({ reason: "disconnected", used_seconds });
    const states = control.reportsOf(session).map(({ state }) => state);
    expect(states.filter((state) => state !== "joining")).toEqual(["ended"]);
    await control.untilInRoom(room);
  });
});
