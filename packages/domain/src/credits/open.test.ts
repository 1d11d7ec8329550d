import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { validate } from "../schema.ts";
import { plannedSession, presentOpened, refuseHold, requiredCreditMicros } from "./open.ts";
import { OpenedSession } from "./schemas.ts";

const random = seededBytes("open");
const now = new Date("2026-11-20T12:00:00.000Z");
const terms = { priceCreditMicrosPerSecond: 1_000_000, startSeconds: 120 };
const plan = (request: Parameters<typeof plannedSession>[0]) =>
  plannedSession(request, terms, { environment: "live", now, random });

describe("a planned session", () => {
  test("the required credits of a plan: for all its seconds, or for its minimum", () => {
    expect(requiredCreditMicros(plan({ maxSessionSeconds: 60 }))).toBe(60_000_000);
    expect(requiredCreditMicros(plan({ maxSessionSeconds: 60, minSessionSeconds: 60 }))).toBe(60_000_000);
    expect(requiredCreditMicros(plan({ maxSessionSeconds: 60, minSessionSeconds: 1 }))).toBe(1_000_000);
    expect(() => plan({ maxSessionSeconds: 60, minSessionSeconds: 61 })).toThrow("validation_failed");
    expect(() => plan({ maxSessionSeconds: 60, avatarId: "ava_x" })).toThrow("not_found");
  });

  test("a plan, presented: without the values that only the write knows", () => {
    const opened = presentOpened(plan({ maxSessionSeconds: 60 }), { id: "key_01h455vb4pex5vsknk084sn02q" });
    expect(validate(OpenedSession, opened)).toEqual([]);
    for (const name of ["reservedCreditMicros", "expiresAt", "avatarName"]) expect(opened).not.toHaveProperty(name);
  });

  test("a plan, beyond several limits: refused by the first; exactly enough credits: accepted", () => {
    const planned = plan({ maxSessionSeconds: 60, minSessionSeconds: 10 });
    const enough = 10_000_000;
    const NONE = { self: null, ancestor: null, tenant: null };
    const refusal = (own: number | null, ancestors: number | null, account: number) => {
      const problem = refuseHold(planned, { own, ancestors, account, reachedLimits: NONE });
      return problem && [problem.code, problem.extras.limitedBy, problem.extras.requiredCreditMicros];
    };
    expect(refusal(null, null, enough)).toBeNull();
    expect(refusal(enough, enough, enough)).toBeNull();
    expect(refusal(null, null, enough - 1)).toEqual(["insufficient_credits", undefined, enough]);
    expect(refusal(enough - 1, enough, 0)).toEqual(["spend_limit_exceeded", "self", enough]);
    expect(refusal(-1, enough - 1, 0)).toEqual(["spend_limit_exceeded", "ancestor", enough]);
  });
});
