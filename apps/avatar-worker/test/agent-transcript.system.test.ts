/** The transcript of a call whose avatar speaks for an agent, on a real LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { until } from "@realtime-avatar/testing/until";
import { readConfig } from "../src/config.ts";
import { createService } from "../src/fleet/service.ts";
import { portrait } from "../src/renderer/portrait.ts";
import { startCall } from "../src/room/call.ts";
import { AGENT_IDENTITY, joinAsAgent } from "./support/agent.ts";
import { type ControlPlane, sign, startControlPlane } from "./support/control-plane.ts";

setDefaultTimeout(60_000);
const binary = await livekitBinary();
const title = `the transcript of an agent${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
  });
  afterAll(async () => {
    await livekit?.stop();
    await control?.stop();
  });

  test("words of the agent, and of the person that it hears: in order, without interim texts", async () => {
    const segments: TranscriptSegment[] = [];
    const { session, room } = await control.start({}, true);
    const service = createService({ ...readConfig(control.variables), workerId: "wrk_x" });
    const onSegment = (segment: TranscriptSegment): void => void segments.push(segment);
    const call = startCall(
      { ...control.assignedOf(session), agent_identity: AGENT_IDENTITY },
      {
        ...{
          renderer: portrait,
          label: "AI",
          load: (file: string) => service.file(session, file),
          isRestart: false,
          recorder: null,
        },
        ...{ conversation: null, onChange: () => {}, onFailure: () => {} },
        echo: {
          speech: FLITE_SETTINGS,
          onProviderFailure: () => {},
          segments: { onSegment, onSpeaking: () => {} },
          onTurn: () => {},
        },
      },
    );
    const rights = { canSubscribe: true, canPublish: true, canPublishData: true, canUpdateOwnMetadata: false };
    const video = { roomJoin: true as const, room, ...rights };
    const token = await sign(livekit, { ...personToken(room), identity: AGENT_IDENTITY, kind: "agent", video });
    const agent = await joinAsAgent(livekit.url, token, "avatar");
    try {
      await until(() => call.report().state === "started");
      /** A stream as LiveKit's agents send it: on behalf of the speaker. */
      const send = async (id: string, words: string[], isFinal: boolean, senderIdentity = AGENT_IDENTITY) => {
        const attributes = { "lk.segment_id": id, "lk.transcription_final": String(isFinal) };
        const destination = { topic: "lk.transcription", destinationIdentities: ["avatar"] };
        const writer = await agent.room.localParticipant?.streamText({ ...destination, attributes, senderIdentity });
        for (const word of words) await writer?.write(word);
        await writer?.close();
      };
      await send("SG_one", ["Good ", "morning, ", "Ada."], false);
      await until(() => segments.length === 1);
      await send("SG_two", ["When"], false, "ada");
      await send("SG_two", ["When do you open?"], true, "ada");
      await until(() => segments.length === 2, { state: () => segments });
      expect(segments.map(({ role, text }) => `${role}: ${text}`)).toEqual([
        "assistant: Good morning, Ada.",
        "user: When do you open?",
      ]);
    } finally {
      await Promise.all([agent.leave(), call.leave()]);
    }
  });
});
