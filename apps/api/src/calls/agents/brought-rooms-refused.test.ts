/** Refused brought rooms: because of URLs, tokens or credentials, or for reasons that apply to any call. */
import { expect, test } from "bun:test";
import { personToken } from "@realtime-avatar/domain/calls/room";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { Secret } from "@realtime-avatar/storage/secret";
import { callAnew } from "../../../test/support/api.ts";
import { BRING, bringTo, roomClaims, roomToken } from "../../../test/support/calls/brought.ts";
import { callOptions, startCallApi } from "../../../test/support/calls/calls.ts";
import { expectProblem } from "../../../test/support/routes.ts";

const { api, livekit, avatar, tenantWith, release, giveSlots, takeSlots } = await startCallApi();
const { db } = api.database;
const bring = bringTo(api.call);
const one = await tenantWith(1_000_000);
const { key } = one.root;
await giveSlots(10, "wrk_many");

const own = new URL(livekit.url);
const urls = [
  ...["https://project.livekit.cloud", "ws://project.livekit.cloud", "wss://livekit.cloud", "wss://evil.example"],
  ...["wss://project.livekit.cloud.evil.example", "wss://evil.example/.livekit.cloud", "wss://xlivekit.cloud"],
  ...["wss://user@project.livekit.cloud", "wss://a:b@project.livekit.cloud", "wss://evil.example#.livekit.cloud"],
  ...["wss://project.livekit.cloud/rtc", "wss://project.livekit.cloud/../x", "wss://project.livekit.cloud?x=1"],
  ...["wss://project.livekit.cloud:8443", "wss://project.livekit.cloud.", "wss://evil.example\\.livekit.cloud"],
  ...[
    "wss://127.0.0.1",
    "wss://2130706433",
    "wss://0x7f.1",
    "wss://0177.0.0.1",
    "wss://[::1]",
    "wss://[::ffff:127.0.0.1]",
  ],
  ...["wss://169.254.169.254", "wss://10.0.0.1", "wss://192.168.1.1", "wss://[fd00::1]", "wss://[fe80::1]", "wss://0"],
  ...["wss://localhost", "ws://localhost:7880", "ws://127.0.0.1:1", `ws://127.0.0.1:${Number(own.port) + 1}`],
  ...["wss://metadata.google.internal", "wss://%31%32%37.0.0.1", "wss://①②⑦.0.0.1", "wss://project.livekit。cloud"],
  ...[
    "wss:project.livekit.cloud",
    "//project.livekit.cloud",
    " wss://project.livekit.cloud",
    "wss://project.livekit.cloud\n",
  ],
  ...["wss://project.livekit.cloud@evil.example", "wss://evil.example%00.livekit.cloud", "javascript:x", "wss://"],
];
test.each(urls)("the URL %j: 422", async (livekit_url) => {
  const answer = await bring(key, one.avatarId, { livekit_url });
  expectProblem(answer, "validation_failed");
  expect(answer.body.errors).toMatchObject([{ pointer: "#/livekit_url", code: "unsupported_url" }]);
});

const claims = roomClaims();
const { video, attributes } = claims;
const later = Math.floor(Date.now() / 1000) + 3600;
const tokens: [fault: string, changes: object, detail: string][] = [
  ["expired", { exp: Math.floor(Date.now() / 1000) - 1 }, "`exp`"],
  ["valid for half a minute", { exp: Math.floor(Date.now() / 1000) + 30 }, "`exp`"],
  ["without an expiry", { exp: undefined }, "`exp`"],
  ["whose expiry is a text", { exp: "9999999999" }, "`exp`"],
  ["not valid yet", { nbf: later }, "`nbf`"],
  ["without a room", { video: { ...video, room: undefined } }, "`video.room`"],
  ["with an empty room", { video: { ...video, room: "" } }, "`video.room`"],
  ["with a room that is a list", { video: { ...video, room: ["x"] } }, "`video.room`"],
  ["with a room that cannot be stored", { video: { ...video, room: "x\u0000" } }, "`video.room`"],
  ["that may not join", { video: { room: "x" } }, "`video.roomJoin`"],
  ["whose right to join is a text", { video: { ...video, roomJoin: "true" } }, "`video.roomJoin`"],
  ["of a person", { kind: "standard" }, "`kind`"],
  ["without a kind", { kind: undefined }, "`kind`"],
  ["without an identity", { sub: undefined }, "`sub`"],
  ["with an identity that is too long", { sub: "x".repeat(513) }, "`sub`"],
  ["without an agent", { attributes: undefined }, "lk.publish_on_behalf"],
  ["of an agent that names itself as its agent", { sub: "agent-AJ_x" }, "lk.publish_on_behalf"],
  ["with an agent that is an object", { attributes: { "lk.publish_on_behalf": {} } }, "lk.publish_on_behalf"],
  ["with attributes that are a list", { attributes: [attributes] }, "lk.publish_on_behalf"],
  ["that may not publish", { video: { ...video, canPublish: false } }, "`video.canPublish`"],
  ["that may send no data", { video: { ...video, canPublishData: false } }, "`video.canPublish`"],
  [
    "that may publish a microphone alone",
    { video: { ...video, canPublishSources: ["microphone"] } },
    "`video.canPublish`",
  ],
  ["whose kind is in a prototype", { kind: undefined, ["__proto__"]: { kind: "agent" } }, "`kind`"],
];
test.each(tokens)("a token %s: 422 that names the token", async (_, changes, detail) => {
  const answer = await bring(key, one.avatarId, { livekit_token: roomToken(changes) });
  expectProblem(answer, "validation_failed");
  expect(answer.body.errors.map((error: Record<string, string>) => error["pointer"])).toEqual(["#/livekit_token"]);
  expect(answer.body.errors[0].detail).toContain(detail);
});

const encoded = (text: string | Uint8Array): string => Buffer.from(text).toString("base64url");
const deep = (levels: number): string => `x.${encoded("[".repeat(levels) + "]".repeat(levels))}.x`;
const unreadable = [
  ...["x", "a.b", "a.b.c.d", "..", `x.${encoded("null")}.x`, `x.${encoded("[]")}.x`, `x.${encoded('"x"')}.x`],
  ...[`x.${encoded("{")}.x`, `x.${encoded(Uint8Array.of(0xff, 0xfe))}.x`, deep(1000), "é.é.é", "x. .x"],
  `x.${encoded('{"__proto__": {"kind": "agent", "video": {"roomJoin": true, "room": "x"}}}')}.x`,
];
test.each(unreadable)("the text %j as a token: 422", async (livekit_token) => {
  const answer = await bring(key, one.avatarId, { livekit_token });
  expectProblem(answer, "validation_failed");
  expect(JSON.stringify(answer.body)).not.toContain("roomJoin\\");
});

test("a token of 10 MB, of more than 4,096 characters, of another type, and unknown fields: 413 and 422", async () => {
  expectProblem(await bring(key, one.avatarId, { livekit_token: "x".repeat(10_000_000) }), "body_too_large");
  for (const livekit_token of [roomToken({ name: "x".repeat(4000) }), "", 5, null, ["x"], {}]) {
    expectProblem(await bring(key, one.avatarId, { livekit_token }), "validation_failed");
  }
  expectProblem(await bring(key, one.avatarId, { session_id: "x" }), "validation_failed");
});

const powers = ["roomAdmin", "roomCreate", "roomList", "roomRecord", "ingressAdmin", "agent"];
test.each(powers)(
  "a token with %s: 422 with only token_too_powerful, even if the token has other errors",
  async (power) => {
    for (const granted of [true, "true", 1, {}]) {
      const livekit_token = roomToken({ kind: "standard", video: { ...video, [power]: granted } });
      const answer = await bring(key, one.avatarId, { livekit_token });
      expectProblem(answer, "validation_failed");
      expect(answer.body.errors).toEqual([
        { pointer: "#/livekit_token", code: "token_too_powerful", detail: expect.stringContaining(power) },
      ]);
    }
    const without = await bring(key, one.avatarId, {
      livekit_token: roomToken({ video: { ...video, [power]: false } }),
    });
    expect(without.status).toBe(201);
    await release({ session_id: without.body.id }, key);
  },
);

test("a token for telephony: 422 token_too_powerful", async () => {
  const { status, body } = await bring(key, one.avatarId, { livekit_token: roomToken({ sip: { admin: true } }) });
  expect([status, body.errors[0].code]).toEqual([422, "token_too_powerful"]);
});

test("a room of a call of this service, and the tokens of its calls: 422", async () => {
  const [{ instance } = { instance: "" }] = await db.client`select instance from fleet.service`;
  const room = `rta-${instance}-ses_01h455vb4pex5vsknk084sn02q`;
  const livekit_token = roomToken({ video: { ...video, room } });
  for (const livekit_url of [livekit.url, livekit.url.replace("127.0.0.1", "localhost")]) {
    expectProblem(await bring(key, one.avatarId, { livekit_url, livekit_token }), "validation_failed");
  }
  const config = { ...livekit, apiSecret: new Secret(livekit.apiSecret) };
  const ofPerson = await mintToken(config, personToken(room));
  expectProblem(
    await bring(key, one.avatarId, { livekit_url: livekit.url, livekit_token: ofPerson }),
    "validation_failed",
  );
  // Another room on the LiveKit server of the service is allowed like any other.
  const { status, body } = await bring(key, one.avatarId, { livekit_url: livekit.url });
  expect(status).toBe(201);
  await release({ session_id: body.id }, key);
});

test("no key, a wrong key, or a key in another header: 401; no scope: 403; nothing is read", async () => {
  const sessions = async () => (await db.client`select from usage_sessions`).length;
  const before = await sessions();
  const post = (headers: Record<string, string>) => api.call("POST", BRING, { body: "no JSON", headers });
  expectProblem(await post({}), "missing_api_key");
  expectProblem(await post({ authorization: `Bearer ${key}` }), "missing_api_key");
  expectProblem(await post({ cookie: "rta_session=x" }), "missing_api_key");
  for (const wrong of ["", "x", `Bearer ${key}`, `${key}x`, key.slice(0, -1), `rta_live_${"x".repeat(40)}`]) {
    expectProblem(await post({ "x-api-key": wrong }), "invalid_api_key");
  }
  const { record, key: revoked } = await one.newKey();
  await api.call("DELETE", `/api/v1/api-keys/${record.id}`, { key });
  expectProblem(await post({ "x-api-key": revoked }), "revoked_api_key");
  const { key: reader } = await one.newKey({ scopes: ["avatars:read"] });
  expectProblem(await post({ "x-api-key": reader }), "insufficient_scope");
  // Only this route accepts the header.
  expectProblem(await api.call("GET", "/api/v1/avatars", { headers: { "x-api-key": key } }), "missing_api_key");
  expect(await sessions()).toBe(before);
});

test("an avatar that is not ready, unknown or of another tenant, or too little cap or balance: refused as for other calls", async () => {
  const notReady = await bring(key, await avatar(key, "draft"));
  expectProblem(notReady, "avatar_not_ready");
  expect(notReady.body.detail).toStartWith("The status of the avatar is `draft`. ");
  const other = await tenantWith(30);
  for (const id of ["x", "ava_01h455vb4pex5vsknk084sn02q", other.avatarId]) {
    expectProblem(await bring(key, id), "not_found");
  }
  expectProblem(await bring(other.root.key, other.avatarId), "insufficient_credits");
  const { key: capped } = await one.newKey({ spendLimitCreditMicros: 1_000_000 });
  expectProblem(await bring(capped, one.avatarId), "spend_limit_exceeded");
  const { key: ofTest } = await one.newKey({ environment: "test" });
  expectProblem(await bring(ofTest, one.avatarId), "not_found");
});

test("no free slot: 429, retryable; the same token keeps its place, and gets the next slot", async () => {
  await takeSlots();
  const token = roomToken();
  const first = await bring(key, one.avatarId, { livekit_token: token });
  expectProblem(first, "rate_limited");
  expect([first.headers.get("retry-after"), first.body.retryable]).toEqual(["2", true]);
  await db.client`update call_tickets set polled_at = polled_at - interval '2 seconds'`;
  expectProblem(await bring(key, one.avatarId, { livekit_token: token }), "rate_limited");
  expect(await db.client`select from call_tickets where tenant_id = ${one.tenantId}`).toHaveLength(1);
  await db.client`update call_tickets set polled_at = polled_at - interval '2 seconds'`;
  await giveSlots(1, "wrk_z");
  // Later requests wait for their turn.
  expectProblem(await bring(key, one.avatarId), "rate_limited");
  const { status, body } = await bring(key, one.avatarId, { livekit_token: token });
  expect(status).toBe(201);
  await release({ session_id: body.id }, key);
  await db.client`delete from call_tickets`;
});

test("a service without LiveKit: 501", async () => {
  const { config } = callOptions(livekit);
  const without = bringTo(callAnew(db, { config: { ...config, livekit: null } }));
  expectProblem(await without(key, one.avatarId), "realtime_not_configured");
});

test("requests above the rate, from keys of one lineage together: 429", async () => {
  const { config } = callOptions(livekit);
  const limited = bringTo(callAnew(db, { config: { ...config, rateLimit: { perSecond: 1, burst: 0 } } }));
  const answers = await Promise.all(Array.from({ length: 5 }, () => limited(key, "x")));
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(3);
  for (const { status, body } of answers) if (status === 429) expect(body.code).toBe("rate_limited");
});
