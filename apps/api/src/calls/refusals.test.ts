/** Calls that are refused before a write, and the operator's internal routes without credentials. */
import { describe, expect, test } from "bun:test";
import { personToken } from "@realtime-avatar/domain/calls/room";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { Secret } from "@realtime-avatar/storage/secret";
import { callAnew, rowCounts } from "../../test/support/api.ts";
import { callOptions, EVENTS, START, signEvent, startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, livekit, key, spans, start, release, sync, sendEvent } = await startCallApi();
const SYNC = "/internal/avatar-workers/wrk_1/sync";
const FILE = `/internal/avatar-workers/wrk_1/calls/ses_01h455vb4pex5vsknk084sn02q/files/1/${"a".repeat(64)}-webp`;

describe("a call that cannot be started", () => {
  test.each([
    [{}, ["#/avatar_id required"]],
    [{ avatar_id: "ava_x", roomName: "x" }, ["#/roomName unknown_field"]],
    [{ avatar_id: "ava_x", max_session_seconds: 0 }, ["#/max_session_seconds out_of_range"]],
    [{ avatar_id: "ava_x", max_session_seconds: 86_401 }, ["#/max_session_seconds out_of_range"]],
    [
      {
        avatar_id: 5,
        mode: "video",
        client_metadata: Object.fromEntries([..."abcdefghijklmnopq"].map((n) => [n, ""])),
      },
      ["#/avatar_id wrong_type", "#/mode not_allowed", "#/client_metadata too_many"],
    ],
    [
      {
        avatar_id: "ava_x",
        recording: "picture",
        transcript_webhook: { url: "https://example.com" },
        camera: true,
        connection_history: "on",
        render_backend: "generative",
      },
      [
        "#/recording not_allowed",
        "#/transcript_webhook/secret required",
        "#/connection_history wrong_type",
        "#/camera not_supported",
        "#/render_backend not_supported",
      ],
    ],
  ])("%j: 422 with all errors, and no write", async (body, expected) => {
    const before = await rowCounts(api.database);
    const answer = await start(body);
    expectProblem(answer, "validation_failed");
    const errors = answer.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
    expect(errors).toEqual(expected);
    expect(await rowCounts(api.database)).toEqual(before);
  });

  const { config } = callOptions(livekit);
  test.each([
    ["LiveKit", { ...config, livekit: null }],
    ["the secret of avatar workers", { ...config, avatarWorkerSecret: null }],
  ])("without %s: 501 for a start, and for the internal routes", async (_, given) => {
    const call = callAnew(api.database.db, { config: given });
    const answer = await call("POST", START, { key, body: { avatar_id: "ava_x" } });
    expectProblem(answer, "realtime_not_configured");
    expect([answer.body.retryable, answer.headers.get("retry-after")]).toEqual([false, null]);
    expectProblem(await call("POST", START, { key, body: {} }), "validation_failed");
    expectProblem(await call("POST", SYNC, { body: {} }), "realtime_not_configured");
    expectProblem(await call("POST", EVENTS, { body: {} }), "realtime_not_configured");
  });

  test("a release without an id, or with two: 422", async () => {
    for (const body of [{}, { session_id: "ses_1", queue_ticket_id: "tkt_1" }, { reason: "manual" }]) {
      expectProblem(await release(body), "validation_failed");
    }
    expectProblem(await release({ session_id: "ses_1", reason: "tired" }), "validation_failed");
  });
});

describe("an avatar worker", () => {
  const credentials: [string, Record<string, string>][] = [
    ["no credentials", {}],
    ["an empty header", { authorization: "" }],
    ["another scheme", { authorization: `Basic ${WORKER_SECRET}` }],
    ["the secret without a scheme", { authorization: WORKER_SECRET }],
    ["another secret", { authorization: `Bearer ${WORKER_SECRET}x` }],
    ["the start of the secret", { authorization: `Bearer ${WORKER_SECRET.slice(0, -1)}` }],
    ["an API key", { authorization: `Bearer ${key}` }],
  ];
  test.each(credentials)("with %s: 401 without a look-up or a read", async (_, headers) => {
    spans.length = 0;
    for (const [method, path] of [
      ["POST", SYNC],
      ["POST", "/internal/avatar-workers/a.b/sync"],
      ["GET", FILE],
    ] as const) {
      const answer = await api.call(method, path, { headers, ...(method === "POST" && { body: "no JSON" }) });
      expectProblem(answer, "invalid_credentials");
      expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
    }
    expect(spans).toEqual([]);
    expect(await api.database.db.client`select * from fleet.avatar_workers`).toHaveLength(0);
  });

  test("with the secret: 422 for a malformed message, 404 for a malformed id, 413 for a long message", async () => {
    expectProblem(await sync("wrk_1", { slots: 1001 }), "validation_failed");
    expectProblem(await sync("a.b", {}), "not_found");
    const headers = { authorization: `Bearer ${WORKER_SECRET}` };
    expectProblem(
      await api.call("POST", SYNC, { headers, body: `"${"x".repeat(2 * 1024 * 1024)}"` }),
      "body_too_large",
    );
    expectProblem(
      await api.call("POST", SYNC, { headers: { ...headers, "content-type": "text/plain" }, body: "x" }),
      "unsupported_media_type",
    );
  });
});

describe("an event of LiveKit", () => {
  const event = { event: "room_finished", room: { name: "rta-x" } };
  const headers = { "content-type": "application/webhook+json" };

  test("without a signature, or with a wrong one: 401 without a look-up", async () => {
    spans.length = 0;
    livekit.requests.length = 0;
    const body = JSON.stringify(event);
    for (const more of [{}, { authorization: "" }, { authorization: "x" }, { authorization: `Bearer ${key}` }]) {
      expectProblem(await api.call("POST", EVENTS, { body, headers: { ...headers, ...more } }), "invalid_credentials");
    }
    const { apiKey } = livekit;
    expectProblem(await sendEvent(event, { apiKey, apiSecret: "x".repeat(32) }), "invalid_credentials");
    await Bun.sleep(700);
    expect([spans, livekit.requests]).toEqual([[], []]);
  });

  const tooLong = "x".repeat(64 * 1024 + 1);

  test("of another media type: 415; of more than 64 KiB: 413", async () => {
    const authorization = await signEvent("", livekit);
    const other = { headers: { authorization }, body: event };
    expectProblem(await api.call("POST", EVENTS, other), "unsupported_media_type");
    const long = { headers: { ...headers, authorization }, body: tooLong };
    expectProblem(await api.call("POST", EVENTS, long), "body_too_large");
  });

  test("without a token signed with our secret: 401 for any body", async () => {
    const other = { apiKey: livekit.apiKey, apiSecret: "x".repeat(32) };
    const ofPerson = await mintToken({ ...livekit, apiSecret: new Secret(livekit.apiSecret) }, personToken("rta-x"));
    for (const authorization of ["x", await signEvent(tooLong, other), ofPerson]) {
      const long = { headers: { ...headers, authorization }, body: tooLong };
      expectProblem(await api.call("POST", EVENTS, long), "invalid_credentials");
    }
  });

  test("of a foreign room, or without a room: 200 without a request to LiveKit", async () => {
    livekit.requests.length = 0;
    for (const other of [event, { event: "egress_ended" }, { room: { name: "theirs" } }]) {
      expect((await sendEvent(other)).status).toBe(200);
    }
    expect(livekit.requests).toEqual([]);
  });
});
