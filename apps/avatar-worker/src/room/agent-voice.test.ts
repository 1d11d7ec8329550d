/** The rights of an avatar's agent, in a room that is not connected. test/agent.system.test.ts uses a real room. */
import { expect, test } from "bun:test";
import { ReadableStream } from "node:stream/web";
import { ByteStreamReader, type RpcInvocationData } from "@livekit/rtc-node";
import { until } from "@realtime-avatar/testing/until";
import { receiveVoice } from "./agent-voice.ts";

type TextHandler = (reader: { close: () => Promise<void> }, info: { identity: string }) => void;

/** The voice of `agent`, and the callbacks of its room. */
const receive = () => {
  let clearBuffer: (data: RpcInvocationData) => Promise<string> = async () => "";
  let readText: TextHandler = () => {};
  let floods = 0;
  const room = {
    registerByteStreamHandler: () => {},
    registerTextStreamHandler: (_: string, handler: TextHandler) => {
      readText = handler;
    },
    on: () => {},
    localParticipant: {
      registerRpcMethod: (_: string, handler: typeof clearBuffer) => {
        clearBuffer = handler;
      },
    },
  };
  const voice = receiveVoice(room as never, "agent", () => floods++, null);
  return {
    voice,
    floods: () => floods,
    clearBuffer: (data: RpcInvocationData) => clearBuffer(data),
    readText: (identity: string) => readText({ close: async () => {} }, { identity }),
  };
};

test("the text of a person's speech: counts as activity only when the agent sends it", () => {
  const { voice, readText } = receive();
  let activities = 0;
  voice.play({
    published: {} as never,
    rendering: { hear: () => {}, clear: () => {} },
    onActivity: () => activities++,
  });
  readText("other");
  expect(activities).toBe(0);
  readText("agent");
  expect(activities).toBe(1);
  voice.stop();
});

test("lk.clear_buffer: obeyed only from the agent with an empty payload; more than 20 others are a flood", async () => {
  const { voice, clearBuffer, floods } = receive();
  const from = (callerIdentity: string, payload = "") =>
    clearBuffer({ callerIdentity, payload, requestId: "x", method: "lk.clear_buffer", responseTimeout: 1000 });
  expect(await from("agent")).toBe("ok");
  expect(await from("other")).toBe("reject");
  expect(await from("agent", "x".repeat(1025))).toBe("reject");
  for (let count = 2; count < 20; count++) await from("other");
  expect(floods()).toBe(0);
  await from("other");
  expect(floods()).toBe(1);
  voice.stop();
});

/** A room whose agent responds when the test decides. `calls`: the called methods of the agent. */
const roomOfAgent = () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const room = {
    ...{ registerByteStreamHandler: () => {}, registerTextStreamHandler: () => {}, on: () => {} },
    localParticipant: {
      registerRpcMethod: () => {},
      performRpc: ({ destinationIdentity }: { destinationIdentity: string }) => {
        expect(destinationIdentity).toBe("agent");
        const call = Promise.withResolvers<void>();
        calls.push(call);
        return call.promise;
      },
    },
  };
  const answerAll = async (answer: (call: PromiseWithResolvers<void>) => void): Promise<number> => {
    for (let count = 0; count < calls.length; count++) {
      answer(calls[count] as PromiseWithResolvers<void>);
      // Lets the next call begin.
      await Bun.sleep(0);
    }
    return calls.splice(0).length;
  };
  return { room, calls, answerAll };
};

test("an unresponsive agent: at most 32 calls wait in order, and each ended call makes room", async () => {
  const { room, calls, answerAll } = roomOfAgent();
  const voice = receiveVoice(room as never, "agent", () => {}, null);
  const tell = async (): Promise<void> => {
    for (let count = 0; count < 40; count++) voice.tellLoss();
    await Bun.sleep(0);
    expect(calls).toHaveLength(1);
  };
  for (const answer of [
    (call: PromiseWithResolvers<void>) => call.resolve(),
    (call: PromiseWithResolvers<void>) => call.reject(new Error("it took too long")),
  ]) {
    await tell();
    expect(await answerAll(answer)).toBe(32);
  }
  // A reconnecting agent is a new process: waiting calls are not for it.
  await tell();
  voice.forget();
  expect(await answerAll((call) => call.resolve())).toBe(1);
  voice.stop();
});

/** A room in which the agent says `seconds` of sound, and a function that speaks with the voice in it. */
const speakingRoom = () => {
  let open: (reader: ByteStreamReader, info: { identity: string }) => void = () => {};
  let clearBuffer: (data: RpcInvocationData) => Promise<string> = async () => "";
  const room = {
    registerByteStreamHandler: (_: string, handler: typeof open) => {
      open = handler;
    },
    ...{ registerTextStreamHandler: () => {}, on: () => {}, remoteParticipants: new Map([["agent", {}]]) },
    localParticipant: {
      performRpc: async () => "",
      registerRpcMethod: (_: string, handler: typeof clearBuffer) => {
        clearBuffer = handler;
      },
    },
  };
  const say = (seconds: number): void => {
    const attributes = { sample_rate: "48000", num_channels: "1" };
    const info = { streamId: "x", mimeType: "", topic: "", timestamp: 0, name: "", attributes };
    const stream = new ReadableStream({
      start: (controller) => {
        controller.enqueue({ content: new Uint8Array(96_000 * seconds) });
        controller.close();
      },
    });
    open(new ByteStreamReader(info, stream as never), { identity: "agent" });
  };
  const interrupt = () =>
    clearBuffer({
      callerIdentity: "agent",
      payload: "",
      requestId: "x",
      method: "lk.clear_buffer",
      responseTimeout: 1,
    });
  return { room, say, interrupt };
};

test("the voice of an agent: the renderer gets each frame before it is played, with the time until it is heard", async () => {
  const { room, say, interrupt } = speakingRoom();
  const voice = receiveVoice(room as never, "agent", () => {}, null);
  let queuedMs = 0;
  let playedMs = 0;
  let knownMs = 0;
  let clears = 0;
  const published = {
    ...{
      isPaused: () => false,
      queuedMs: () => queuedMs,
      clear: () => {
        queuedMs = 0;
      },
    },
    play: (pcm: Int16Array) => {
      queuedMs += pcm.length / 48;
      playedMs += pcm.length / 48;
    },
  };
  const rendering = {
    hear: (pcm: Int16Array, delayMs: number) => {
      expect(delayMs).toBe(queuedMs + knownMs - playedMs);
      knownMs += pcm.length / 48;
    },
    clear: () => clears++,
  };
  voice.play({ published: published as never, rendering, onActivity: () => {} });
  say(0.4);
  await until(() => playedMs > 0, { pollMs: 1 });
  // 100 ms are played, and 140 ms more are known.
  expect([playedMs, knownMs]).toEqual([100, 240]);
  queuedMs = 40;
  await until(() => playedMs > 100, { pollMs: 1 });
  expect([playedMs, knownMs]).toEqual([160, 300]);
  await interrupt();
  expect([queuedMs, clears]).toEqual([0, 1]);
  [playedMs, knownMs] = [0, 0];
  say(0.02);
  await until(() => playedMs > 0, { pollMs: 1 });
  expect([playedMs, knownMs]).toEqual([20, 20]);
  voice.stop();
});
