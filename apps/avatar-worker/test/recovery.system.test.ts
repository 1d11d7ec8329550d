/** Recovery of conversations whose processes are killed or stopped, with the whole service and a LiveKit server. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { RoomEvent, TrackKind } from "@livekit/rtc-node";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { joinAsPerson, type Person } from "./support/person.ts";
import { type Service, startService } from "./support/service.ts";
import { watchTranscript } from "./support/transcript.ts";

setDefaultTimeout(120_000);

const binary = await livekitBinary();
const title = `a conversation${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const LONG = Array.from({ length: 30 }, (_, index) => `Heliotrope number ${index} is here.`).join(" ");

describe.skipIf(binary.kind === "missing" || process.platform !== "linux")(title, () => {
  let providers: ScriptedProviders;
  let service: Service;
  beforeAll(async () => {
    providers = startProviders({ llmMs: 50, ttsMs: 20, sttMs: 20 });
    const program = binary.kind === "found" ? binary.path : "";
    service = await startService(program, { slots: 2, workerVariables: providers.variables });
  });
  afterEach(() => service.killWorkers());
  afterAll(async () => {
    await service?.stop();
    await providers?.stop();
  });

  const startCall = async (worker: RunningProcess, mode: "voice" | "avatar" = "voice") => {
    const call = await service.start(service.operatorKey, { mode });
    const person = await joinAsPerson(call.url, call.token);
    const { said } = watchTranscript(person.room);
    await until(async () => (await service.stateOf(call.id))["status"] === "started");
    const type = (text: string) => person.room.localParticipant?.sendText(text, { topic: "lk.chat" });
    const pid = /"pid":(\d+),"mode"/.exec(
      worker
        .stdout()
        .split("\n")
        .find((line) => line.includes(call.id)) ?? "",
    );
    return { ...call, person, said, type, pid: Number(pid?.[1]) };
  };
  /** The last messages to the model, without the instructions. */
  const lastAsked = () => {
    const body = providers.of("llm").at(-1)?.body as { messages: { role: string; content: string }[] } | undefined;
    return (body?.messages ?? []).filter(({ role }) => role !== "system");
  };
  const untilHeardAfter = (person: Person, at: number) =>
    person.until(() => person.heard.some((frame) => frame.at > at && frame.level > 0.02));
  /** Waits until the person has heard this text and the service has stored it. */
  const untilSpoken = async (id: string, person: Person): Promise<void> => {
    await person.until(() => person.heardSeconds() > 3);
    await until(async () => {
      const [row] = await service.db
        .client`select speaking is not null as is_known from calls where session_id = ${id}`;
      return row?.["is_known"] === true;
    });
  };
  /** Sends the next turn. The model must get the first turn, the heard part of its answer, and this turn. */
  const expectHistory = async (type: (text: string) => unknown): Promise<void> => {
    providers.setAnswer(() => "Of course.");
    const before = providers.of("llm").length;
    await until(async () => {
      if (providers.of("llm").length > before) return true;
      await type("And now?");
      await Bun.sleep(1000);
      return providers.of("llm").length > before;
    });
    const [first, answer, ...rest] = lastAsked();
    expect(first).toEqual({ role: "user", content: "Tell me all." });
    expect(answer?.role).toBe("assistant");
    expect(LONG.startsWith(answer?.content ?? "?")).toBe(true);
    expect(answer?.content.length).toBeGreaterThan(10);
    expect(answer?.content.length).toBeLessThan(LONG.length / 2);
    expect(new Set(rest.map(({ content }) => content))).toEqual(new Set(["And now?"]));
  };

  test("whose process is killed while the avatar speaks: the next process knows the heard words, and repeats nothing", async () => {
    const worker = await service.startWorker();
    const call = await startCall(worker);
    providers.setAnswer(() => LONG);
    await call.type("Tell me all.");
    await untilSpoken(call.id, call.person);
    process.kill(call.pid, "SIGKILL");
    await worker.waitFor(/"a call was started again"/);
    await until(() => worker.stdout().split('"state":"started"').length > 2);
    expect(providers.of("llm")).toHaveLength(1);
    await expectHistory(call.type);
    await call.person.leave();
  });

  test("whose worker is killed while the avatar thinks: the next worker answers; its voice comes before its picture", async () => {
    const worker = await service.startWorker();
    const call = await startCall(worker, "avatar");
    await call.person.until(() => call.person.seen.length > 0);
    const kinds: (TrackKind | undefined)[] = [];
    call.person.room.on(RoomEvent.TrackSubscribed, ({ kind }) => void kinds.push(kind));
    await service.startWorker();
    const asked = providers.of("llm").length;
    providers.setAnswer(() => "Of course.");
    // The voice hangs, so the turn has no answer when the worker is killed.
    providers.faults.set("tts", "hang");
    await call.type("Tell me all.");
    await until(() => providers.of("llm").length > asked);
    await until(
      async () => (await service.db.client`select from call_segments where session_id = ${call.id}`).length > 0,
    );
    worker.kill("SIGKILL");
    providers.faults.delete("tts");
    await untilHeardAfter(call.person, performance.now());
    await call.person.until(() => kinds.length === 2);
    expect(kinds).toEqual([TrackKind.KIND_AUDIO, TrackKind.KIND_VIDEO]);
    expect(await service.stateOf(call.id)).toMatchObject({ generation: 2 });
    expect(lastAsked()).toEqual([{ role: "user", content: "Tell me all." }]);
    await call.person.leave();
  });

  test("whose worker stops: the next worker joins before this one leaves; the call may move again", async () => {
    const worker = await service.startWorker();
    const call = await startCall(worker);
    await service.startWorker();
    providers.setAnswer(() => LONG);
    await call.type("Tell me all.");
    await untilSpoken(call.id, call.person);
    worker.kill("SIGTERM");
    await until(async () => {
      const state = await service.stateOf(call.id);
      return state["generation"] === 2 && call.person.attributes.length > 0;
    });
    expect(await worker.exited).toBe(0);
    const [row] = await service.db.client`select handovers, lost_processes from calls where session_id = ${call.id}`;
    expect({ ...row }).toEqual({ handovers: 1, lost_processes: 0 });
    await expectHistory(call.type);
    await untilHeardAfter(call.person, performance.now() - 1000);
    expect(await service.stateOf(call.id)).toMatchObject({ status: "started" });
    await call.person.leave();
  });
});
