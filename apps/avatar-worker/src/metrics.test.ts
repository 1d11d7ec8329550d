import { expect, test } from "bun:test";
import { createMetrics } from "./metrics.ts";

test("events of conversations: counted from 0", async () => {
  const { watcher, fetch, stop, showProviders } = createMetrics("1");
  const read = async (): Promise<string[]> => {
    const text = await (await fetch(new Request("http://localhost/metrics"))).text();
    return text
      .split("\n")
      .filter(
        (line) =>
          /^realtime_avatar_(conversation|provider|llm|recognized|spoken)/.test(line) &&
          !line.endsWith(" 0") &&
          !/_bucket/.test(line),
      );
  };
  expect(await read()).toEqual([]);
  watcher.counted("turn");
  watcher.counted("turn");
  watcher.counted("interruption");
  watcher.providerFailed("tts", "busy");
  watcher.used({ input_tokens: 30, output_tokens: 7, estimated_tokens: 7, heard_seconds: 4, spoken_characters: 90 });
  showProviders(() => ({ llm: "ok", stt: "refused" }));
  watcher.turnTimed({ end_of_speech: 40, end_of_turn: 352, text: 0, first_token: 200, first_sound: 120, heard: 70 });
  watcher.turnTimed({ first_token: 200, first_sound: 120, heard: 70 });
  watcher.turnTimed({ end_of_speech: 40, end_of_turn: 352, text: 0 });
  expect(await read()).toEqual([
    "realtime_avatar_conversation_turns_total 2",
    "realtime_avatar_conversation_interruptions_total 1",
    'realtime_avatar_conversation_stage_seconds_sum{stage="end_of_speech"} 0.08',
    'realtime_avatar_conversation_stage_seconds_count{stage="end_of_speech"} 2',
    'realtime_avatar_conversation_stage_seconds_sum{stage="end_of_turn"} 0.704',
    'realtime_avatar_conversation_stage_seconds_count{stage="end_of_turn"} 2',
    'realtime_avatar_conversation_stage_seconds_count{stage="text"} 2',
    'realtime_avatar_conversation_stage_seconds_sum{stage="first_token"} 0.4',
    'realtime_avatar_conversation_stage_seconds_count{stage="first_token"} 2',
    'realtime_avatar_conversation_stage_seconds_sum{stage="first_sound"} 0.24',
    'realtime_avatar_conversation_stage_seconds_count{stage="first_sound"} 2',
    'realtime_avatar_conversation_stage_seconds_sum{stage="heard"} 0.14',
    'realtime_avatar_conversation_stage_seconds_count{stage="heard"} 2',
    "realtime_avatar_conversation_response_seconds_sum 0.782",
    "realtime_avatar_conversation_response_seconds_count 1",
    'realtime_avatar_llm_tokens_total{kind="input"} 30',
    'realtime_avatar_llm_tokens_total{kind="output"} 7',
    "realtime_avatar_llm_tokens_estimated_total 7",
    "realtime_avatar_recognized_seconds_total 4",
    "realtime_avatar_spoken_characters_total 90",
    'realtime_avatar_provider_failures_total{provider="tts",why="busy"} 1',
    'realtime_avatar_provider_up{provider="llm"} 1',
  ]);
  stop();
});

test("fragments of recordings: counted from 0", async () => {
  const { watcher, fetch, stop } = createMetrics("1");
  const read = async () => (await fetch(new Request("http://localhost/metrics"))).text();
  const name = "realtime_avatar_recording_fragments_total";
  expect(await read()).toContain(`${name}{result="sent"} 0\n${name}{result="lost"} 0\n`);
  for (let count = 0; count < 3; count++) watcher.fragmentSent();
  watcher.fragmentLost();
  expect(await read()).toContain(`${name}{result="sent"} 3\n${name}{result="lost"} 1\n`);
  stop();
});
