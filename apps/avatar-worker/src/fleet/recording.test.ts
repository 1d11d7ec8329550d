import { expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { createRecordingSender } from "./recording.ts";
import { RefusedRequest } from "./service.ts";

const recorded = { ...assigned, recording: { mode: "audio" } as const };
const fragment = (value: number): Uint8Array => new Uint8Array(10).fill(value);

/** A sender whose requests `respond` answers. `sent`: the number and the first byte of each one. */
const start = (respond: () => Promise<void>, times = { wait: 30_000, last: 30_000 }) => {
  const sent: [n: number, value: number][] = [];
  const results: string[] = [];
  const lines: string[] = [];
  const sender = createRecordingSender(
    recorded,
    {
      service: {
        fragment: (session, { generation, n }, [value = 0]) => {
          expect([session, generation]).toEqual([recorded.session_id, 1]);
          sent.push([n, value]);
          return respond();
        },
      },
      log: createLog("info", { write: (line: string) => void lines.push(line) }),
      watcher: { fragmentSent: () => results.push("sent"), fragmentLost: () => results.push("lost") },
    },
    times,
  );
  if (sender === null) throw new Error("the call is not recorded");
  return { sender, sent, results, lines };
};

test("a call that is not recorded: has no sender", () => {
  const service = { fragment: async () => {} };
  const log = createLog("silent", { write: () => {} });
  expect(createRecordingSender(assigned, { service, log, watcher: null })).toBeNull();
});

test("fragments: sent one after another, with their numbers; the end waits for them", async () => {
  let isBusy = false;
  const { sender, sent, results } = start(async () => {
    expect(isBusy).toBe(false);
    isBusy = true;
    await Bun.sleep(1);
    isBusy = false;
  });
  for (let value = 1; value <= 3; value++) sender.receive({ kind: "fragment", bytes: fragment(value) });
  await sender.finish();
  expect(sent).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
  sender.receive({ kind: "fragment", bytes: fragment(4) });
  await sender.finish();
  expect([sent.at(-1), results]).toEqual([
    [3, 4],
    ["sent", "sent", "sent", "sent"],
  ]);
});

test("a service that fails, or whose secret is changed: gets the same fragment again", async () => {
  const failures = [new Error("no connection"), new RefusedRequest(503), new RefusedRequest(401)];
  const { sender, sent, results, lines } = start(async () => {
    const failure = failures.shift();
    if (failure) throw failure;
  });
  sender.receive({ kind: "fragment", bytes: fragment(1) });
  await until(() => results.length > 0);
  expect(sent).toEqual([0, 0, 0, 0].map((n) => [n, 1]));
  expect([results, lines]).toEqual([["sent"], []]);
});

test("a service that refuses a fragment: gets no further fragments; its refusal is logged", async () => {
  const { sender, sent, results, lines } = start(() => Promise.reject(new RefusedRequest(409, "recording_is_full")));
  sender.receive({ kind: "fragment", bytes: fragment(1) });
  sender.receive({ kind: "fragment", bytes: fragment(2) });
  await sender.finish();
  sender.receive({ kind: "fragment", bytes: fragment(3) });
  await sender.finish();
  expect([sent.length, results]).toEqual([1, ["lost", "lost", "lost"]]);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ fragments: 2, status: 409, code: "recording_is_full" });
});

test("a service that does not answer: six fragments wait, two are lost; the end of the call waits for a moment", async () => {
  const { sender, sent, results } = start(() => new Promise(() => {}), { wait: 20, last: 30_000 });
  for (let value = 1; value <= 8; value++) sender.receive({ kind: "fragment", bytes: fragment(value) });
  expect(results).toEqual(["lost", "lost"]);
  await sender.finish();
  expect(sent).toEqual([[0, 1]]);
});

test("a service that fails until it takes no more fragments of an ended call: the rest is lost", async () => {
  const { sender, results } = start(() => Promise.reject(new RefusedRequest(503)), { wait: 5000, last: 0 });
  sender.receive({ kind: "fragment", bytes: fragment(1) });
  sender.receive({ kind: "fragment", bytes: fragment(2) });
  await sender.finish();
  expect(results).toEqual(["lost", "lost"]);
});

test("a process that reports that the person knows of the recording, and then that it has stopped: remembered, and logged", () => {
  const { sender, lines } = start(async () => {});
  expect(sender.isTold()).toBe(false);
  sender.receive({ kind: "told" });
  sender.receive({ kind: "unrecorded", cause: "no encoder" });
  expect([sender.isTold(), JSON.parse(lines[0] ?? "")]).toMatchObject([true, { cause: "no encoder" }]);
});

test("a process that sends more bytes than a recording can have: the rest is lost", () => {
  const { sender, results } = start(async () => {});
  for (let count = 0; count < 5; count++) sender.receive({ kind: "fragment", bytes: new Uint8Array(4 * 1024 * 1024) });
  expect(results).toEqual(["lost"]);
});
