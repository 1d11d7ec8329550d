/** The process of a call: its input, and the reports of its end. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readFragment } from "@realtime-avatar/domain/recordings/fragment";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { type CallProcess, type ProcessEnd, startCallProcess } from "./call-process.ts";
import type { FromCallProcess } from "./messages.ts";
import type { Step } from "./scripted.testing.ts";

const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "scripted.testing.ts")];

/** Starts a process with these steps. `messages`: its messages so far. `end`: how it ended. */
const run = (first: Step[]) => {
  const started = startCallProcess(SCRIPTED);
  const messages: FromCallProcess[] = [];
  const end = new Promise<ProcessEnd>((resolve) => {
    started.listen({ onMessage: (message) => messages.push(message), onEnd: resolve });
  });
  const token = JSON.stringify({ first, again: [] });
  started.send({
    kind: "start",
    assigned: { ...assigned, token },
    isRestart: false,
    isTold: false,
    leaseMs: 1000,
    conversation: null,
    speech: null,
    pictures: { renderer: "face", label: "AI" },
  });
  return { started, messages, end };
};

test("a call process that is stopped: ends by itself", async () => {
  const { started, messages, end } = run([{ kind: "report", state: "joined", used_seconds: 0 }]);
  await started.ready();
  await until(() => messages.length > 0);
  await started.stop();
  expect(await end).toEqual({ code: 0, signal: null, isCrash: true });
  expect(messages).toEqual([{ kind: "report", state: "joined", used_seconds: 0 }]);
});

test("a call process that sends a fragment of a recording: its bytes arrive", async () => {
  const { started, messages } = run([{ kind: "record", bytes: 5000 }]);
  await until(() => messages.length > 0);
  const [message] = messages;
  const bytes = message?.kind === "fragment" ? message.bytes : new Uint8Array(0);
  expect(readFragment(bytes)?.sounds[0]?.samples[0]).toHaveLength(5000);
  await started.stop();
});

test("a call process that is stopped and does not end by itself: killed", async () => {
  const { started, messages, end } = run([{ kind: "stay" }]);
  await until(() => messages.length > 0);
  await started.stop();
  expect(await end).toMatchObject({ signal: "SIGKILL" });
});

test.each<[string, Step[], Partial<ProcessEnd>]>([
  ["that aborts", [{ kind: "abort" }], { isCrash: true }],
  ["that exits", [{ kind: "exit" }], { code: 0, isCrash: true }],
  ["that sends an invalid message", [{ kind: "invalid" }], { signal: "SIGKILL", isCrash: true }],
  ["with a fragment of a recording that cannot be read", [{ kind: "record", bytes: null }], { signal: "SIGKILL" }],
])("a call process %s: reported as a crash", async (_, steps, expected) => {
  const { end } = run(steps);
  expect(await end).toMatchObject(expected);
});

test("a call process that floods the worker: reported as a crash; the rest is not read", async () => {
  const { messages, end } = run([{ kind: "flood" }]);
  expect(await end).toMatchObject({ signal: "SIGKILL", isCrash: true });
  await Bun.sleep(100);
  expect(messages.length).toBeLessThan(2000);
});

test.each(["SIGKILL", "SIGTERM"] as const)(
  "a call process that another program ends by %s: no crash",
  async (signal) => {
    const { started, end } = run([]);
    await started.ready();
    process.kill(started.pid as number, signal);
    expect(await end).toMatchObject({ signal, isCrash: false });
  },
);

test("a program that does not exist: the process ends and is never ready", async () => {
  const started: CallProcess = startCallProcess(["/nonexistent"]);
  expect(await new Promise((onEnd) => started.listen({ onMessage: () => {}, onEnd }))).toMatchObject({
    code: 127,
    isCrash: true,
  });
  await expect(started.ready()).rejects.toThrow("before it was ready");
  await started.stop();
});

test.skipIf(process.platform !== "linux")(
  "the environment and the limits of a call process: no secret of the worker, and no core dump",
  async () => {
    process.env["AVATAR_WORKER_SECRET"] = "a secret of thirty-two characters";
    const started = startCallProcess(SCRIPTED);
    delete process.env["AVATAR_WORKER_SECRET"];
    await started.ready();
    const names = readFileSync(`/proc/${started.pid}/environ`, "utf8")
      .split("\0")
      .map((variable) => variable.split("=")[0]);
    expect(names).toContain("RUST_LOG");
    expect(names.join()).not.toMatch(/SECRET|TOKEN|DATABASE/);
    // A core dump would contain a token.
    expect(readFileSync(`/proc/${started.pid}/limits`, "utf8")).toMatch(/^Max core file size +0 +0 /m);
    await started.stop();
  },
);
