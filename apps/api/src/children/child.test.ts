/** A worker as a child process: its output, its restarts and its end. Shell scripts stand in for the worker. */
import { expect, test } from "bun:test";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLog } from "@realtime-avatar/runtime/log";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import { createChild } from "./child.ts";
import { findProgram } from "./program.ts";

const folder = await fileFolder();

/** Runs this shell script as the worker. `lines`: its lines in the log of the API. `errors`: its standard error. */
const workerOf = (script: string, firstPauseMs = 1) => {
  const lines: string[] = [];
  const errors: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logOutput = { write, onResume: () => {}, dropped: () => 0, drained: async () => {} };
  const worker = createChild({
    name: "worker",
    command: ["sh", "-c", script],
    variables: { PATH: process.env["PATH"], FOLDER: folder },
    log: createLog("info", logOutput),
    logOutput,
    isTerminal: false,
    onError: (line) => errors.push(line),
    firstPauseMs,
  });
  worker.start();
  return { ...worker, lines, errors, until };
};

test("the worker's output, in fragments: passed on in whole lines", async () => {
  const worker = workerOf(
    `printf '{"a":'; sleep 0.1; printf '1}\\n{"b":2}\\n'; echo trouble >&2; printf '{"c":3'; cat >/dev/null; exit 0`,
  );
  await worker.until(() => worker.lines.length === 2 && worker.errors.length === 1);
  await worker.stop();
  expect(worker.lines).toEqual(['{"a":1}\n', '{"b":2}\n', '{"c":3\n']);
  expect(worker.errors).toEqual(["trouble\n"]);
});

test("the worker, started: gets the variables", async () => {
  const worker = workerOf(`echo "$FOLDER"; cat >/dev/null`);
  await worker.until(() => worker.lines.length === 1);
  await worker.stop();
  expect(worker.lines).toEqual([`${folder}\n`]);
});

test("the worker, ended by itself or a signal: started again; after a stop: not", async () => {
  const worker = workerOf(
    `count=$(cat "$FOLDER/count" 2>/dev/null || echo 0); echo $((count + 1)) >"$FOLDER/count"
    case $count in 0) exit 3 ;; 1) kill -9 $$ ;; 2) echo third; cat >/dev/null ;; esac`,
  );
  await worker.until(() => worker.lines.includes("third\n"));
  const ends = worker.lines.filter((line) => line.includes("starting it again")).map((line) => JSON.parse(line));
  expect(ends).toMatchObject([
    { level: 40, code: 3 },
    { level: 40, signal: "SIGKILL" },
  ]);
  await worker.stop();
  expect(await readFile(join(folder, "count"), "utf8")).toBe("3\n");
});

test("the worker, stopped before or between starts: stops at once", async () => {
  const worker = workerOf("exit 1", 600_000);
  await worker.until(() => worker.lines.length === 1);
  await worker.stop();
  const { stop } = createChild({
    name: "worker",
    command: [],
    variables: {},
    log: createLog("silent"),
    logOutput: { write: () => {}, onResume: () => {}, dropped: () => 0, drained: async () => {} },
    isTerminal: false,
  });
  await stop();
});

test("a worker program, not executable: tried again until the stop", async () => {
  const lines: string[] = [];
  const logOutput = {
    write: (line: string) => void lines.push(line),
    onResume: () => {},
    dropped: () => 0,
    drained: async () => {},
  };
  const worker = createChild({
    name: "worker",
    command: [join(folder, "missing")],
    variables: {},
    log: createLog("info", logOutput),
    logOutput,
    isTerminal: false,
    firstPauseMs: 1,
  });
  worker.start();
  await until(() => lines.length >= 2);
  await worker.stop();
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ code: "ENOENT", msg: "the worker does not start; trying again" });
});

test.each(["worker", "avatar-worker"] as const)("the program of the %s: searched only beside the API", async (app) => {
  const executable = join(folder, "realtime-avatar-api");
  expect(findProgram(app, "/$bunfs/root", executable)).toBeNull();
  const program = join(folder, `realtime-avatar-${app}`);
  await writeFile(program, "");
  await chmod(program, 0o755);
  expect(findProgram(app, "/$bunfs/root", executable)).toEqual([program, "--child"]);
  expect(findProgram(app, folder, executable)).toBeNull();
  expect(findProgram(app)?.slice(-2)).toEqual([
    expect.stringMatching(new RegExp(`apps/${app}/src/main.ts$`)),
    "--child",
  ]);
});
