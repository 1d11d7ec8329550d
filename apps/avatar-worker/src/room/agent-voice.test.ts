/** Who may interrupt the avatar of an agent, on a room that is not connected. test/agent.system.test.ts has a real one. */
import { expect, test } from "bun:test";
import type { RpcInvocationData } from "@livekit/rtc-node";
import { receiveVoice } from "./agent-voice.ts";

test("a call to drop what waits: obeyed from the agent alone, and with an empty payload", async () => {
  let clearBuffer: (data: RpcInvocationData) => Promise<string> = async () => "";
  const room = {
    registerByteStreamHandler: () => {},
    registerTextStreamHandler: () => {},
    on: () => {},
    localParticipant: {
      registerRpcMethod: (_: string, handler: typeof clearBuffer) => {
        clearBuffer = handler;
      },
    },
  };
  const voice = receiveVoice(room as never, "agent", () => {});
  const from = (callerIdentity: string, payload = "") =>
    clearBuffer({ callerIdentity, payload, requestId: "x", method: "lk.clear_buffer", responseTimeout: 1000 });
  expect(await from("agent")).toBe("ok");
  expect(await from("other")).toBe("reject");
  expect(await from("agent", "x".repeat(1025))).toBe("reject");
  voice.stop();
});
