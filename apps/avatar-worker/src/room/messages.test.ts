/** The avatar's messages to pages of the SDK. test/call.system.test.ts uses a real page. */
import { expect, test } from "bun:test";
import { LIFECYCLE_TOPIC } from "@realtime-avatar/domain/calls/lifecycle";
import { assigned } from "../../test/support/assigned.ts";
import { createClockSender, createSpeakingPublisher, sendLastMessage } from "./messages.ts";
import { createPresence } from "./presence.ts";

/** A room that records each sent message. `fails`: sending fails. */
const newRoom = (fails = false) => {
  const sent: Record<string, unknown>[] = [];
  const attributes: Record<string, string>[] = [];
  const localParticipant = {
    publishData: async (data: Uint8Array, { reliable, topic }: { reliable: boolean; topic: string }) => {
      expect([reliable, topic]).toEqual([true, LIFECYCLE_TOPIC]);
      sent.push(JSON.parse(new TextDecoder().decode(data)));
      if (fails) throw new Error("the room was left");
    },
    setAttributes: async (changed: Record<string, string>) => {
      attributes.push(changed);
      if (fails) throw new Error("the room was left");
    },
  };
  return { room: { localParticipant } as never, sent, attributes };
};

test.each([false, true])(
  "the clock: sent from the start, again every five seconds, and at the end with a warning",
  (fails) => {
    const { room, sent } = newRoom(fails);
    const times = createPresence({ ...assigned, max_seconds: 60, used_seconds: 5 }, 0);
    const tell = createClockSender(room, { ...assigned, max_seconds: 60, idle_seconds: 30 }, times);
    const kindsUntil = (from: number, to: number): unknown[] => {
      sent.splice(0);
      for (let now = from; now < to; now += 100) tell(now);
      return sent.flatMap(({ kind }) => (kind === "time_left" ? [] : [kind]));
    };
    expect(kindsUntil(0, 1000)).toEqual([]);
    times.otherArrived(1000);
    const before = Date.now();
    expect(kindsUntil(1000, 6000)).toEqual(["session_clock"]);
    const { started_at_unix_ms, ...clock } = sent[0] as { started_at_unix_ms: number };
    expect(clock).toEqual({ kind: "session_clock", max_session_seconds: 60, idle_timeout_seconds: 30 } as never);
    // Five seconds were used before.
    expect(started_at_unix_ms).toBeWithin(before - 5000, Date.now() - 5000 + 1);
    expect(kindsUntil(6000, 11_000)).toEqual(["session_clock"]);
    // The seconds end at 56,000 ms: the warning comes 12 seconds before. From half of the seconds on, the remaining
    // time is sent: at once, and with each clock.
    expect(kindsUntil(11_000, 44_000)).toEqual(Array(7).fill("session_clock"));
    expect(sent.filter(({ kind }) => kind === "time_left").map(({ seconds }) => seconds)).toEqual([30, 25, 20, 15]);
    expect(kindsUntil(44_000, 46_000)).toEqual(["ending"]);
    expect(kindsUntil(46_000, 51_000)).toEqual(["session_clock", "ending"]);
    expect(sent.at(-1)).toEqual({ kind: "ending", reason: "session_cap" });
  },
);

test("a growing hold: a warning a minute before its end, withdrawn after growth, final only at its end", () => {
  const { room, sent } = newRoom();
  const long: typeof assigned = {
    ...assigned,
    max_seconds: 200,
    limit: "out_of_credits",
    growth: { longest_seconds: 400 },
  };
  const times = createPresence(long, 0);
  const tell = createClockSender(room, long, times);
  const sentUntil = (from: number, to: number) => {
    sent.splice(0);
    // The person speaks all the time.
    for (let now = from; now < to; now += 100) tell(now);
    return sent;
  };
  times.otherArrived(0);
  const early = sentUntil(0, 139_900);
  expect(early.every(({ kind, max_session_seconds }) => kind === "session_clock" && max_session_seconds === 400)).toBe(
    true,
  );
  expect(sentUntil(140_000, 141_000)).toMatchObject([
    { kind: "session_clock", max_session_seconds: 200 },
    { kind: "time_left", seconds: 60, reason: "out_of_credits" },
  ]);
  times.grow({ max_seconds: 400, limit: "session_cap" });
  expect(sentUntil(141_000, 142_000)).toMatchObject([
    { kind: "session_clock", max_session_seconds: 400 },
    { kind: "time_left", seconds: null, reason: null },
  ]);
  expect(sentUntil(142_000, 339_900).every(({ kind }) => kind === "session_clock")).toBe(true);
  expect(sentUntil(340_000, 341_000)[1]).toEqual({ kind: "time_left", seconds: 60, reason: "session_cap" });
  expect(sentUntil(341_000, 388_000).some(({ kind }) => kind === "ending")).toBe(false);
  expect(sentUntil(388_000, 389_000).some(({ kind }) => kind === "ending")).toBe(true);
  expect([times.endReason(399_700), times.endReason(399_800)]).not.toContain("out_of_credits");
  expect(times.endReason(399_800)).toBe("session_cap");
});

test.each([false, true])("the last message: contains the reason, also if sending fails (%p)", async (fails) => {
  const { room, sent } = newRoom(fails);
  await sendLastMessage(room, "user_ended");
  expect(sent).toEqual([{ kind: "ended", reason: "user_ended" }]);
});

test("the attributes of the avatar: change at the begin and at the end of speech only", async () => {
  const { room, attributes } = newRoom();
  const tell = createSpeakingPublisher(room, "avatar");
  tell(false);
  expect(attributes).toEqual([]);
  for (let count = 0; count < 3; count++) tell(true);
  tell(false);
  expect(attributes).toHaveLength(1);
  while (attributes.length === 1) {
    await Bun.sleep(20);
    tell(false);
  }
  expect(attributes).toHaveLength(2);
  expect(attributes[0]).not.toEqual(attributes[1] as never);
});
