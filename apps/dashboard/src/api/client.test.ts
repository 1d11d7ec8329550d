import { expect, test } from "bun:test";
import { ApiProblem } from "@realtime-avatar/client";
import { errorText } from "./client.ts";

const refused = (code: string): string => {
  const body = { type: `/problems/${code}`, title: "Refused", status: 402, detail: "Refused.", code, requestId: "r" };
  const problem = { ...body, retryable: false, requiredCreditMicros: 60_000_000 };
  const error = new ApiProblem(problem as unknown as ConstructorParameters<typeof ApiProblem>[0]);
  return errorText(error, { isOnline: true, isRead: false }).detail;
};

test("a call, refused at the balance and at a cap: how many credits it needs, and what to do", () => {
  expect(refused("insufficient_credits")).toMatch(/^The call needs 60 credits to start, .* `credits grant`\.$/);
  expect(refused("spend_limit_exceeded")).toMatch(/^The call needs 60 credits to start, .* Raise the cap/);
});
