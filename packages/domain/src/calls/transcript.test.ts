import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { newId } from "../id.ts";
import { validate } from "../schema.ts";
import {
  type TranscribedCall,
  TranscriptReport,
  type TranscriptSegment,
  transcriptBody,
  transcriptHeaders,
  transcriptSeals,
  transcriptUrlErrors,
} from "./transcript.ts";

const random = seededBytes("transcripts");
const now = new Date("2026-11-20T12:00:00.000Z");
const [sessionId, other] = [newId("ses", now, random), newId("ses", now, random)];
const KEY = new Uint8Array(32).fill(7);
const RECEIVER = { url: "https://example.com/t?k=1", secret: "sixteen characters" };
const TYPED: TranscriptSegment = {
  ...{ role: "user", text: "Hello", ts: 1_795_000_000_000, turn_id: "t-1" },
  input_provenance: {
    ...{ version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" },
    declared_source: "client_stt",
  },
};

describe("the parts of a transcript", () => {
  const seals = transcriptSeals(KEY, sessionId);

  test("sealed and opened: unchanged; the sealed bytes show no text", () => {
    const receiver = seals.sealReceiver(RECEIVER, random);
    const segment = seals.sealSegment(TYPED, random);
    expect(seals.openReceiver(receiver)).toEqual(RECEIVER);
    expect(seals.openSegment(segment)).toEqual(TYPED);
    expect(Buffer.from(receiver).toString("latin1")).not.toContain("example.com");
    expect(Buffer.from(segment).toString("latin1")).not.toContain("Hello");
    expect(seals.sealSegment(TYPED, random)).not.toEqual(segment);
  });

  test("opened for another call, with another key, as another part, or changed: null", () => {
    const sealed = seals.sealReceiver(RECEIVER, random);
    expect(transcriptSeals(KEY, other).openReceiver(sealed)).toBeNull();
    expect(transcriptSeals(new Uint8Array(32), sessionId).openReceiver(sealed)).toBeNull();
    expect(seals.openSegment(sealed)).toBeNull();
    const changed = Uint8Array.from(sealed);
    changed[20] = (changed[20] ?? 0) ^ 1;
    expect(seals.openReceiver(changed)).toBeNull();
    expect(seals.openReceiver(sealed.subarray(0, 28))).toBeNull();
  });
});

describe("the body and its signature", () => {
  const call: TranscribedCall = {
    ...{ sessionId, avatarId: "ava_1", mode: "voice", metadata: { user_id: "ada" }, isTruncated: false },
    ...{ startedAt: now, endedAt: new Date(now.getTime() + 8001), segments: [{ ...TYPED, ts: now.getTime() + 1 }] },
  };

  test("of a call with tool calls: the words of both sides alone", () => {
    const tool_calls = [{ id: "a", name: "order", args: "{}", result: "On its way." }];
    const segments = [TYPED, { role: "assistant", text: "", ts: 2, tool_calls } as const];
    expect(JSON.parse(transcriptBody({ ...call, segments })).segments).toHaveLength(1);
    expect(transcriptBody({ ...call, segments })).not.toContain("order");
  });

  test("of a call: the fields of the published SDK, with the source that the client states", () => {
    expect(JSON.parse(transcriptBody(call))).toEqual({
      ...{ type: "session.transcript", session_id: sessionId, avatar_id: "ava_1", mode: "voice" },
      ...{ started_at: now.getTime(), ended_at: now.getTime() + 8001, seconds: 9, truncated: false },
      segments: [{ ...TYPED, ts: now.getTime() + 1, input_source: "client_stt" }],
      client_metadata: { user_id: "ada" },
    });
  });

  test("of a call with words from before its recorded start: `started_at` is the time of the first words", () => {
    const ts = now.getTime() - 23;
    const body = JSON.parse(transcriptBody({ ...call, segments: [{ ...TYPED, ts }] }));
    expect([body.started_at, body.segments[0].ts]).toEqual([ts, ts]);
  });

  test("signed: HMAC-SHA-256 over the seconds and the body", () => {
    const headers = transcriptHeaders("{}", "sixteen characters", new Date(1_795_000_000_999));
    const signature = createHmac("sha256", "sixteen characters").update("1795000000.{}").digest("hex");
    expect(headers).toEqual({ "x-rta-timestamp": "1795000000", "x-rta-signature": `v1=${signature}` });
  });
});

test.each([
  ["https://example.com/t", false, []],
  ["https://example.com:8443/t", false, []],
  ["http://example.com/t", false, ["unsupported_url"]],
  ["https://127.0.0.1/t", false, ["unsupported_url"]],
  ["https://2130706433/t", false, ["unsupported_url"]],
  ["https://169.254.169.254/latest", false, ["unsupported_url"]],
  ["https://[::1]/t", false, ["unsupported_url"]],
  ["https://localhost/t", false, ["unsupported_url"]],
  ["https://metadata.google.internal/", false, ["unsupported_url"]],
  ["https://user:password@example.com/", false, ["unsupported_url"]],
  ["https://example.com:22/", false, ["unsupported_url"]],
  ["file:///etc/passwd", false, ["unsupported_url"]],
  ["http://127.0.0.1:3000/t", true, []],
  ["http://169.254.169.254/t", true, ["unsupported_url"]],
])("the URL %s, http on localhost allowed: %p: %j", (url, allowHttpLocalhost, codes) => {
  const errors = transcriptUrlErrors({ url, secret: "sixteen characters" }, allowHttpLocalhost);
  expect(errors.map(({ code }) => code)).toEqual(codes as never);
  for (const { pointer } of errors) expect(pointer).toBe("#/transcript_webhook/url");
});

test.each([
  [{ segments: [TYPED, { role: "assistant", text: "Hi", ts: 1, interrupted: true, timings: { llm: 200 } }] }, []],
  [{ segments: Array(65).fill(TYPED) }, ["#/segments"]],
  [{ segments: [{ ...TYPED, text: "", tool_calls: [{ id: "a", name: "order", args: "{}" }] }] }, []],
  [{ segments: [{ ...TYPED, text: "", tool_calls: [] }] }, ["#/segments/0/tool_calls"]],
  [{ segments: [{ ...TYPED, text: "x".repeat(8001) }] }, ["#/segments/0/text"]],
  [{ segments: [{ ...TYPED, role: "system" }] }, ["#/segments/0/role"]],
  [{ segments: [{ ...TYPED, timings: { x: "y".repeat(2048) } }] }, ["#/segments/0/timings"]],
  [{ first: -1, generation: 0 }, ["#/generation", "#/first"]],
])("a report, case %#: its errors are %j", (changes, pointers) => {
  const report = { generation: 1, first: 0, segments: [], is_complete: false, ...changes };
  expect(validate(TranscriptReport, report).map(({ pointer }) => pointer)).toEqual(pointers as string[]);
});
