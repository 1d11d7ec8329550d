/** Starting and ending calls, with a simulated LiveKit and workers that sync. */
import { describe, expect, test } from "bun:test";
import { CallGrant } from "@realtime-avatar/domain/calls/schemas";
import { validate } from "@realtime-avatar/domain/schema";
import { until } from "@realtime-avatar/testing/until";
import { TokenVerifier } from "livekit-server-sdk";
import { startCallApi } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const SECOND = 1_000_000;
const { api, livekit, key, spans, avatar, start, release, session, tenantWith, giveSlots } = await startCallApi();
const ready = await avatar();
await giveSlots(100);

describe("a start", () => {
  test("as the SDK sends it: a grant, a room, a hold, and the token of one person for one room", async () => {
    const longName = "n".repeat(64);
    const answer = await start({
      avatar_id: ready,
      mode: "avatar",
      stt_mode: "server",
      instructions: "Be kind.",
      voice: { provider: "x" },
      recording: "off",
      camera: false,
      max_session_seconds: 600,
      client_metadata: { user_id: "u", [longName]: "x" },
    });
    expect(answer.status).toBe(200);
    const grant = answer.body;
    expect(validate(CallGrant, grant)).toEqual([]);
    expect(grant).toMatchObject({
      status: "ready",
      livekit_url: livekit.url,
      participant_identity: "person",
      stt_mode: "server",
      join_timeout_seconds: 120,
      max_session_seconds: 600,
      // The worker supports the voice.
      ignored: ["instructions"],
    });
    expect(answer.headers.get("etag")).toBeNull();
    expect(answer.headers.get("location")).toBeNull();
    expect(Date.parse(grant.reservation_expires_at) - Date.now()).toBeWithin(60_000, 180_000);
    expect(grant.room_name).toEndWith(`-${grant.session_id}`);
    expect(livekit.rooms()).toContain(grant.room_name);
    const verifier = new TokenVerifier(livekit.apiKey, livekit.apiSecret);
    expect(await verifier.verify(grant.participant_token)).toMatchObject({
      sub: "person",
      video: { room: grant.room_name, roomJoin: true, canPublishSources: ["microphone"] },
    });
    expect(await session(grant.session_id)).toMatchObject({
      status: "reserved",
      avatarId: ready,
      reservedCreditMicros: 600 * SECOND,
      metadata: { user_id: "u", [longName]: "x" },
    });
    expect((await release({ session_id: grant.session_id, reason: "page_hide" })).body).toEqual({ ok: true });
  });

  test("its round trips: the look-up, the write, LiveKit, and the confirmation", async () => {
    await start({ avatar_id: ready });
    spans.length = 0;
    await start({ avatar_id: ready });
    expect(spans).toEqual(["find_credential", "open_call", "livekit_create_room", "confirm_room"]);
  });

  test("an unknown, deleted or foreign avatar, one of the other environment, or a malformed id: 404 in the same bytes", async () => {
    const { avatarId: foreign } = await tenantWith(1000);
    const test = await avatar(await api.key({ environment: "test", scopes: ["*"] }));
    const deleted = await avatar(key, "deleted");
    const bytes = async (avatar_id: string) => {
      const answer = await start({ avatar_id });
      expectProblem(answer, "not_found");
      return JSON.stringify({ ...answer.body, requestId: null });
    };
    const all = await Promise.all(["ava_01h455vb4pex5vsknk084sn02q", deleted, foreign, test, "maria"].map(bytes));
    expect(new Set(all).size).toBe(1);
  });

  test.each(["draft", "preprocessing", "failed", "disabled"])(
    "an avatar that is %s: 409 that names its status",
    async (status) => {
      const answer = await start({ avatar_id: await avatar(key, status) });
      expectProblem(answer, "avatar_not_ready");
      expect(answer.body.detail).toStartWith(`The status of the avatar is \`${status}\`. `);
    },
  );

  test("credits for fewer seconds than requested: as many seconds as fit; for fewer than 60, or than a shorter request: 402", async () => {
    const { root, avatarId } = await tenantWith(100);
    const first = await start({ avatar_id: avatarId }, root.key);
    expect(first.body.max_session_seconds).toBe(100);
    await release({ session_id: first.body.session_id }, root.key);
    await start({ avatar_id: avatarId, max_session_seconds: 41 }, root.key);
    const refused = await start({ avatar_id: avatarId }, root.key);
    expectProblem(refused, "insufficient_credits");
    expect(refused.body.requiredCreditMicros).toBe(60 * SECOND);
    expect((await start({ avatar_id: avatarId, max_session_seconds: 59 }, root.key)).status).toBe(200);
    const none = await start({ avatar_id: avatarId, max_session_seconds: 1 }, root.key);
    expect([none.status, none.body.requiredCreditMicros]).toEqual([402, SECOND]);
  });

  test("a cap of the key or an ancestor below 60 seconds: 402 that names the key of the cap", async () => {
    const { newKey, avatarId } = await tenantWith(1000);
    const parent = await newKey({ spendLimitCreditMicros: 59 * SECOND });
    const child = await newKey({}, parent.record);
    for (const [by, limitedBy] of [
      [parent, "self"],
      [child, "ancestor"],
    ] as const) {
      const answer = await start({ avatar_id: avatarId }, by.key);
      expectProblem(answer, "spend_limit_exceeded");
      expect(answer.body.limitedBy).toBe(limitedBy);
    }
  });

  test("a key at its limit of calls: 429 with the counts, after the look-up and one count, without a write", async () => {
    const { newKey, avatarId } = await tenantWith(10_000);
    const limited = await newKey({ maxConcurrentSessions: 2 });
    const child = await newKey({}, limited.record);
    for (const by of [limited, child]) expect((await start({ avatar_id: avatarId }, by.key)).status).toBe(200);
    spans.length = 0;
    const own = await start({ avatar_id: avatarId }, limited.key);
    expect(spans).toEqual(["find_credential", "count_open_sessions"]);
    expectProblem(own, "concurrency_limit_reached");
    expect(own.body).toMatchObject({
      limitedBy: "self",
      maxConcurrentSessions: 2,
      liveSessions: 2,
      activeSessions: 0,
      connectingSessions: 2,
      pendingSessions: 0,
    });
    spans.length = 0;
    const ofParent = await start({ avatar_id: avatarId }, child.key);
    expect(spans).toEqual(["find_credential"]);
    expect(ofParent.body).toMatchObject({ limitedBy: "ancestor", maxConcurrentSessions: 2 });
    expect(Object.keys(ofParent.body)).not.toContain("liveSessions");
  });

  test("a test key: a call of at most 300 seconds, for test credits", async () => {
    const testKey = await api.key({ environment: "test", scopes: ["*"] });
    const { body } = await start({ avatar_id: await avatar(testKey), max_session_seconds: 1800 }, testKey);
    expect(body.max_session_seconds).toBe(300);
  });

  test("a key without the scope: 403", async () => {
    expectProblem(await start({ avatar_id: ready }, await api.key({ scopes: ["avatars:read"] })), "insufficient_scope");
  });
});

describe("a release", () => {
  test("a call that was never joined: ended at no charge; its room is deleted", async () => {
    const { body } = await start({ avatar_id: ready });
    expect((await release({ session_id: body.session_id })).body).toEqual({ ok: true });
    expect(await session(body.session_id)).toMatchObject({ status: "failed", billedCreditMicros: 0 });
    await until(() => !livekit.rooms().includes(body.room_name));
  });

  test("a call of a descendant: ended; of an ancestor or another tenant, unknown or ended: 200 without a change", async () => {
    const { newKey, root, avatarId } = await tenantWith(10_000);
    const child = await newKey({}, root.record);
    const { key: foreign } = await tenantWith(1).then(({ root }) => root);
    const ofRoot = (await start({ avatar_id: avatarId }, root.key)).body.session_id;
    const ofChild = (await start({ avatar_id: avatarId }, child.key)).body.session_id;
    for (const [id, by] of [
      [ofRoot, child.key],
      [ofRoot, foreign],
      ["ses_01h455vb4pex5vsknk084sn02q", root.key],
      ["nonsense", root.key],
      [ofRoot.toUpperCase(), root.key],
    ]) {
      const answer = await release({ session_id: id }, by);
      expect([answer.status, answer.text]).toEqual([200, '{"ok":true}']);
    }
    expect((await session(ofRoot, root.key)).status).toBe("reserved");
    await release({ session_id: ofChild }, root.key);
    const ended = await session(ofChild, root.key);
    expect(ended.status).toBe("failed");
    await release({ session_id: ofChild, reason: "manual" }, root.key);
    expect(await session(ofChild, root.key)).toEqual(ended);
  });

  test("sent again with its Idempotency-Key: replayed", async () => {
    const { body } = await start({ avatar_id: ready });
    const headers = { "idempotency-key": "released" };
    const first = await release({ session_id: body.session_id }, key, headers);
    const again = await release({ session_id: body.session_id }, key, headers);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  });

  test("its round trips: the look-up and the write", async () => {
    const { body } = await start({ avatar_id: ready });
    spans.length = 0;
    await release({ session_id: body.session_id });
    expect(spans).toEqual(["find_credential", "release_call"]);
  });
});
