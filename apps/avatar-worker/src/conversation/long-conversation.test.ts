/** A conversation of a thousand turns. */
import { expect, test } from "bun:test";
import { spoken, startConversation } from "./testing/conversation-testing.ts";

const MEBIBYTE = 1024 * 1024;

const measure = (): number => {
  Bun.gc(true);
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

test("1,000 turns, some interrupted, ignored or continued: constant memory", async () => {
  const { conversation, hear, pass, setHeard, setAnswer, settle, ...records } = startConversation({
    maxTurnsPerMinute: 100_000,
  });
  setAnswer("Yes, of course.");
  const hold = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) {
      setHeard(turn % 4 === 3 ? "Mm-hmm." : `This is what the person says in turn ${turn}.`);
      for (const event of spoken("begin", "pause")) hear(event);
      await settle();
      if (turn % 5 === 0) for (const event of spoken("resume", "pause")) hear(event);
      for (const event of spoken("end")) hear(event);
      if (turn % 7 === 0) conversation.take({ text: "Typed.", id: `t${turn}` });
      await pass(turn % 3 === 0 ? 200 : 1200);
      for (const record of Object.values(records)) if (Array.isArray(record)) record.length = 0;
    }
  };
  await hold(100);
  const before = measure();
  await hold(1000);
  expect(measure() - before).toBeLessThan(MEBIBYTE);
});
