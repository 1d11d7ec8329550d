/** What the agent of an avatar may do, on a room that is not connected. test/agent.system.test.ts has a real one. */
import { expect, test } from "bun:test";
import type { RpcInvocationData } from "@livekit/rtc-node";
import { receiveVoice } from "./agent-voice.ts";

type TextHandler = (reader: { close: () => Promise<void> }, info: { identity: string }) => void;

/** The voice of `agent`, and what its room calls. */
const receive = () => {
  let clearBuffer: (data: RpcInvocationData) => Promise<string> = async () => "";
  let readText: TextHandler = () => {};
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
  const voice = receiveVoice(room as never, "agent", () => {});
  return {
    voice,
    clearBuffer: (data: RpcInvocationData) => clearBuffer(data),
    readText: (identity: string) => readText({ close: async () => {} }, { identity }),
  };
};

test("what a person says, as text: is activity from the agent alone", () => {
  const { voice, readText } = receive();
  let activities = 0;
  voice.play(
    {} as never,
    () => {},
    () => activities++,
  );
  readText("other");
  expect(activities).toBe(0);
  readText("agent");
  expect(activities).toBe(1);
  voice.stop();
});

test("a call to drop what waits: obeyed from the agent alone, and with an empty payload", async () => {
  const { voice, clearBuffer } = receive();
  const from = (callerIdentity: string, payload = "") =>
    clearBuffer({ callerIdentity, payload, requestId: "x", method: "lk.clear_buffer", responseTimeout: 1000 });
  expect(await from("agent")).toBe("ok");
  expect(await from("other")).toBe("reject");
  expect(await from("agent", "x".repeat(1025))).toBe("reject");
  voice.stop();
});
