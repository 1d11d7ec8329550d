import { describe, expect, test } from "bun:test";
import {
  MAX_TRANSCRIPT_BYTES,
  type TranscriptReport,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { until } from "@realtime-avatar/testing/until";
import { RefusedRequest } from "./service.ts";
import { createTranscriptSender } from "./transcript.ts";

const CALL = { session_id: "ses_1", generation: 3 } as unknown as AssignedCall;
const said = (text: string): TranscriptSegment => ({ role: "user", text, ts: 1 });

/**
 * A service that stores segments like the database. `fails`: number of reports that fail before they are written.
 * `loses`: number of reports that fail after it. `isOld`: it refuses tool calls.
 */
const world = ({ fails = 0, loses = 0, isOld = false, times = { wait: 60_000, last: 60_000 } } = {}) => {
  const reports: TranscriptReport[] = [];
  const sentAt: number[] = [];
  const kept: string[] = [];
  const speaking: (string | null)[] = [];
  const transcript = async (_: string, report: TranscriptReport) => {
    reports.push(report);
    sentAt.push(performance.now());
    await Promise.resolve();
    if (isOld && report.segments.some(({ tool_calls }) => tool_calls)) throw new RefusedRequest(422);
    if (fails-- > 0) throw new Error("the service does not respond");
    if (report.first > kept.length) return { next: kept.length };
    speaking.push(report.speaking?.text ?? null);
    kept.push(...report.segments.slice(kept.length - report.first).map(({ text }) => text));
    if (loses-- > 0) throw new Error("the response was lost");
    return { next: kept.length };
  };
  return { reports, sentAt, kept, speaking, sender: createTranscriptSender(CALL, { transcript }, times) };
};

describe("the segments of a call", () => {
  test("said one after another: sent as they come; the last report is marked complete", async () => {
    const { sender, kept, reports } = world();
    sender.add(said("a"));
    await until(() => kept.length === 1);
    sender.add(said("b"));
    sender.add(said("c"));
    await sender.finish();
    expect(kept).toEqual(["a", "b", "c"]);
    expect(reports.map(({ is_complete }) => is_complete).filter(Boolean)).toHaveLength(1);
    expect(reports.at(-1)).toMatchObject({ generation: 3, is_complete: true });
  });

  test("an end while a report is in flight: another report, marked complete", async () => {
    const { sender, kept, reports } = world();
    sender.add(said("a"));
    expect(reports).toHaveLength(1);
    await sender.finish();
    expect(kept).toEqual(["a"]);
    expect(reports.map(({ is_complete }) => is_complete)).toEqual([false, true]);
  });

  test("no segments: a report that is marked complete", async () => {
    const { sender, reports } = world();
    await sender.finish();
    expect(reports).toEqual([{ generation: 3, first: 0, segments: [], is_complete: true }]);
  });

  test("tool calls, refused by a service of an older release: the words are sent without them", async () => {
    const { sender, kept } = world({ isOld: true });
    const tool_calls = [{ id: "a", name: "order", args: "{}" }];
    for (const one of [said("a"), { ...said(""), tool_calls }, said("b"), { ...said(""), tool_calls }]) sender.add(one);
    await sender.finish();
    expect(kept).toEqual(["a", "b"]);
  });

  test("failed reports and lost responses: each segment is stored once, in order", async () => {
    const { sender, kept } = world({ fails: 2, loses: 2 });
    for (let at = 0; at < 5; at++) sender.add(said(`${at}`));
    await sender.finish();
    expect(kept).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("many and long segments: at most 64 and 64 KiB in a report, or a single one", async () => {
    const { sender, kept, reports } = world();
    for (let at = 0; at < 100; at++) sender.add(said(`${at}`));
    for (let at = 0; at < 12; at++) sender.add(said("x".repeat(8000)));
    await sender.finish();
    expect(kept).toHaveLength(112);
    for (const { segments } of reports) {
      expect(segments.length).toBeLessThanOrEqual(64);
      expect(JSON.stringify(segments).length).toBeLessThan(66 * 1024);
    }
  });

  test("more than the limit while the service is unreachable: the rest is dropped, and the last report is not marked complete", async () => {
    const { sender, kept, reports } = world({ fails: 1 });
    for (let at = 0; at < 2100; at++) sender.add(said(`${at}`));
    await sender.finish();
    expect(kept).toHaveLength(2000);
    expect(reports.at(-1)?.is_complete).toBe(false);
  });

  test("more bytes than may wait at once, each segment sent before the next: all stored, the last report complete", async () => {
    const { sender, kept, reports } = world();
    const text = "x".repeat(8000);
    const count = Math.ceil(MAX_TRANSCRIPT_BYTES / text.length) + 1;
    for (let sent = 1; sent <= count; sent++) {
      sender.add(said(text));
      await until(() => kept.length === sent);
    }
    await sender.finish();
    expect(reports.at(-1)?.is_complete).toBe(true);
  });
});

describe("the end of a call", () => {
  test("an unresponsive service: waits up to the limit; the last words are sent later", async () => {
    const { sender, kept } = world({ fails: 2, times: { wait: 50, last: 60_000 } });
    sender.add(said("a"));
    await sender.finish();
    expect(kept).toEqual([]);
    await until(() => kept.length === 1);
  });

  test("a last report that fails: sent again twice as soon as an earlier one, because the transcript waits for it", async () => {
    const { sender, sentAt } = world({ fails: 4 });
    await sender.finish();
    const pauses = sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? 0));
    expect(pauses).toHaveLength(4);
    expect(Math.min(...pauses)).toBeLessThan(450);
  });

  test("a service that never responds: given up", async () => {
    const { sender, reports } = world({ fails: 1000, times: { wait: 50, last: 100 } });
    sender.add(said("a"));
    await sender.finish();
    await Bun.sleep(700);
    const { length } = reports;
    await Bun.sleep(700);
    expect(reports).toHaveLength(length);
  });
});

describe("speech in progress", () => {
  const says = (text: string): TranscriptSegment => ({ role: "assistant", text, ts: 2, interrupted: true });

  test("its beginning: sent at once; more words: the newest after a second", async () => {
    const { sender, speaking } = world();
    sender.speak(says("One"));
    await until(() => speaking.length === 1);
    sender.speak(says("One two"));
    sender.speak(says("One two three"));
    await until(() => speaking.length === 2);
    expect(speaking).toEqual(["One", "One two three"]);
    sender.drop();
  });

  test("ended: its segment replaces it, and no more is sent", async () => {
    const { sender, speaking, kept } = world();
    sender.speak(says("One"));
    sender.speak(says("One two"));
    sender.add(says("One two three"));
    await until(() => kept.length === 1);
    await Bun.sleep(1100);
    expect(speaking.slice(-1)).toEqual([null]);
    sender.drop();
  });

  test("interrupted before its first word: withdrawn", async () => {
    const { sender, speaking } = world();
    sender.speak(says("One"));
    await until(() => speaking.length === 1);
    sender.speak(null);
    await until(() => speaking.length === 2);
    expect(speaking).toEqual(["One", null]);
    sender.drop();
  });

  test("a failing service: sent again, after the earlier segments", async () => {
    const { sender, speaking, kept } = world({ fails: 1 });
    sender.add(said("a"));
    sender.speak(says("One"));
    await until(() => speaking.includes("One"));
    expect(kept).toEqual(["a"]);
    sender.drop();
  });

  test("of a call that has ended: no more reports", async () => {
    const { sender, reports } = world({ fails: 1000 });
    sender.speak(says("One"));
    await until(() => reports.length > 1);
    sender.drop();
    await Bun.sleep(600);
    const { length } = reports;
    sender.speak(says("One two"));
    sender.add(said("late"));
    await Bun.sleep(1200);
    expect(reports).toHaveLength(length);
  });
});
