import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { Writable } from "node:stream";
import { openPipe, type TestPipe } from "@realtime-avatar/testing/run/pipe";
import { createLog, inTurns, passLine } from "./log.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

const SECRET = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";

/** Moves the cursor, changes colours and the direction of text, begins a line, rings the bell. */
const HOSTILE = "a\u001b[2Jb\u009b31mc\u202ed\r\ne\u2028f\u200bg\u0007";
const AFFECTS_TERMINAL = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** `pino-pretty` adds colours. */
const COLOR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");

const logged = (isTerminal: boolean, write: (log: ReturnType<typeof createLog>) => void): string => {
  let text = "";
  const log = createLog("info", { write: (line) => (text += line) }, isTerminal);
  write(log);
  return text;
};

describe("the log", () => {
  test("a log line, to a file: one JSON object", () => {
    const text = logged(false, (log) => {
      log.info({ requestId: "r" }, "request");
      log.debug("not at this level");
    });
    expect(text.endsWith("\n")).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ level: 30, requestId: "r", msg: "request" });
  });

  test("a log line, to a terminal: readable text", () => {
    const text = logged(true, (log) => log.info({ requestId: "r" }, "request"));
    expect(text).toContain("INFO");
    expect(text).toContain("request");
    expect(text.startsWith("{")).toBe(false);
  });

  test.each([true, false])("an API key, logged (terminal: %p): masked", (isTerminal) => {
    const text = logged(isTerminal, (log) => {
      log.info({ nested: { value: SECRET } }, `a message with ${SECRET}`);
      log.error(new Error(`an error with ${SECRET}`));
    });
    expect(text).toContain("rta_live_0123456789ABCDEF_****");
    expect(text).not.toContain("GHIJ");
  });

  test("text of callers, in each part of a log line: does not affect a terminal; in JSON its value is unchanged", () => {
    const write = (log: ReturnType<typeof createLog>): void => {
      log.info({ field: HOSTILE, nested: { [HOSTILE]: [HOSTILE] } }, HOSTILE);
      log.error({ err: new Error(HOSTILE), stack: HOSTILE }, "request");
    };
    const lines = logged(false, write);
    let passed = "";
    const pass = passLine({ write: (line) => (passed += line) }, true);
    for (const line of lines.trimEnd().split("\n")) pass(`${line}\n`);
    pass(`no JSON: ${HOSTILE}`);
    for (const text of [logged(true, write), passed]) {
      expect(text.replaceAll(COLOR, "")).not.toMatch(AFFECTS_TERMINAL);
      expect(text).toContain("a\\u{1b}[2Jb\\u{9b}31mc\\u{202e}d");
    }
    expect(lines).not.toMatch(AFFECTS_TERMINAL);
    expect(JSON.parse(lines.split("\n")[0] as string)).toMatchObject({ msg: HOSTILE, field: HOSTILE });
  });
});

describe("the buffered log", () => {
  test("the lines of a turn of the event loop, buffered: written together, in order", async () => {
    const written: string[] = [];
    const stream = new Writable({
      decodeStrings: false,
      write: (text, _, done) => {
        written.push(text);
        done();
      },
    });
    const log = createLog("info", inTurns(stream));
    for (let line = 0; line < 3; line++) log.info({ line }, "one turn");
    expect(written).toEqual([]);
    await new Promise(setImmediate);
    log.info({ line: 3 }, "another");
    await new Promise(setImmediate);
    expect(written).toHaveLength(2);
    const lines = written.join("").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([0, 1, 2, 3]);
  });

  test.each(["process.exit(0)", "throw new Error('x')", "setTimeout(() => {}, 1)"])(
    "a buffered line, when the process ends by %s: written",
    async (end) => {
      const program = `
        const { createLog, inTurns } = await import(${JSON.stringify(join(import.meta.dir, "log.ts"))});
        const log = createLog("info", inTurns(process.stdout));
        log.info("the last line");
        ${end};`;
      const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "ignore" });
      expect(await new Response(child.stdout).text()).toContain('"msg":"the last line"}\n');
      await child.exited;
    },
  );
});

describe("the buffer of a reader that stalls", () => {
  /** The maximum number of buffered characters. */
  const MOST = 4 * 1024 * 1024;
  /** A stream that accepts nothing more after each write, until `drain`. */
  const stalling = () => {
    const written: number[] = [];
    const listeners = new Map<string, () => void>();
    const output = inTurns({
      write: (text) => {
        written.push(text.length);
        return false;
      },
      on: (event, listener) => void listeners.set(event, listener),
    });
    const resumed: number[] = [];
    output.onResume((dropped) => resumed.push(dropped));
    return { output, written, resumed, tell: (event: "drain" | "error") => listeners.get(event)?.() };
  };

  test("full, with one more character: the line is dropped and counted; each number is reported once, after the buffered lines", async () => {
    const { output, written, resumed, tell } = stalling();
    output.write("x");
    await new Promise(setImmediate);
    output.write("x".repeat(MOST));
    expect([written, output.dropped()]).toEqual([[1], 0]);
    for (let line = 0; line < 3; line++) output.write("x");
    expect([written, output.dropped(), resumed]).toEqual([[1], 3, []]);
    tell("drain");
    expect([written, resumed]).toEqual([[1, MOST], [3]]);
    output.write("more");
    tell("drain");
    expect([written, resumed]).toEqual([[1, MOST, 4], [3]]);
    tell("drain");
    await output.drained();
    output.write("last");
    await new Promise(setImmediate);
    expect(written.at(-1)).toBe(4);
  });

  test("whose reader has ended: the buffered lines and all later ones count as dropped; the process does not wait for them", async () => {
    const { output, written, resumed, tell } = stalling();
    output.write("x\n");
    await new Promise(setImmediate);
    for (let line = 0; line < 3; line++) output.write("y\n");
    tell("error");
    output.write("z\n");
    await output.drained();
    expect([written, output.dropped(), resumed]).toEqual([[2], 4, []]);
  });
});

/** Runs `program`, whose log goes to a pipe that only the test reads. */
const withPipe = async (
  program: string,
  use: (child: Bun.Subprocess<"pipe", number, "pipe">, pipe: TestPipe) => Promise<void>,
): Promise<void> => {
  const pipe = await openPipe();
  const head = `
    const { createLog, inTurns } = await import(${JSON.stringify(join(import.meta.dir, "log.ts"))});
    const output = inTurns(process.stdout);
    const log = createLog("info", output);
    const turn = () => new Promise(setImmediate);
    const fill = async (count) => {
      for (let line = 0; line < count; line++) {
        log.info({ line, filler: "x".repeat(900) }, "a line");
        if (line % 100 === 0) await turn();
      }
    };
    const say = (values) => process.stderr.write(JSON.stringify(values) + "\\n");
    const mebibytes = () => process.memoryUsage.rss() / 1024 / 1024;`;
  const command = [process.execPath, "--no-env-file", "-e", head + program];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: pipe.writer, stderr: "pipe" });
  pipe.closeWriter();
  try {
    await use(child, pipe);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    await pipe.remove();
  }
};

const LINES = 60_000;

describe("a stalled reader of the log", () => {
  test("a reader that stalls and then reads: process and memory are unaffected, and dropped lines are reported", async () => {
    const program = `
      await fill(1000);
      const before = mebibytes();
      for (let round = 1; round <= 5; round++) await fill(${LINES / 5});
      Bun.gc(true);
      say({ dropped: output.dropped(), grown: mebibytes() - before });
      process.stdin.once("data", async () => {
        log.info("the last line");
        await output.drained();
        process.exit(0);
      });`;
    await withPipe(program, async (child, { read }) => {
      const stderr = child.stderr.getReader();
      // The process ends although no reader has read a byte.
      const { value } = await stderr.read();
      const { dropped, grown } = JSON.parse(new TextDecoder().decode(value)) as { dropped: number; grown: number };
      expect(dropped).toBeGreaterThan(LINES / 2);
      // 60 MB were logged.
      expect(grown).toBeLessThan(40);
      let text = "";
      let isAsked = false;
      for (let part = read(); part !== null; part = read()) {
        text += part;
        if (part === "") await Bun.sleep(1);
        if (isAsked || !text.includes("dropped")) continue;
        isAsked = true;
        child.stdin.write("end\n");
        child.stdin.flush();
      }
      expect(await child.exited).toBe(0);
      const lines = text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const told = lines.filter(({ level }) => level === 40);
      expect(told).toEqual([
        expect.objectContaining({ dropped, msg: "log lines were dropped because their reader had stalled" }),
      ]);
      expect(lines.filter(({ msg }) => msg === "a line")).toHaveLength(LINES + 1000 - dropped);
      expect(lines.at(-1)).toMatchObject({ msg: "the last line" });
    });
  });

  test("a slow reader at the end of the process: gets all lines", async () => {
    const program = `
      await fill(1000);
      say({});
      await output.drained();
      process.exit(0);`;
    await withPipe(program, async (child, { read }) => {
      // By now, more characters wait than the pipe holds.
      await child.stderr.getReader().read();
      let text = "";
      for (let part = read(); part !== null; part = read()) {
        text += part;
        if (part === "") await Bun.sleep(1);
      }
      expect(text.match(/a line/g)).toHaveLength(1000);
      expect(await child.exited).toBe(0);
    });
  });

  test("a reader that ends: the process goes on, every later line counts as dropped", async () => {
    const program = `
      await fill(1000);
      say({});
      process.stdin.once("data", async () => {
        await fill(${LINES});
        const grown = output.dropped();
        await fill(1000);
        say({ dropped: output.dropped(), more: output.dropped() - grown });
        await output.drained();
        process.exit(0);
      });`;
    await withPipe(program, async (child, { closeReader }) => {
      const stderr = child.stderr.getReader();
      await stderr.read();
      closeReader();
      child.stdin.write("go on\n");
      child.stdin.flush();
      const { value } = await stderr.read();
      const { dropped, more } = JSON.parse(new TextDecoder().decode(value)) as { dropped: number; more: number };
      expect(dropped).toBeGreaterThan(LINES);
      expect(more).toBe(1000);
      expect(await child.exited).toBe(0);
    });
  });
});
