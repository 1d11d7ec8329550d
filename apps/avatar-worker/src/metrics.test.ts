import { expect, test } from "bun:test";
import { createMetrics } from "./metrics.ts";

test("what happens in conversations: counted, from 0 on", async () => {
  const { watcher, fetch, stop } = createMetrics("1");
  const read = async (): Promise<string[]> => {
    const text = await (await fetch(new Request("http://localhost/metrics"))).text();
    return text
      .split("\n")
      .filter((line) => /^realtime_avatar_(conversation|provider)/.test(line) && !line.endsWith(" 0"));
  };
  expect(await read()).toEqual([]);
  watcher.counted("turn");
  watcher.counted("turn");
  watcher.counted("interruption");
  watcher.providerFailed("tts", "busy");
  expect(await read()).toEqual([
    "realtime_avatar_conversation_turns_total 2",
    "realtime_avatar_conversation_interruptions_total 1",
    'realtime_avatar_provider_failures_total{provider="tts",why="busy"} 1',
  ]);
  stop();
});
