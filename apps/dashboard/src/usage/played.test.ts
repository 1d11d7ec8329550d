import { describe, expect, test } from "bun:test";
import type { Recording } from "@realtime-avatar/client";
import { chooseRecording, playPosition, recordingName } from "./played.ts";

const START = Date.parse("2026-11-30T10:00:00.000Z");
const recording = (recordingId: string, fields: Partial<Recording> = {}): Recording => ({
  ...{ sessionId: "ses_1", recordingId, mode: "audio", createdAt: "2026-11-30T10:00:00.000Z" },
  ...{ retainedUntil: "2026-12-30T10:00:00.000Z", status: "ready", durationMs: 60_000 },
  mediaStartedAt: new Date(START).toISOString(),
  ...fields,
});
const of = (role: "user" | "avatar"): Partial<Recording> => ({ participant: { participantIdentity: role, role } });

test("a moment of a call: a second before it in the file, within the file", () => {
  const file = recording("rec_1");
  expect([-5000, 0, 500, 7100, 61_000, 90_000].map((ms) => playPosition(file, START + ms))).toEqual([
    ...[0, 0, 0, 6.1, 60, 60],
  ]);
  expect(playPosition({}, START)).toBe(0);
});

describe("the recording of a sentence", () => {
  test("a recording of both sides: played for either speaker", () => {
    const all = [recording("rec_1")];
    expect([chooseRecording(all, "user", null), chooseRecording(all, "assistant", null)]).toEqual([
      all[0] ?? null,
      all[0] ?? null,
    ]);
  });

  test("of each side: the recording of the speaker", () => {
    const all = [recording("rec_1", of("user")), recording("rec_2", of("avatar"))];
    expect(all.map(recordingName)).toEqual(["The person", "The avatar"]);
    expect(chooseRecording(all, "user", "rec_2")?.recordingId).toBe("rec_1");
    expect(chooseRecording(all, "assistant", null)?.recordingId).toBe("rec_2");
  });

  test("not ready: none", () => {
    expect(chooseRecording([recording("rec_1", { status: "processing" })], "user", null)).toBeNull();
    expect(chooseRecording([], "user", null)).toBeNull();
  });
});
