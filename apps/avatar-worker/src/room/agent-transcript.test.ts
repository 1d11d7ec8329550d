/** The transcript of a room with an agent, from streams in the form of LiveKit's agents. */
import { expect, test } from "bun:test";
import { MAX_SEGMENT_LENGTH, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { createAgentTranscript, type TextStream } from "./agent-transcript.ts";

/** A transcript of a room with an agent, its avatar and people. `now` counts. */
const listen = () => {
  const segments: TranscriptSegment[] = [];
  let now = 0;
  const receive = createAgentTranscript(
    () => ["agent", "avatar"],
    (segment) => segments.push(segment),
    () => ++now,
  );
  const closed: string[] = [];
  const send = (pieces: Iterable<string> | AsyncIterable<string>, sender: string, isFinal: boolean, id = "") => {
    const stream: TextStream = {
      async *[Symbol.asyncIterator]() {
        yield* pieces;
      },
      info: { attributes: { "lk.transcription_final": String(isFinal), ...(id && { "lk.segment_id": id }) } },
      close: async () => void closed.push(id),
    };
    receive(stream, sender);
  };
  const settle = () => Bun.sleep(1);
  return { segments, send, settle, closed };
};

test("words of the agent, streamed while it speaks: one segment with its start time", async () => {
  const { segments, send, settle } = listen();
  send(["Good ", "morning. ", "\0Hello."], "agent", false, "SG_1");
  await settle();
  send(["I am the avatar."], "avatar", false, "SG_2");
  await settle();
  expect(segments).toEqual([
    { role: "assistant", text: "Good morning.  Hello.", ts: 1 },
    { role: "assistant", text: "I am the avatar.", ts: 2 },
  ]);
});

test("words of a person: interim texts are skipped, and the final text is taken once", async () => {
  const { segments, send, settle } = listen();
  send(["When do"], "ada", false, "SG_3");
  send(["When do you open?"], "ada", true, "SG_3");
  send(["When do you open?"], "ada", true, "SG_3");
  send(["  "], "ada", true, "SG_4");
  await settle();
  expect(segments).toEqual([{ role: "user", text: "When do you open?", ts: 2 }]);
});

test("a stream that breaks off: the words before count as said", async () => {
  const { segments, send, settle } = listen();
  const broken = async function* () {
    yield "We open at";
    throw new Error("the agent has left");
  };
  send(broken(), "agent", false, "SG_5");
  await settle();
  expect(segments.map(({ text }) => text)).toEqual(["We open at"]);
});

test("an endless stream, too many at once, and too many in all: bounded", async () => {
  const { segments, send, settle, closed } = listen();
  const endless = async function* () {
    for (;;) yield "x".repeat(1000);
  };
  send(endless(), "agent", false, "long");
  await settle();
  expect(segments[0]?.text).toHaveLength(MAX_SEGMENT_LENGTH);
  const waiting = Promise.withResolvers<void>();
  const slow = async function* () {
    yield "slow";
    await waiting.promise;
  };
  for (let n = 0; n < 20; n++) send(slow(), "agent", false, `slow ${n}`);
  expect(closed).toEqual(["slow 16", "slow 17", "slow 18", "slow 19"]);
  waiting.resolve();
  await settle();
  expect(segments).toHaveLength(17);
  for (let n = 0; n < 2100; n++) {
    send(["x"], "agent", true, `many ${n}`);
    if (n % 10 === 9) await settle();
  }
  await settle();
  expect(segments).toHaveLength(2000);
});
