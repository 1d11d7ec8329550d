import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { newId } from "../id.ts";
import type { Problem } from "../problem.ts";
import type { FieldErrorCode } from "../problems/field-error-codes.ts";
import { validate } from "../schema.ts";
import { CallGrant, PlannedGrant, ReleaseCall, StartCall } from "./schemas.ts";
import { plannedCall, presentGranted, presentPlannedGrant, recordingErrors, releaseTarget } from "./start.ts";

const random = seededBytes("calls");
const now = new Date("2026-11-20T12:00:00.000Z");
const avatar_id = newId("ava", now, random);
const terms = { priceCreditMicrosPerSecond: 1_000_000, instance: "k3j9" };
const plan = (request: Partial<StartCall>, environment: "live" | "test" = "live") =>
  plannedCall({ avatar_id, ...request }, terms, { environment, now, random });
const errorsOf = (request: object) =>
  validate(StartCall, { avatar_id, ...request }).map(({ pointer, code }) => `${pointer} ${code}`);

describe("the request to start a call", () => {
  test("as the SDK sends it, with all that a caller can set: valid", () => {
    const request = {
      mode: "avatar",
      stt_mode: "server",
      instructions: "Be kind.",
      initial_context: [{ role: "user", content: "Hello" }],
      max_session_seconds: 1800,
      voice: { provider: "cartesia", voice_id: "v" },
      client_metadata: { user_id: "u" },
      transcription: { language_codes: ["en"], custom_vocabulary: ["Ada"] },
      capabilities: ["client_tools"],
      queue_ticket_id: "tkt_1",
    };
    expect(errorsOf(request)).toEqual([]);
    expect(errorsOf({})).toEqual([]);
  });

  test.each([
    [{ max_session_seconds: 0 }, ["#/max_session_seconds out_of_range"]],
    [{ max_session_seconds: 86_401 }, ["#/max_session_seconds out_of_range"]],
    [{ mode: "video", avatar_id: 5 }, ["#/avatar_id wrong_type", "#/mode not_allowed"]],
    [{ instructions: "x".repeat(8001) }, ["#/instructions too_long"]],
    [{ initial_context: Array(33).fill({ role: "user", content: "x" }) }, ["#/initial_context too_many"]],
    [
      { client_metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`n${n}`, ""])) },
      ["#/client_metadata too_many"],
    ],
    [{ client_metadata: { a: "x".repeat(201) } }, ["#/client_metadata/a too_long"]],
    [{ roomName: "x" }, ["#/roomName unknown_field"]],
    [{ recording: "picture" }, ["#/recording not_allowed"]],
    [{ recording: "participants" }, []],
    [
      { transcript_webhook: true, camera: true, connection_history: "yes" },
      ["#/transcript_webhook wrong_type", "#/connection_history wrong_type", "#/camera not_supported"],
    ],
    [{ transcript_webhook: { url: "https://example.com", secret: "x".repeat(16) } }, []],
    [
      { transcript_webhook: { url: `https://${"x".repeat(493)}`, secret: "x".repeat(15), retries: 3 } },
      [
        "#/transcript_webhook/url too_long",
        "#/transcript_webhook/secret too_short",
        "#/transcript_webhook/retries unknown_field",
      ],
    ],
    [
      { transcript_webhook: { secret: "x".repeat(201) } },
      ["#/transcript_webhook/url required", "#/transcript_webhook/secret too_long"],
    ],
    [
      { render_backend: "generative", support_edits: {} },
      ["#/render_backend not_supported", "#/support_edits not_supported"],
    ],
    [{ recording: "off", camera: false, connection_history: false }, []],
    [{ connection_history: true }, []],
    [{ connection_history: "off" }, []],
    [{ transcript_webhook: "off", render_backend: "off", support_edits: false }, []],
    [{ transcript_webhook: false, render_backend: false, support_edits: "off" }, []],
  ])("a start, %j: %j", (request, errors) => expect(errorsOf(request)).toEqual(errors));
});

describe("a start that is recorded", () => {
  test.each([
    [{ recording: "video" }, ["not_supported"]],
    [{ recording: "audio", stt_mode: "off" }, ["not_supported"]],
    [{ recording: "off", stt_mode: "off" }, []],
    [{ recording: "audio" }, []],
  ] as const)("%j: %j", (request, codes) =>
    expect(recordingErrors(request).map(({ code }) => code)).toEqual([...codes]),
  );

  test.each([
    ["audio", "avatar", [["audio", null]]],
    ["audio_video", "avatar", [["audio_video", null]]],
    ["audio_video", "voice", [["audio", null]]],
    [
      "participants",
      "avatar",
      [
        ["audio", "user"],
        ["audio_video", "avatar"],
      ],
    ],
    [
      "participants",
      "voice",
      [
        ["audio", "user"],
        ["audio", "avatar"],
      ],
    ],
  ] as const)("%s of a call of %s: its files", (recording, mode, files) => {
    const planned = plan({ recording, mode });
    expect(planned.recording?.files.map((file) => [file.mode, file.role])).toEqual(files as never);
    const grant = presentPlannedGrant(planned, {
      livekitUrl: "ws://x",
      token: "x",
      retentionDays: 30,
      connectionHistory: null,
    });
    expect(grant.recording_mode).toBe(recording);
    expect(grant.recordings).toHaveLength(files.length);
    expect(grant.recording).toEqual(files.length === 1 ? grant.recordings?.[0] : undefined);
    expect(grant.recordings?.[0]).toMatchObject({ sessionId: planned.session.id, status: "pending" });
  });

  test("a call that is not recorded: no field of recordings in the grant", () => {
    const planned = plan({ recording: "off" });
    expect(planned.recording).toBeNull();
    const grant = presentPlannedGrant(planned, {
      livekitUrl: "ws://x",
      token: "x",
      retentionDays: 30,
      connectionHistory: null,
    });
    expect(Object.keys(grant).filter((name) => name.startsWith("recording"))).toEqual([]);
  });
});

describe("a planned call", () => {
  test.each([
    ["live", undefined, 1800, 60],
    ["live", 90, 90, 60],
    ["live", 10, 10, 10],
    ["test", undefined, 300, 60],
    ["test", 1800, 300, 60],
    ["test", 60, 60, 60],
  ] as const)("%s, %p seconds requested: at most %d and at least %d", (environment, asked, maxSeconds, minSeconds) => {
    const { session } = plan({ ...(asked !== undefined && { max_session_seconds: asked }) }, environment);
    expect(session).toMatchObject({ maxSeconds, minSeconds, startSeconds: 120, price: 1_000_000 });
  });

  test("a text that is not the id of an avatar: 404", () => {
    expect(() => plan({ avatar_id: "maria" })).toThrow("not_found");
  });

  test("a forced outcome: only for a test key, and only a known one", () => {
    const client_metadata = { test_outcome: "queued" };
    expect(plan({ client_metadata }, "test").testOutcome).toBe("queued");
    expect(plan({ client_metadata }).testOutcome).toBeNull();
    expect(plan({ client_metadata: { test_outcome: "toString" } }, "test").testOutcome).toBeNull();
  });

  test("its grant: valid, for the room of the session, with the fields that the renderer ignores", () => {
    const request = { instructions: "x", voice: {}, stt_mode: "off" as const };
    const planned = plan(request);
    const known = presentPlannedGrant(planned, {
      livekitUrl: "wss://x",
      token: "t",
      retentionDays: 30,
      connectionHistory: null,
    });
    const expiresAt = "2026-11-20T12:02:00.000Z";
    const granted = { reservedCreditMicros: 600_000_000, expiresAt, features: ["voice"] };
    const grant = { ...known, ...presentGranted(request, granted, { price: 1_000_000, hasAgent: false }) };
    expect(validate(CallGrant, grant)).toEqual([]);
    expect(validate(PlannedGrant, known)).toEqual([]);
    expect(grant).toMatchObject({
      room_name: `rta-k3j9-${planned.session.id}`,
      max_session_seconds: 600,
      reservation_expires_at: expiresAt,
      stt_mode: "off",
      ignored: ["instructions"],
    });
  });
});

describe("the request to release a call", () => {
  test("names a session or a ticket: its target", () => {
    expect(validate(ReleaseCall, { session_id: "ses_1", reason: "page_hide", capacity_pool: "x" })).toEqual([]);
    expect(releaseTarget({ session_id: "ses_1" })).toEqual({ kind: "session", id: "ses_1" });
    expect(releaseTarget({ queue_ticket_id: "tkt_1" })).toEqual({ kind: "ticket", id: "tkt_1" });
  });

  test.each([
    [{}, "required"],
    [{ session_id: "ses_1", queue_ticket_id: "tkt_1" }, "not_allowed"],
  ])("%j: 422", (request, code) => {
    try {
      releaseTarget(request);
      expect.unreachable();
    } catch (error) {
      expect((error as Problem).extras.errors?.map((failure) => failure.code)).toEqual([code as FieldErrorCode]);
    }
  });
});
