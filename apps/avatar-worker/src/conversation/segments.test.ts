import { describe, expect, test } from "bun:test";
import {
  MAX_TOOL_CALLS,
  MAX_TOOL_SEGMENT_BYTES,
  TranscriptSegment as Segment,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import { isValid, validate } from "@realtime-avatar/domain/schema";
import type { ToolCall } from "./providers/tool-calls.ts";
import { createSegments } from "./segments.ts";
import type { Transcript } from "./speaking/speaking.ts";

const segmentsOf = (...transcripts: Transcript[]): TranscriptSegment[] => {
  const segments: TranscriptSegment[] = [];
  let ts = 0;
  const { add } = createSegments({ onSegment: (segment) => segments.push(segment), onSpeaking: () => {} }, () => ++ts);
  for (const transcript of transcripts) add(transcript);
  for (const segment of segments) expect(isValid(Segment, segment)).toBe(true);
  return segments;
};
const avatar = (id: number, text: string, isFinal: boolean, isInterrupted = false): Transcript => ({
  ...{ id, role: "assistant", text, isFinal, isInterrupted },
});

test("an answer: one segment with the heard words and their start", () => {
  const [said, ...others] = segmentsOf(
    avatar(1, "Mild", false),
    avatar(1, "Mild today, with sun.", false),
    avatar(1, "Mild", true, true),
  );
  expect(said).toEqual({ role: "assistant", text: "Mild", ts: 1, interrupted: true });
  expect(others).toEqual([]);
});

test("an answer to a timed turn: a segment with the stages", () => {
  const timings = { first_token: 200, heard: 60 };
  expect(segmentsOf({ ...avatar(1, "Mild", true), timings })).toMatchObject([{ text: "Mild", timings }]);
});

test("an answer interrupted before its first word: no segment", () => {
  expect(segmentsOf(avatar(1, "Mild", false), avatar(1, "", true, true))).toEqual([]);
});

test("a turn of the person: a segment with its ids and its provenance", () => {
  const provenance = { version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" } as const;
  const turn = { text: "Hi", id: "t-2", retryOf: "t-1", provenance };
  expect(segmentsOf({ id: 1, role: "user", text: "Hi", isFinal: true, turn })).toEqual([
    { role: "user", text: "Hi", ts: 1, turn_id: "t-2", retry_of_turn_id: "t-1", input_provenance: provenance },
  ]);
});

test("a text of a provider with U+0000, a lone surrogate, or 9,000 characters: a valid segment", () => {
  const texts = segmentsOf(
    ...["a\0b", "a\ud800", "\u{1f600}".repeat(4500), " \0 "].map((text, at) => avatar(at + 1, text, true)),
  ).map(({ text }) => text);
  expect(texts).toEqual(["a b", "a\ufffd", "\u{1f600}".repeat(4000)]);
});

test("speech in progress: reported from its first word on, up to the heard words, and not after its end", () => {
  const told: (string | null)[] = [];
  const onSpeaking = (segment: TranscriptSegment | null): void => {
    if (segment) expect(isValid(Segment, segment)).toBe(true);
    told.push(segment && `${segment.text}${segment.own ? " (own)" : ""}`);
  };
  const { add, heard } = createSegments({ onSegment: () => {}, onSpeaking });
  heard(null);
  add(avatar(1, "Mild today, with sun.", false));
  for (const words of ["", "Mild", "Mild today,", "Mild today,"]) heard(words);
  add(avatar(1, "Mild today, with", true, true));
  heard("Mild today, with sun.");
  expect(told).toEqual(["Mild", "Mild today,"]);
  add(avatar(2, "Sorry.", false));
  add(avatar(2, "", true, true));
  expect(told.slice(2)).toEqual(["Sorry.", null]);
  add({ ...avatar(3, "Sorry.", false), isOwn: true });
  expect(told.slice(4)).toEqual(["Sorry. (own)"]);
});

describe("tool calls", () => {
  const record = (calls: readonly ToolCall[], results: ReadonlyMap<ToolCall, string>): TranscriptSegment => {
    const segments: TranscriptSegment[] = [];
    createSegments({ onSegment: (segment) => segments.push(segment), onSpeaking: () => {} }).addCalls(calls, results);
    const [segment] = segments;
    if (!segment) throw new Error("there is no segment");
    expect(validate(Segment, segment)).toEqual([]);
    return segment;
  };
  const call: ToolCall = { id: "a", name: "order", args: null };

  test("with and without a result: a segment without words", () => {
    expect(record([call], new Map())).toMatchObject({ text: "", tool_calls: [{ id: "a", name: "order", args: "{}" }] });
    expect(record([call], new Map([[call, "\0 sent \ud800"]])).tool_calls).toEqual([
      { id: "a", name: "order", args: "{}", result: "  sent \ufffd" },
    ]);
  });

  test("larger than a segment: the first arguments and results are kept, the others replaced", () => {
    const many = Array.from({ length: MAX_TOOL_CALLS }, (_, n) => ({
      ...call,
      id: `${n}`,
      args: `{"a":"${"é".repeat(4000)}"}`,
    }));
    const segment = record(many, new Map(many.map((one) => [one, "é".repeat(8192)])));
    expect(segment.tool_calls?.map(({ args }) => args.length > 2)).toEqual([true, true, ...Array(6).fill(false)]);
    for (const { result } of segment.tool_calls ?? []) expect(result).toContain("too long");
    expect(Buffer.byteLength(JSON.stringify(segment))).toBeLessThan(MAX_TOOL_SEGMENT_BYTES + 4096);
  });
});
