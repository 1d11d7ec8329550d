/** Starts of recorded calls: refusals, the grant as the published SDK reads it, and the start at the worker. */
import { describe, expect, test } from "bun:test";
import { RECORDING } from "@realtime-avatar/domain/calls/worker-sync";
import { isQueued, RealtimeAvatar } from "realtime-avatar";
import { callAnew } from "../../test/support/api.ts";
import { callOptions, START, startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, livekit, start, syncOf, takeSlots, tenantWith } = await startCallApi();

/** A tenant with a worker that has these features. */
const world = async (features: string[] = [RECORDING]) => {
  await takeSlots();
  await syncOf("one", { slots: 40, features });
  const tenant = await tenantWith(10_000);
  const { key } = tenant.root;
  const sdk = new RealtimeAvatar({ apiKey: key, baseUrl: `${api.url}/api/v1` });
  const startWith = (body: object, headers: Record<string, string> = {}) =>
    start({ avatar_id: tenant.avatarId, ...body }, key, headers);
  return { ...tenant, key, sdk, startWith };
};

test("the SDK, starting a recorded call: the grant has its recordings, pending and readable", async () => {
  const { sdk, avatarId } = await world();
  const call = await sdk.startCall({ avatarId, recording: "participants" });
  if (isQueued(call)) throw new Error("there are slots");
  expect(call.recordingMode).toBe("participants");
  expect(call.recording).toBeUndefined();
  expect(call.recordings).toMatchObject([
    { sessionId: call.sessionId, status: "pending", mode: "audio", participant: { role: "user" } },
    { sessionId: call.sessionId, status: "pending", mode: "audio_video", participant: { role: "avatar" } },
  ]);
  const { data } = await sdk.listRecordings({ sessionId: call.sessionId });
  expect(data.toReversed()).toEqual([...(call.recordings ?? [])]);
});

test("a call with one recording: `recording` is this recording; a repeated start returns the same recordings", async () => {
  const { startWith, sdk } = await world();
  const headers = { "idempotency-key": "recorded" };
  const { body: grant } = await startWith({ recording: "audio", mode: "voice" }, headers);
  expect(grant.recordings).toEqual([grant.recording]);
  expect(await sdk.getRecording(grant.recording.recordingId)).toEqual(grant.recording);
  expect((await startWith({ recording: "audio", mode: "voice" }, headers)).body).toEqual(grant);
  expect((await sdk.listRecordings()).data).toHaveLength(1);
});

test("the worker: gets the modes of the recordings; for a call without recordings, no field", async () => {
  const { startWith } = await world();
  const { body: first } = await startWith({ recording: "audio_video" });
  const { body: second } = await startWith({ recording: "off" });
  const { start: assigned } = await syncOf("one", { slots: 40, features: [RECORDING] });
  const told = new Map(assigned.map(({ session_id, recording }) => [session_id as string, recording]));
  expect(told.get(first.session_id)).toEqual({ mode: "audio_video", is_told: false });
  expect(told.get(second.session_id)).toBeUndefined();
  expect(Object.keys(second).filter((name) => name.startsWith("recording"))).toEqual([]);
});

describe("refused", () => {
  test("while no worker records: 503 without a hold; another start succeeds", async () => {
    const { startWith, sdk } = await world([]);
    const answer = await startWith({ recording: "audio" });
    expectProblem(answer, "recording_unavailable");
    expect(answer.headers.get("retry-after")).not.toBeNull();
    expect((await sdk.creditBalance()).reservedCreditMicros).toBe(0);
    expect((await startWith({})).status).toBe(200);
    expect((await sdk.listRecordings()).data).toEqual([]);
  });

  test("the camera of the person, or a person whom the avatar does not hear: 422 with the reason", async () => {
    const { startWith } = await world();
    for (const body of [{ recording: "video" }, { recording: "audio", stt_mode: "off" }]) {
      const answer = await startWith(body);
      expectProblem(answer, "validation_failed");
      expect(answer.body.errors).toMatchObject([{ pointer: "#/recording", code: "not_supported" }]);
    }
  });

  test("with an agent of the operator: 501", async () => {
    const { key, avatarId } = await world();
    const { config } = callOptions(livekit);
    const call = callAnew(api.database.db, { config: { ...config, agents: { ...config.agents, name: "my-agent" } } });
    const answer = await call("POST", START, { key, body: { avatar_id: avatarId, recording: "audio" } });
    expectProblem(answer, "recording_unsupported");
  });
});
