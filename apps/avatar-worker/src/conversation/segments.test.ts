import { expect, test } from "bun:test";
import { TranscriptSegment as Segment, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { isValid } from "@realtime-avatar/domain/schema";
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
