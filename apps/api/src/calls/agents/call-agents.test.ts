/** The agent of CALL_AGENT_NAME. It is dispatched into the rooms of calls, and brings their avatars. */
import { describe, expect, test } from "bun:test";
import { newCallKey } from "@realtime-avatar/domain/calls/call-key";
import type { ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { until } from "@realtime-avatar/testing/until";
import { callAnew } from "../../../test/support/api.ts";
import { bringTo, roomClaims, roomToken } from "../../../test/support/calls/brought.ts";
import { callOptions, START, startCallApi } from "../../../test/support/calls/calls.ts";
import { dump } from "../../../test/support/dump.ts";
import { expectProblem } from "../../../test/support/routes.ts";

const agents = { livekitHosts: ["*.livekit.cloud"], name: "my-agent" };
const { api, livekit, key, avatar, start, release, session, tenantWith, syncOf, giveSlots } = await startCallApi(
  {},
  { agents },
);
const { db } = api.database;
const bring = bringTo(api.call);
const ready = await avatar();
await giveSlots(20, "wrk_1");

const asked = {
  ...{ instructions: "Be kind.", initial_context: [{ role: "user" as const, content: "Hello" }], voice: { id: "v" } },
  ...{ capabilities: ["client_tools"], transcription: { language_codes: ["de"] } },
};
type Metadata = Record<string, unknown> & { api_key: string; session_id: string };
const metadataOf = (room: string): Metadata => JSON.parse(livekit.dispatches(room)[0]?.metadata ?? "null");
/** A call with its agent, and a token of the agent. */
const startWithAgent = async (body: object = {}) => {
  const { body: grant } = await start({ avatar_id: ready, ...body });
  const video = { roomJoin: true, room: grant.room_name };
  const tokenOf = (changes: object = {}) => roomToken({ video, ...changes });
  const metadata = metadataOf(grant.room_name);
  const attach = (changes: object = {}, by = metadata.api_key) =>
    bring(by, ready, { livekit_url: livekit.url, livekit_token: tokenOf(), ...changes });
  return { grant, id: grant.session_id as string, metadata, tokenOf, attach };
};
const assignedTo = async (id: string) =>
  (await syncOf("wrk_1", { slots: 20 })).start.find(({ session_id }) => session_id === id);

describe("a call with an agent", () => {
  test("started: its room is created with the agent, which gets all supported fields; the others are in `ignored`", async () => {
    const { grant, metadata } = await startWithAgent(asked);
    expect(livekit.dispatches(grant.room_name)).toMatchObject([{ agentName: "my-agent" }]);
    const { transcription, ...forAgent } = asked;
    expect(metadata).toEqual({
      ...{ session_id: grant.session_id, avatar_id: ready, api_url: "https://avatars.test/compat/bey" },
      ...{ ...forAgent, api_key: expect.stringMatching(/^rtc_/) },
    });
    expect(grant.ignored).toEqual(["transcription"]);
    await release({ session_id: grant.session_id });
  });

  test("brought by the agent: the avatar joins on the session of the call, with one hold", async () => {
    const { grant, id, tokenOf, attach } = await startWithAgent({ mode: "voice" });
    expect(await assignedTo(id)).toBeUndefined();
    const livekit_token = tokenOf();
    const first = await attach({ livekit_token });
    expect([first.status, first.body, first.headers.get("location")]).toEqual([
      ...[201, { id }, `/api/v1/usage/sessions/${id}`],
    ]);
    expect(await assignedTo(id)).toMatchObject({
      ...{ url: livekit.url, token: livekit_token, agent_identity: "agent-AJ_x", mode: "avatar", away_seconds: 15 },
      ...{ generation: 1, max_seconds: grant.max_session_seconds },
    });
    // The plugin repeats the request, also concurrently.
    for (const again of await Promise.all(Array.from({ length: 5 }, () => attach({ livekit_token })))) {
      expect([again.status, again.body]).toEqual([201, { id }]);
    }
    expectProblem(await attach(), "validation_failed");
    const sessions = await db.client`select from credit_entries where session_id = ${id} and kind = 'hold'`;
    expect(sessions).toHaveLength(1);
    const report: ReportedCall = { session_id: grant.session_id, generation: 1, state: "ended", used_seconds: 5 };
    await syncOf("wrk_1", { slots: 20, calls: [{ ...report, reason: "disconnected" }] });
    expect(await session(id)).toMatchObject({ billedCreditMicros: 5_000_000, endReason: "disconnected" });
    await until(() => !livekit.rooms().includes(grant.room_name));
    expect(await db.client`select from call_agents where session_id = ${id}`).toHaveLength(0);
    expectProblem(await attach({ livekit_token }), "session_closed");
  });

  test("replayed: its room is created again with the agent, which gets a valid key", async () => {
    const headers = { "idempotency-key": "agent" };
    const { body: grant } = await start({ avatar_id: ready, ...asked }, key, headers);
    await livekit.kill();
    await livekit.restart();
    const again = await start({ avatar_id: ready, ...asked }, key, headers);
    expect([again.body, again.headers.get("idempotent-replayed")]).toEqual([grant, "true"]);
    const { api_key, instructions } = metadataOf(grant.room_name);
    expect(instructions).toBe("Be kind.");
    const livekit_token = roomToken({ video: { roomJoin: true, room: grant.room_name } });
    expect((await bring(api_key, ready, { livekit_url: livekit.url, livekit_token })).status).toBe(201);
    await release({ session_id: grant.session_id });
  });

  test("the token and the key, in the database: not in clear text", async () => {
    const { id, metadata, tokenOf, attach } = await startWithAgent();
    const livekit_token = tokenOf();
    await attach({ livekit_token });
    const text = await dump(db);
    expect(text).toContain(id);
    for (const secret of [metadata.api_key, ...livekit_token.split(".").slice(1)]) expect(text).not.toContain(secret);
    await release({ session_id: id });
  });
});

describe("the key of a call", () => {
  test("on other routes: 401; for other calls: refused", async () => {
    const { id, metadata, attach } = await startWithAgent();
    const by = metadata.api_key;
    for (const [method, path] of [
      ["GET", "/api/v1/avatars"],
      ["POST", START],
      ["GET", "/api/v1/api-keys/self"],
    ] as const) {
      expectProblem(await api.call(method, path, { key: by }), "invalid_api_key");
    }
    const other = await startWithAgent();
    // Other rooms, other servers, other avatars.
    expectProblem(await attach({ livekit_token: other.tokenOf() }), "validation_failed");
    expectProblem(await attach({ livekit_token: roomToken() }), "validation_failed");
    expectProblem(await attach({ livekit_url: "wss://project.livekit.cloud" }), "validation_failed");
    expectProblem(await attach({ avatar_id: await avatar() }), "not_found");
    expectProblem(await attach({ livekit_token: other.tokenOf({ kind: "standard" }) }), "validation_failed");
    const { video } = roomClaims();
    expectProblem(
      await attach({ livekit_token: roomToken({ video: { ...video, roomAdmin: true } }) }),
      "validation_failed",
    );
    expect(await assignedTo(id)).toBeUndefined();
    for (const one of [id, other.id]) await release({ session_id: one });
  });

  test("of another service, expired, changed, or of a call without an agent: refused", async () => {
    const { metadata, attach, id } = await startWithAgent();
    const { api_key } = metadata;
    const call = { tenantId: api.tenantId, sessionId: id as `ses_${string}` };
    const ofOther = newCallKey(call, new Uint8Array(32), new Date());
    for (const wrong of [
      "rtc_",
      `${api_key}x`,
      api_key.slice(0, -1),
      ofOther,
      api_key.replace(id, "ses_01h455vb4pex5vsknk084sn02q"),
    ]) {
      expectProblem(await attach({}, wrong), "invalid_api_key");
    }
    const later = bringTo(callAnew(db, { ...callOptions(livekit), clock: () => new Date(Date.now() + 121_000) }));
    expectProblem(await later(api_key, ready), "invalid_api_key");
    await release({ session_id: id });
    expectProblem(await attach(), "session_closed");
  });

  test("of a call whose key was revoked a moment ago: refused before the reconciler has ended the call", async () => {
    const other = await tenantWith(10_000);
    const { record, key: by } = await other.newKey();
    const { body: grant } = await start({ avatar_id: other.avatarId }, by);
    const { api_key } = metadataOf(grant.room_name);
    await api.call("DELETE", `/api/v1/api-keys/${record.id}`, { key: other.root.key });
    const livekit_token = roomToken({ video: { roomJoin: true, room: grant.room_name } });
    const answer = await bring(api_key, other.avatarId, { livekit_url: livekit.url, livekit_token });
    expectProblem(answer, "session_closed");
  });

  test("above the rate limit of its tenant: 429", async () => {
    const { metadata, id } = await startWithAgent();
    const { config } = callOptions(livekit);
    const limited = bringTo(
      callAnew(db, { config: { ...config, agents, tenantRateLimit: { perSecond: 1, burst: 0 } } }),
    );
    const answers = await Promise.all(Array.from({ length: 5 }, () => limited(metadata.api_key, ready)));
    expect(answers.filter(({ body }) => body.code === "rate_limited").length).toBeGreaterThanOrEqual(3);
    await release({ session_id: id });
  });
});
