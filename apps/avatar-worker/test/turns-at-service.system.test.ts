/** Turns that a program sends to the service, with avatar workers as processes and a LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { until } from "@realtime-avatar/testing/until";
import { joinAsPerson } from "./support/person.ts";
import { type Service, startService } from "./support/service.ts";

setDefaultTimeout(120_000);

const binary = await livekitBinary();
const title = `turns of programs at the service${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.";

describe.skipIf(binary.kind === "missing")(title, () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService(binary.kind === "found" ? binary.path : "", { slots: 1 });
  });
  afterAll(() => service?.stop());

  const send = async (path: string, body: object) => {
    const response = await service.call("POST", `/realtime/${path}`, service.operatorKey, body);
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const read = async (id = "") =>
    (await (await service.call("GET", `/realtime/turns/${id}`, service.operatorKey)).json()) as Record<string, string>;
  const untilStatus = (id: string | undefined, ...wanted: string[]) =>
    until(async () => ((turn) => (wanted.includes(turn["status"] ?? "") ? turn : undefined))(await read(id)), {
      state: () => read(id),
    });

  test("a turn before the person is present: said when the person has come; then one across a killed worker", async () => {
    const worker = await service.startWorker();
    const call = await service.start(service.operatorKey, { mode: "voice" });
    const greeting = await send("turns", { session_id: call.id, kind: "say", text: "Welcome to our shop." });
    expect(greeting.status).toBe(202);
    const person = await joinAsPerson(call.url, call.token);
    expect(await untilStatus(greeting.body["id"], "said")).toMatchObject({ heard: "Welcome to our shop." });
    // The sound reaches the person a little later than the news reaches the service.
    await person.until(() => person.heardSeconds() > 0.5);

    const first = await send("turns", { session_id: call.id, kind: "say", text: LONG });
    await untilStatus(first.body["id"], "speaking");
    await service.startWorker();
    worker.kill("SIGKILL");
    // The turn may have been said, so the next worker does not say it.
    expect(await untilStatus(first.body["id"], "failed")).toMatchObject({ heard: null });
    // Sent only after the first turn has failed: earlier, the service could have given the turn to the lost worker.
    const second = await send("turns", { session_id: call.id, kind: "say", text: "And again.", interrupt: false });
    expect(await untilStatus(second.body["id"], "said")).toMatchObject({ heard: "And again." });
    expect(await service.stateOf(call.id)).toMatchObject({ generation: 2 });

    const third = await send("turns", { session_id: call.id, kind: "say", text: LONG });
    await untilStatus(third.body["id"], "speaking");
    expect((await send("interrupt", { session_id: call.id })).status).toBe(202);
    const { heard = "" } = await untilStatus(third.body["id"], "interrupted");
    expect(LONG).toStartWith(heard);
    await send("livekit/session/release", { session_id: call.id });
    expect((await send("turns", { session_id: call.id, kind: "say", text: "x" })).body["code"]).toBe(
      "call_not_running",
    );
    await person.leave();
  });
});
