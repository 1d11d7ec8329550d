/** The tool calls of a conversation among its segments. */
import { expect, test } from "bun:test";
import type { TranscriptReport, TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { createSaid } from "./said.ts";

const history = { segments: [], handed_over: false, lost_processes: 0 };
const WORDS: TranscriptSegment = { role: "user", text: "Hi.", ts: 1 };
const TOOL: TranscriptSegment = {
  ...{ role: "assistant", text: "", ts: 1 },
  tool_calls: [{ id: "a", name: "order", args: "{}", result: "x".repeat(8000) }],
};

const startSaid = (change: Partial<AssignedCall>) => {
  const reports: TranscriptReport[] = [];
  const assigned = { session_id: "ses_1", generation: 1, ...change } as unknown as AssignedCall;
  const transcript = async (_: string, report: TranscriptReport) => {
    reports.push(report);
    return { next: report.first + report.segments.length };
  };
  const said = createSaid(assigned, { transcript });
  if (!said) throw new Error("the service wants no segments");
  return {
    said,
    assigned,
    /** Adds words, waits until they are sent, and returns the number of sent tool calls. */
    untilSent: async () => {
      said.add(WORDS);
      while (!reports.some(({ segments }) => segments.includes(WORDS))) await Bun.sleep(1);
      return reports.flatMap(({ segments }) => segments).filter(({ tool_calls }) => tool_calls).length;
    },
  };
};

test("tool calls, for a service that takes them: sent; with a transcript, 64 KiB of them", async () => {
  for (const [transcript, sent] of [
    [false, 10],
    [true, 8],
  ] as const) {
    const { said, untilSent } = startSaid({ history: { ...history, takes_tools: true }, transcript });
    for (let round = 0; round < 10; round++) said.add(TOOL);
    expect(await untilSent()).toBe(sent);
  }
});

test("tool calls, for a service of an older release: not sent, and kept for the next process of the worker", async () => {
  const { said, assigned, untilSent } = startSaid({ history });
  said.add(TOOL);
  expect(await untilSent()).toBe(0);
  expect(said.assigned(assigned).history?.segments).toEqual([TOOL, WORDS]);
});

test("tool calls while the avatar speaks: the heard words stay, and end with the process", () => {
  const { said, assigned } = startSaid({ history: { ...history, takes_tools: true } });
  const heard: TranscriptSegment = { role: "assistant", text: "Let me", ts: 1, interrupted: true };
  said.speak(heard);
  said.add(TOOL);
  said.cutOff();
  expect(said.assigned(assigned).history?.segments).toEqual([TOOL, heard]);
});
