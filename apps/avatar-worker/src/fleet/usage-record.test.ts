import { expect, test } from "bun:test";
import type { AssignedCall, ConversationUsage } from "@realtime-avatar/domain/calls/worker-sync";
import { assigned } from "../../test/support/assigned.ts";
import type { Budget } from "../conversation/usage-meter.ts";
import { createUsageRecord } from "./usage-record.ts";

const used = (input_tokens: number, spoken_characters = 0): ConversationUsage => ({
  ...{ input_tokens, output_tokens: 0, estimated_tokens: 0, heard_seconds: 0, spoken_characters },
});
const start = (change: Partial<AssignedCall> = {}) => {
  const clock = { ms: 0 };
  const growths: number[] = [];
  const watcher = { used: ({ input_tokens }: ConversationUsage) => void growths.push(input_tokens) };
  const parts = { conversation: {}, watcher, now: () => clock.ms };
  return { clock, growths, record: createUsageRecord({ ...assigned, ...change }, parts) };
};

test("usage without a limit: reported at once, every ten seconds and at the end; metrics at once", () => {
  const { clock, growths, record } = start();
  expect(record.report()).toEqual({});
  expect(record.update(used(5), false)).toBe(false);
  expect(record.report().usage).toEqual(used(5));
  clock.ms = 9999;
  record.update(used(8), false);
  expect(record.report().usage).toEqual(used(5));
  clock.ms = 10_000;
  record.update(used(8), false);
  expect(record.report().usage).toEqual(used(8));
  record.update(used(9), true);
  expect(record.report().usage).toEqual(used(9));
  expect(growths).toEqual([5, 3, 1]);
});

test("usage with a limit: tokens are reported at once, because the conversation waits for it; characters are not", () => {
  const { record } = start({ tokens_left: 100 });
  expect(record.update(used(5), false)).toBe(true);
  expect(record.update(used(5, 20), false)).toBe(false);
  expect(record.report().usage).toEqual(used(5));
  expect(record.update(used(7, 20), false)).toBe(true);
  expect(record.report().usage).toEqual(used(7, 20));
});

test("a removed limit: the conversation is told once; a call without a limit is never told", () => {
  const { record } = start({ tokens_left: 100 });
  record.update(used(5), false);
  const told: Budget[] = [];
  record.setBudget(null, (budget) => told.push(budget));
  start({}).record.setBudget(null, (budget) => told.push(budget));
  expect(told).toEqual([{ used: 5, left: Number.MAX_SAFE_INTEGER }]);
});

test("a process that reports less than before: no change; the next process continues from the sum, with the current budget", () => {
  const { growths, record } = start({ usage: used(50), tokens_left: 100 });
  record.update(used(60), false);
  record.update(used(2), false);
  expect(growths).toEqual([10]);
  record.setBudget({ used: 60, left: 30 }, () => {});
  expect(record.assigned(assigned)).toMatchObject({ usage: used(60), tokens_left: 30 });
});
