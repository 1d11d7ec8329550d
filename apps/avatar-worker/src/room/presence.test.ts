import { describe, expect, test } from "bun:test";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { assigned } from "../../test/support/assigned.ts";
import { createPresence } from "./presence.ts";

/** Seconds. */
const presence = (change: Partial<AssignedCall> = {}) => {
  const times = createPresence({ ...assigned, ...change }, 0);
  const at = (seconds: number): number => seconds * 1000;
  return {
    used: (now: number) => times.usedSeconds(at(now)),
    arrives: (now: number) => times.otherArrived(at(now)),
    leaves: (now: number, isForGood?: boolean) => times.otherLeft(at(now), isForGood),
    active: (now: number) => times.otherWasActive(at(now)),
    isLost: (now: number, isLost: boolean) => times.connectionChanged(at(now), isLost),
    moves: (now: number) => times.roomChanged(at(now)),
    counts: (now: number) => times.isCounting(at(now)),
    gaps: (now: number) => Object.values(times.gaps(at(now))),
    soon: (now: number) => times.endsSoon(at(now)),
    end: (now: number) => times.endReason(at(now)),
  };
};

describe("the seconds of a call", () => {
  test("before the person comes: no seconds", () => {
    const call = presence();
    expect(call.used(1000)).toBe(0);
    expect(call.end(1000)).toBeNull();
  });

  test("from the presence of both sides on: rounded up, also while the person is away, at most the hold", () => {
    const call = presence();
    call.arrives(10);
    expect([10.001, 11, 11.001].map(call.used)).toEqual([1, 1, 2]);
    call.leaves(15);
    expect(call.used(18)).toBe(8);
    call.arrives(19);
    expect(call.used(20)).toBe(10);
    expect(call.used(500)).toBe(60);
  });

  test("while the connection is lost: counted only if it comes back", () => {
    const call = presence();
    call.arrives(0);
    call.isLost(5, true);
    call.isLost(8, true);
    expect(call.used(12)).toBe(5);
    call.isLost(12, false);
    expect(call.used(13)).toBe(13);
  });

  test("at a second worker: continued from the first one's when it sees the person", () => {
    const call = presence({ used_seconds: 20 });
    expect(call.used(5)).toBe(20);
    call.arrives(5);
    expect(call.used(6)).toBe(21);
  });
});

describe("the absences of the person, in a call that can be resumed", () => {
  const resume = { room_number: 1, gap_count: 0, gap_seconds: 0, return_seconds: 60 };
  const resumable = (change: Partial<typeof resume> = {}, others: Partial<AssignedCall> = {}) =>
    presence({ max_seconds: 1000, idle_seconds: 1000, resume: { ...resume, ...change }, ...others });

  test("before the person comes, and while the person is present: none", () => {
    const call = resumable();
    call.leaves(5);
    expect([call.gaps(9), call.counts(9)]).toEqual([[0, 0], false]);
    call.arrives(10);
    expect([call.gaps(20), call.counts(20), call.used(20)]).toEqual([[0, 0], true, 10]);
  });

  test("three absences of two minutes together: not charged; longer ones, and a fourth: charged", () => {
    const call = resumable();
    call.arrives(0);
    call.leaves(10);
    expect([call.used(40), call.counts(40), call.gaps(40)]).toEqual([10, false, [1, 30]]);
    call.arrives(60);
    expect([call.used(70), call.counts(70), call.gaps(70)]).toEqual([20, true, [1, 50]]);
    call.leaves(70);
    call.arrives(125);
    call.leaves(130);
    // 105 seconds were free.
    expect([call.used(145), call.counts(145), call.gaps(145)]).toEqual([25, false, [3, 120]]);
    expect([call.used(155), call.counts(155), call.gaps(155)]).toEqual([35, true, [3, 120]]);
    call.arrives(160);
    expect([call.used(161), call.gaps(161)]).toEqual([41, [3, 120]]);
    const many = resumable();
    many.arrives(0);
    for (const at of [10, 20, 30, 40]) {
      many.leaves(at);
      expect(many.counts(at + 1)).toBe(at === 40);
      many.arrives(at + 2);
    }
    expect([many.used(50), many.gaps(50)]).toEqual([44, [4, 6]]);
  });

  test("absences at earlier workers: counted", () => {
    const call = resumable({ gap_count: 2, gap_seconds: 110 }, { used_seconds: 20 });
    expect(call.gaps(1)).toEqual([2, 110]);
    call.arrives(5);
    call.leaves(10);
    expect([call.used(15), call.used(30), call.gaps(30)]).toEqual([25, 35, [3, 120]]);
    call.arrives(31);
    call.leaves(32);
    expect([call.counts(33), call.used(33)]).toEqual([true, 38]);
  });

  test("a person who does not come back: the call ends after a minute, including LiveKit's own wait", () => {
    const call = resumable();
    call.arrives(0);
    call.leaves(5);
    expect([call.end(64.9), call.end(65)]).toEqual([null, "disconnected"]);
    call.arrives(64);
    call.leaves(100, true);
    expect([call.end(139.9), call.end(140)]).toEqual([null, "disconnected"]);
  });

  test("another room: the person has a minute to come there, without charge", () => {
    const call = resumable();
    call.arrives(0);
    call.leaves(10);
    call.moves(60);
    expect([call.end(119), call.end(120), call.gaps(60)]).toEqual([null, "disconnected", [1, 50]]);
    call.arrives(65);
    // The previous room was deleted while the person was present.
    call.leaves(70);
    call.isLost(70, true);
    expect([call.used(73), call.counts(73), call.end(79.9), call.end(80)]).toEqual([15, false, null, "disconnected"]);
    call.moves(74);
    call.arrives(75);
    expect([call.used(76), call.end(90), call.gaps(76)]).toEqual([16, null, [2, 60]]);
    // The person is in the next room before the avatar.
    call.moves(80);
    call.arrives(80);
    expect([call.used(81), call.gaps(81)]).toEqual([21, [3, 60]]);
  });

  test("an empty call that is resumed again and again: charged after two minutes, until its seconds are used", () => {
    const call = resumable({}, { max_seconds: 300 });
    call.arrives(0);
    call.leaves(10);
    for (let at = 50; at < 450; at += 50) call.moves(at);
    expect([call.used(130), call.used(131), call.used(200)]).toEqual([10, 11, 80]);
    expect([call.end(419), call.end(420)]).toEqual([null, "session_cap"]);
  });

  test("an empty call that is resumed again and again at a second worker: charged after two minutes", () => {
    const call = resumable({}, { max_seconds: 300, used_seconds: 10 });
    for (let at = 50; at < 450; at += 50) call.moves(at);
    expect([call.used(50), call.counts(51), call.used(170), call.used(200)]).toEqual([10, false, 10, 40]);
    expect(call.end(461)).toBe("session_cap");
  });
});

describe("the end of a call", () => {
  test("a call whose seconds are almost used: ends just before, with the service's reason", () => {
    const call = presence({ limit: "out_of_credits", idle_seconds: 1000 });
    call.arrives(0);
    expect(call.end(59.7)).toBeNull();
    expect(call.end(59.8)).toBe("out_of_credits");
  });

  test("a call, near its end: announced twelve seconds before, or at the half of a short call", () => {
    const long = presence();
    expect(long.soon(59)).toBe(false);
    long.arrives(0);
    expect([47.9, 48].map(long.soon)).toEqual([false, true]);
    const short = presence({ max_seconds: 10 });
    short.arrives(0);
    expect([4.9, 5].map(short.soon)).toEqual([false, true]);
  });

  test("a call whose person is away for ten seconds: ends, unless the person came back", () => {
    const call = presence();
    call.arrives(0);
    call.leaves(1);
    expect(call.end(10.9)).toBeNull();
    call.arrives(10.9);
    expect(call.end(12)).toBeNull();
    call.leaves(12);
    call.leaves(20);
    expect(call.end(22)).toBe("disconnected");
  });

  test("a call whose person has left: ends at once", () => {
    const call = presence();
    call.arrives(0);
    call.leaves(5, true);
    expect(call.end(5)).toBe("disconnected");
  });

  test("a call whose connection is lost for ten seconds: ends, unless it came back", () => {
    const call = presence();
    call.arrives(0);
    call.isLost(5, true);
    expect(call.end(14.9)).toBeNull();
    call.isLost(14.9, false);
    expect(call.end(16)).toBeNull();
    call.isLost(16, true);
    expect([call.end(26), call.used(26)]).toEqual(["disconnected", 16]);
  });

  test("a call, a second worker without its person: ends after ten seconds", () => {
    const call = presence({ used_seconds: 20 });
    expect(call.end(9.9)).toBeNull();
    expect(call.end(10)).toBe("disconnected");
  });

  test("a call, idle for its limit: ends; speech and messages of the person count as activity", () => {
    const call = presence({ max_seconds: 600 });
    call.arrives(0);
    call.active(20);
    expect(call.end(49.9)).toBeNull();
    expect(call.end(50)).toBe("idle");
  });
});
