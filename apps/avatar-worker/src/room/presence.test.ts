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
    soon: (now: number) => times.endsSoon(at(now)),
    end: (now: number) => times.endReason(at(now)),
  };
};

describe("the seconds of a call", () => {
  test("the seconds, before the person comes: none", () => {
    const call = presence();
    expect(call.used(1000)).toBe(0);
    expect(call.end(1000)).toBeNull();
  });

  test("the seconds, from when both sides are present: rounded up, also while the person is away, at most the hold", () => {
    const call = presence();
    call.arrives(10);
    expect([10.001, 11, 11.001].map(call.used)).toEqual([1, 1, 2]);
    call.leaves(15);
    expect(call.used(18)).toBe(8);
    call.arrives(19);
    expect(call.used(20)).toBe(10);
    expect(call.used(500)).toBe(60);
  });

  test("the seconds, while the connection is lost: counted only if it comes back", () => {
    const call = presence();
    call.arrives(0);
    call.isLost(5, true);
    call.isLost(8, true);
    expect(call.used(12)).toBe(5);
    call.isLost(12, false);
    expect(call.used(13)).toBe(13);
  });

  test("the seconds, of a second worker: go on from those of the first when it sees the person", () => {
    const call = presence({ used_seconds: 20 });
    expect(call.used(5)).toBe(20);
    call.arrives(5);
    expect(call.used(6)).toBe(21);
  });
});

describe("the end of a call", () => {
  test("a call, its seconds used up: ends a moment before, with the service's reason", () => {
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

  test("a call, its person away for ten seconds: ends, unless the person came back", () => {
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

  test("a call, its person gone for good: ends at once", () => {
    const call = presence();
    call.arrives(0);
    call.leaves(5, true);
    expect(call.end(5)).toBe("disconnected");
  });

  test("a call, its connection lost for ten seconds: ends, unless it came back", () => {
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
