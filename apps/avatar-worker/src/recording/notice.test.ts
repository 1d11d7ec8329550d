/** The notice in a room that is not connected. test/recording.system.test.ts has a real room. */
import { expect, test } from "bun:test";
import { TrackKind } from "@livekit/rtc-node";
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { isLoud } from "@realtime-avatar/face/loudness";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { createNotice, NOTICE } from "./notice.ts";

/** A notice in a room that plays sound at once. */
const start = ({ isHeard = Promise.resolve(), maxWaitMs = 60_000, isTold = false } = {}) => {
  const played: Int16Array[] = [];
  const segments: TranscriptSegment[] = [];
  const told: string[] = [];
  const publication = { kind: TrackKind.KIND_AUDIO, waitForSubscription: () => isHeard };
  const room = {
    localParticipant: {
      trackPublications: new Map([["TR_1", publication]]),
      setAttributes: async (attributes: Record<string, string>) => void told.push(attributes["lk.agent.state"] ?? ""),
      streamText: async () => ({ write: async (text: string) => void told.push(text), close: async () => {} }),
    },
  };
  let clears = 0;
  const published = {
    play: (pcm: Int16Array) => void played.push(pcm),
    queuedMs: () => 0,
    clear: () => void clears++,
  };
  const parts = {
    speech: FLITE_SETTINGS,
    segments: { onSegment: (segment: TranscriptSegment) => segments.push(segment), onSpeaking: () => {} },
    isTold,
  };
  const call = { ...assigned, mode: "voice", recording: { mode: "audio" } } as const;
  const notice = createNotice(room as never, call, published as never, parts, maxWaitMs);
  const loud = (): number => played.filter(isLoud).length;
  return { notice, publication, played, loud, segments, told, clears: () => clears };
};

test("a notice: the conversation plays after it; the transcript has it as words of the service", async () => {
  const { notice, played, loud, segments, told, clears } = start();
  notice.published.play(new Int16Array(960));
  notice.published.clear();
  expect([played.length, clears(), notice.isOver()]).toEqual([0, 0, false]);
  expect(await notice.say()).toBe("said");
  expect(loud()).toBeGreaterThan(30);
  expect(segments).toMatchObject([{ role: "assistant", text: NOTICE, own: true }]);
  await until(() => told.includes(NOTICE) && told.at(-1) === "listening", { state: () => told });
  const before = played.length;
  notice.published.play(new Int16Array(960));
  notice.published.clear();
  expect([played.length, clears(), notice.isOver()]).toEqual([before + 1, 1, true]);
});

test("a person who leaves before the end of the notice: the whole notice is said again", async () => {
  let setHeard = (): void => {};
  const isHeard = new Promise<void>((resolve) => {
    setHeard = resolve;
  });
  const { notice, loud, segments } = start({ isHeard });
  const first = notice.say();
  notice.interrupt();
  setHeard();
  expect([await first, loud(), notice.isOver()]).toEqual(["interrupted", 0, false]);
  const second = notice.say();
  await until(() => loud() > 0, { pollMs: 1 });
  notice.interrupt();
  expect([await second, notice.isOver()]).toEqual(["interrupted", false]);
  expect(await notice.say()).toBe("said");
  expect([notice.isOver(), segments.at(-1)?.text]).toEqual([true, NOTICE]);
});

test("a person who does not receive the sound: the conversation plays; the notice is said after a return", async () => {
  const never = new Promise<void>(() => {});
  const { notice, publication, played, loud, segments } = start({ isHeard: never, maxWaitMs: 50 });
  expect(await notice.say()).toBe("failed");
  expect([played.length, segments, notice.isOver()]).toEqual([0, [], true]);
  notice.published.play(new Int16Array(960));
  expect(played).toHaveLength(1);
  publication.waitForSubscription = () => Promise.resolve();
  const second = notice.say();
  expect(notice.isOver()).toBe(false);
  expect(await second).toBe("said");
  expect([loud() > 30, segments.length, notice.isOver()]).toEqual([true, 1, true]);
});

test("a person that an earlier process told: hears no notice; the next person hears it", async () => {
  const { notice, played, loud, segments } = start({ isTold: true });
  expect(notice.isOver()).toBe(true);
  expect(await notice.say()).toBe("said");
  expect([played.length, segments]).toEqual([0, []]);
  for (const count of [1, 2]) {
    const before = loud();
    const saying = notice.say();
    expect(notice.isOver()).toBe(false);
    expect(await saying).toBe("said");
    expect([loud() - before > 30, segments.length]).toEqual([true, count]);
  }
});
