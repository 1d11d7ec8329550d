/**
 * Tools of a page that the model calls, with the published SDK, unchanged, on a real LiveKit server.
 * sdk-conversation.system.test.ts has a page in a browser.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { until } from "@realtime-avatar/testing/until";
import { attachAvatarTools, type RegisteredTool } from "realtime-avatar/tools";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import type { ControlPlane } from "./support/control-plane.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `tools of a page${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const WITH_TOOLS: AssignedCall["input"] = { stt_mode: "off", capabilities: ["client_tools"] };

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;
  let providers: ScriptedProviders;
  let persons: Person[] = [];

  beforeAll(async () => {
    providers = startProviders();
    world = await startWorkerWorld(binary, { ...providers.variables, AVATAR_SLOTS: "8" });
    control = world.control;
  });
  afterEach(async () => {
    await Promise.all(persons.map((person) => person.leave()));
    persons = [];
    providers.refuseTools(false);
  });
  afterAll(async () => {
    await world?.stop();
    await providers?.stop();
  });

  const startCall = async (input = WITH_TOOLS) => {
    const history = { segments: [], handed_over: false, lost_processes: 0, takes_tools: true };
    const call = await control.start({ input, history });
    const person = await joinAsPerson(world.livekit.url, call.personToken);
    persons.push(person);
    const { said } = watchTranscript(person.room);
    await control.untilReported(call.session, "started");
    await person.until(() => person.messages.length > 0);
    const { room } = person;
    const attach = (tools: Record<string, RegisteredTool>, timeoutMs = 8000) => {
      if (!room.localParticipant) throw new Error("the person is not in the room");
      return attachAvatarTools(
        { localParticipant: room.localParticipant, remoteParticipants: room.remoteParticipants as never },
        tools,
        {
          timeoutMs,
        },
      );
    };
    return {
      ...{ person, said, attach, session: call.session },
      say: (text: string) => room.localParticipant?.sendText(text, { topic: "lk.chat" }),
      /** The last text of the avatar, after `turns` turns. */
      answer: async (turns: number): Promise<string | undefined> => {
        await person.until(() => said().length === 2 * turns);
        return said().at(-1)?.text;
      },
    };
  };
  /** The model calls these tools for each question, and then says "Noted." */
  const callTools = (...calls: { name: string; args: string }[]): void =>
    providers.setAnswer(({ messages }) => (messages.at(-1)?.role === "user" ? { calls } : "Noted."));
  type ModelMessage = { role: string; content: string; tool_call_id?: string };
  /** The messages of the last request to the model. */
  const told = (): ModelMessage[] =>
    (providers.of("llm").at(-1)?.body as { messages: ModelMessage[] } | undefined)?.messages ?? [];
  /** The results in the last request, including those of earlier turns. */
  const results = (): string[] => told().flatMap(({ role, content }) => (role === "tool" ? [content] : []));
  const ORDER: RegisteredTool = {
    description: "Finds an order.",
    parameters: { type: "object", properties: { id: { type: "number" } }, required: ["id"] },
    execute: ({ id }: { id: number }) => `Order ${id} is on its way.`,
  };

  test("two tools: both run in the page; the avatar says their results", async () => {
    const calls = [
      { name: "find_order", args: '{"id":7}' },
      { name: "weather", args: '{"city":"Rome"}' },
    ];
    providers.setAnswer(({ messages }) => {
      const got = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
      return got.length === 0 ? { calls } : got.join(" ");
    });
    const { say, attach, answer, said } = await startCall();
    const seen: unknown[] = [];
    const weather = (args: object, { callId }: { callId: string }): string => {
      seen.push([args, callId]);
      return "It rains.";
    };
    const registered = await attach({
      find_order: ORDER,
      weather: { description: "Tells the weather.", execute: weather as never },
      other: { description: "x".repeat(2000), execute: () => "" },
    });
    expect(registered.accepted).toEqual(["find_order", "weather"]);
    expect(registered.rejected).toEqual([{ name: "other", reason: "description has more than 1024 characters" }]);
    await say("Where is order 7?");
    expect(await answer(1)).toBe("Order 7 is on its way. It rains.");
    expect(seen).toEqual([[{ city: "Rome" }, "call_1"]]);
    expect(said().map(({ who }) => who)).toEqual(["person", "avatar"]);
    const [first] = providers.of("llm").slice(-2);
    expect(first?.body).toMatchObject({
      tools: [
        {
          type: "function",
          function: { name: "find_order", description: "Finds an order.", parameters: ORDER.parameters },
        },
        { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } },
      ],
    });
    expect(told().slice(-3)).toMatchObject([
      {
        role: "assistant",
        tool_calls: [{ id: "call_0", function: { name: "find_order", arguments: '{"id":7}' } }, { id: "call_1" }],
      },
      { role: "tool", tool_call_id: "call_0", content: "Order 7 is on its way." },
      { role: "tool", tool_call_id: "call_1", content: "It rains." },
    ]);
    // The system message has only the operator's instructions, whatever the names of tools contain.
    expect(told()[0]?.content).not.toContain("order");
  });

  test("tools that hang, throw, return too much or are gone: an error for the model; the call continues", async () => {
    const { say, attach, answer } = await startCall();
    const { dispose } = await attach({
      hang: { description: "Hangs.", execute: () => new Promise(() => {}) },
      fail: {
        description: "Throws.",
        execute: () => {
          throw new Error("The shop is closed.");
        },
      },
      talk: { description: "Says too much.", execute: () => "word ".repeat(4000) },
    });
    callTools({ name: "fail", args: "" }, { name: "talk", args: "{}" }, { name: "hang", args: "{}" });
    await say("One?");
    expect(await answer(1)).toBe("Noted.");
    expect(results()).toEqual([
      '{"error":"The shop is closed."}',
      expect.stringContaining("over the 8192 limit"),
      '{"error":"The tool took too long."}',
    ]);
    callTools({ name: "missing", args: "{}" }, { name: "fail", args: '{"broken":' });
    await say("Two?");
    expect(await answer(2)).toBe("Noted.");
    expect(results().slice(3)).toEqual([
      '{"error":"There is no tool with this name."}',
      expect.stringContaining("The arguments must be a JSON object"),
    ]);
    dispose();
    callTools({ name: "fail", args: "{}" });
    await say("Three?");
    expect(await answer(3)).toBe("Noted.");
    expect(results().slice(5)).toEqual(['{"error":"The page of the person did not run the tool."}']);
  });

  test("a turn while a tool runs: answered at once, and the late result is in no answer", async () => {
    const { say, attach, person, said } = await startCall();
    let isCalled = false;
    let release = (_result: string): void => {};
    const execute = (): Promise<string> => {
      isCalled = true;
      return new Promise((resolve) => {
        release = resolve;
      });
    };
    await attach({ slow: { description: "Takes long.", execute } });
    callTools({ name: "slow", args: "{}" });
    await say("One?");
    await person.until(() => isCalled);
    providers.setAnswer(() => "Of course.");
    const requests = providers.of("llm").length;
    await say("Never mind.");
    await person.until(() => said().length === 3);
    release("A late result.");
    await say("Really.");
    await person.until(() => said().at(-1)?.text === "Of course." && said().length === 5);
    expect(providers.of("llm").length).toBe(requests + 2);
    const roles = told().map(({ role }) => role);
    expect(roles.slice(1, 5)).toEqual(["user", "assistant", "tool", "user"]);
    expect(results()).toEqual([expect.stringContaining("The result is not known")]);
    expect(JSON.stringify(told())).not.toContain("late result");
  });

  test("a process that is killed after a tool call: the next one tells the model of the call and its result", async () => {
    const { say, attach, answer, session } = await startCall();
    await attach({ find_order: ORDER });
    callTools({ name: "find_order", args: '{"id":7}' });
    await say("Where is order 7?");
    expect(await answer(1)).toBe("Noted.");
    const [pid] = [...world.worker.stdout().matchAll(/"pid":(\d+),"mode"/g)].map(([, id]) => Number(id)).slice(-1);
    process.kill(pid ?? 0, "SIGKILL");
    await control.untilReported(session, "joining");
    const isBack = () => control.reportsOf(session).at(-1)?.state === "started";
    await until(isBack);
    providers.setAnswer(() => "Of course.");
    const requests = providers.of("llm").length;
    await until(async () => {
      await say("And now?");
      await Bun.sleep(500);
      return providers.of("llm").length > requests;
    });
    expect(told().slice(1, 5)).toMatchObject([
      { role: "user", content: "Where is order 7?" },
      { role: "assistant", tool_calls: [{ function: { name: "find_order", arguments: '{"id":7}' } }] },
      { role: "tool", content: "Order 7 is on its way." },
      { role: "assistant", content: "Noted." },
    ]);
  });

  test("a model without support for tools: asked again without them, and answers", async () => {
    providers.refuseTools(true);
    providers.setAnswer(({ tools }) => (tools ? "With tools." : "Good morning."));
    const { say, attach, answer } = await startCall();
    await attach({ find_order: ORDER });
    await say("One?");
    expect(await answer(1)).toBe("Good morning.");
    const requests = providers.of("llm").length;
    await say("Two?");
    expect(await answer(2)).toBe("Good morning.");
    expect(providers.of("llm").length).toBe(requests + 1);
  });

  test("a call that was started without client_tools: the page cannot register tools", async () => {
    providers.setAnswer(({ tools }) => (tools ? "With tools." : "Good morning."));
    const { say, attach, answer } = await startCall({ stt_mode: "off" });
    await expect(attach({ find_order: ORDER }, 500)).rejects.toThrow("client_tools");
    await say("One?");
    expect(await answer(1)).toBe("Good morning.");
  });
});
