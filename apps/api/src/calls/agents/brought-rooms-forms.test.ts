/**
 * The two forms in which releases of the plugin `bey` request a call: `/session`, and `/sessions` with a `transport`.
 */
import { expect, test } from "bun:test";
import {
  BRING_BY_TRANSPORT,
  bringByTransportTo,
  bringTo,
  ROOM_URL,
  roomToken,
} from "../../../test/support/calls/brought.ts";
import { startCallApi } from "../../../test/support/calls/calls.ts";
import { expectProblem } from "../../../test/support/routes.ts";

const { api, livekit, start, avatar, tenantWith, release, session, syncOf, giveSlots, key } = await startCallApi(
  {},
  { agents: { livekitHosts: ["*.livekit.cloud"], name: "my-agent" } },
);
const bring = bringTo(api.call);
const bringByTransport = bringByTransportTo(api.call);
const one = await tenantWith(1_000_000);
await giveSlots(10, "wrk_1");

test("POST /sessions with a valid token: 201 with a session, which a worker gets", async () => {
  const token = roomToken();
  const { status, body, headers } = await bringByTransport(one.root.key, one.avatarId, { token });
  expect([status, headers.get("location")]).toEqual([201, `/api/v1/usage/sessions/${body.id}`]);
  expect((await syncOf("wrk_1", { slots: 10 })).start).toMatchObject([
    { session_id: body.id, url: ROOM_URL, token, agent_identity: "agent-AJ_x", mode: "avatar" },
  ]);
  expect(await session(body.id, one.root.key)).toMatchObject({ reservedCreditMicros: 1_800_000_000 });
  await release({ session_id: body.id }, one.root.key);
});

test("the same token on both paths: one call", async () => {
  const token = roomToken();
  const first = await bringByTransport(one.root.key, one.avatarId, { token });
  const answers = await Promise.all([
    bringByTransport(one.root.key, one.avatarId, { token }),
    bring(one.root.key, one.avatarId, { livekit_token: token }),
  ]);
  expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(2).fill([201, first.body]));
  await release({ session_id: first.body.id }, one.root.key);
});

test("POST /sessions twice with one Idempotency-Key: one call; with another token: 422", async () => {
  const [token, headers] = [roomToken(), { "idempotency-key": "twice" }];
  const first = await bringByTransport(one.root.key, one.avatarId, { token }, headers);
  const again = await bringByTransport(one.root.key, one.avatarId, { token }, headers);
  expect([again.body, again.headers.get("idempotent-replayed")]).toEqual([first.body, "true"]);
  expectProblem(await bringByTransport(one.root.key, one.avatarId, {}, headers), "idempotency_key_reused");
  await release({ session_id: first.body.id }, one.root.key);
});

test("POST /sessions with the key of a call: brings the avatar of that call only", async () => {
  const ready = await avatar();
  const { body: grant } = await start({ avatar_id: ready });
  const { api_key } = JSON.parse(livekit.dispatches(grant.room_name)[0]?.metadata ?? "null");
  const other = await bringByTransport(api_key, ready, { url: livekit.url });
  expectProblem(other, "validation_failed");
  expect(other.body.errors).toMatchObject([{ pointer: "#/token", code: "not_allowed" }]);
  const token = roomToken({ video: { roomJoin: true, room: grant.room_name } });
  const { status, body } = await bringByTransport(api_key, ready, { url: livekit.url, token });
  expect([status, body.id]).toEqual([201, grant.session_id]);
  const second = await bringByTransport(api_key, ready, { url: livekit.url, token: `${token}x` });
  expectProblem(second, "validation_failed");
  expect(second.body.errors).toMatchObject([{ pointer: "#/token", code: "not_allowed" }]);
  await release({ session_id: grant.session_id }, key);
});

const refused: [fault: string, changes: object, pointer: string, code: string][] = [
  ["a host that is not allowed", { url: "wss://evil.example" }, "#/url", "unsupported_url"],
  ["a token of a person", { token: roomToken({ kind: "standard" }) }, "#/token", "not_allowed"],
  ["a token that administers", { token: roomToken({ video: { roomAdmin: true } }) }, "#/token", "token_too_powerful"],
  ["another transport", { transport: "webrtc" }, "#/transport", "not_allowed"],
  ["no transport", { transport: undefined }, "#/transport", "required"],
  ["the URL under its earlier name", { livekit_url: ROOM_URL }, "#/livekit_url", "unknown_field"],
];
test.each(refused)(
  "POST /sessions with %s: 422 with the field's name in this form",
  async (_, changes, pointer, code) => {
    const answer = await bringByTransport(one.root.key, one.avatarId, changes);
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toMatchObject([{ pointer, code }]);
  },
);

test("POST /sessions without a key: 401; with a key without the scope: 403; nothing is read", async () => {
  const post = (headers: Record<string, string>) => api.call("POST", BRING_BY_TRANSPORT, { body: "no JSON", headers });
  expectProblem(await post({}), "missing_api_key");
  expectProblem(await post({ "x-api-key": "x" }), "invalid_api_key");
  const { key: reader } = await one.newKey({ scopes: ["avatars:read"] });
  expectProblem(await post({ "x-api-key": reader }), "insufficient_scope");
});
