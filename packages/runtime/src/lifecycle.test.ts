import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { type AtExit, endingGracefully } from "./lifecycle.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

const command = (start: string, options: object = {}): string[] => {
  const lifecycle = JSON.stringify(join(import.meta.dir, "lifecycle.ts"));
  const program = `const { runProcess } = await import(${lifecycle});
    runProcess(async (atExit, isStopping) => { ${start} }, ${JSON.stringify(options)});
    setInterval(() => {}, 1000);`;
  return [process.execPath, "--no-env-file", "-e", program];
};

describe("runProcess", () => {
  test("a start that fails: one line of error, closes what it has opened, exit 1", async () => {
    const start = `atExit(async (signal) => console.log("closed", signal)); throw new Error("no port");`;
    expect(await runToEnd(command(start))).toEqual({ code: 1, stdout: "closed null\n", stderr: "no port\n" });
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "a process, on %s: closes in reverse order, exit 0",
    async (signal) => {
      const start = `atExit(async (signal) => console.log("first", signal));
      atExit(async (signal) => { process.kill(process.pid, signal); await Bun.sleep(20); console.log("second"); });
      console.log("started");`;
      const running = startProcess(command(start));
      await running.waitFor(/started/);
      running.kill(signal);
      expect(await running.exited).toBe(0);
      expect(running.stdout()).toBe(`started\nsecond\nfirst ${signal}\n`);
    },
  );

  test.skipIf(process.platform !== "linux").each([
    // As nohup does.
    ["HUP", "SIGTERM"],
    // A shell does so for background processes.
    ["INT", "SIGHUP"],
  ] as const)("a process, started with SIG%s ignored: closes on %s", async (ignored, signal) => {
    const start = `process.on("SIGUSR2", () => console.log("running"));
      atExit(async (signal) => console.log("closed", signal)); console.log("started");`;
    const running = startProcess(["/bin/sh", "-c", `trap "" ${ignored}; exec "$0" "$@"`, ...command(start)]);
    await running.waitFor(/started/);
    running.kill("SIGHUP");
    if (ignored === "HUP") {
      running.kill("SIGUSR2");
      await running.waitFor(/running/);
      running.kill("SIGTERM");
    }
    expect([await running.exited, running.stdout().split("\n").at(-2)]).toEqual([0, `closed ${signal}`]);
  });

  test.each([
    ["SIGINT", ""],
    ["SIGTERM", "initdb ended\n"],
  ] as const)(
    "a start, on %s: ends at its next registration; a failure is printed, except after Ctrl-C",
    async (signal, stderr) => {
      const first = `atExit(async () => console.log("closed")); console.log("starting");
        while (!isStopping()) await Bun.sleep(1);
`;
      const ended = async (rest: string) => {
        const running = startProcess(command(first + rest));
        await running.waitFor(/starting/);
        running.kill(signal);
        return { code: await running.exited, stdout: running.stdout(), stderr: running.stderr() };
      };
      const registers = `atExit(async () => console.log("closed first")); console.log("started");`;
      expect(await ended(registers)).toEqual({ code: 0, stdout: "starting\nclosed first\nclosed\n", stderr: "" });
      const failed = await ended(`throw new Error("initdb ended");`);
      expect(failed).toEqual({ code: signal === "SIGINT" ? 0 : 1, stdout: "starting\nclosed\n", stderr });
    },
  );

  test("a start, with a misspelt setting: suggests the setting before a failure, without the value", async () => {
    const { stderr } = await runToEnd(command(`throw new Error("no database");`), { DATABSE_URL: "hunter2" });
    expect(stderr).toBe("DATABSE_URL is not a setting. Did you mean DATABASE_URL?\nno database\n");
  });

  test("a process that another process has started: ignores the signals of a terminal, and stops when its standard input ends", async () => {
    const lifecycle = JSON.stringify(join(import.meta.dir, "lifecycle.ts"));
    const program = `const { runProcess } = await import(${lifecycle});
      process.on("SIGUSR2", () => console.log("running"));
      runProcess(async (atExit) => {
        atExit(async (signal) => console.log("closed", signal));
        console.log("started");
      }, { endsWithStdin: true });`;
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], { stdin: "pipe", stdout: "pipe" });
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text === "started\n") for (const signal of ["SIGINT", "SIGHUP", "SIGUSR2"] as const) child.kill(signal);
      if (text === "started\nrunning\n") child.stdin.end();
    }
    expect([await child.exited, text]).toEqual([0, "started\nrunning\nclosed SIGTERM\n"]);
  });

  test("a process whose closing fails: exit 1", async () => {
    const running = startProcess(command(`atExit(() => Promise.reject(new Error("x"))); console.log("started");`));
    await running.waitFor(/started/);
    running.kill("SIGTERM");
    expect(await running.exited).toBe(1);
  });

  test("an unhandled rejection, in a process: it runs on, only name and code are printed", async () => {
    const start = `Promise.reject(Object.assign(new TypeError("hunter2"), { code: "E1" })); console.log("started");`;
    const running = startProcess(command(start));
    await running.waitFor(/Unhandled/);
    running.kill("SIGTERM");
    expect(await running.exited).toBe(0);
    expect(running.stderr()).toBe("Unhandled rejection: TypeError (code E1).\n");
  });

  test("an uncaught exception: closes without a signal, exits with 1, and prints no message", async () => {
    const start = `atExit(async (signal) => { await Bun.sleep(20); console.log("closed", signal); });
      setTimeout(() => { throw Object.assign(new TypeError("hunter2"), { code: "E1" }); }, 1);`;
    const { code, stdout, stderr } = await runToEnd(command(start));
    expect([code, stdout]).toEqual([1, "closed null\n"]);
    expect(stderr).toStartWith("Uncaught exception: TypeError (code E1).\n    at ");
    expect(stderr).not.toContain("hunter2");
  });

  test.each([
    ["a start that fails, closing", "atExit(() => new Promise(() => {})); throw new Error();"],
    [
      "an uncaught exception, closing",
      "atExit(() => new Promise(() => {})); setTimeout(() => { throw new Error(); }, 1);",
    ],
    ["an uncaught exception, the start", "setTimeout(() => { throw new Error(); }, 1); await new Promise(() => {});"],
  ])("%s never ends: exits with 1", async (_, start) => {
    expect((await runToEnd(command(start, { crashMs: 50 }))).code).toBe(1);
  });
});

describe("endingGracefully", () => {
  test.each([
    ["SIGTERM", 30],
    ["SIGHUP", 30],
    ["SIGINT", 0],
    [null, 0],
  ] as const)("a shutdown, on %s: waits %i ms, and is reported meanwhile", async (signal, milliseconds) => {
    let close: Parameters<AtExit>[0] = () => Promise.resolve();
    const isEnding = endingGracefully((registered) => {
      close = registered;
    }, 30);
    expect(isEnding()).toBe(false);
    const startedAt = performance.now();
    const closed = close(signal, new Promise(() => {}));
    expect(isEnding()).toBe(true);
    await closed;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(milliseconds - 2);
  });

  test("a shutdown, SIGINT during its wait: ends the wait", async () => {
    const lifecycle = JSON.stringify(join(import.meta.dir, "lifecycle.ts"));
    const start = `const { endingGracefully } = await import(${lifecycle});
      const isEnding = endingGracefully(atExit, 2 ** 30);
      setInterval(() => isEnding() && console.log("ending"), 1);
      console.log("started");`;
    const running = startProcess(command(start));
    await running.waitFor(/started/);
    running.kill("SIGTERM");
    await running.waitFor(/ending/);
    running.kill("SIGINT");
    expect(await running.exited).toBe(0);
  });
});
