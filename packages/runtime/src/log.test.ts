import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { createLog, inTurns } from "./log.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const SECRET = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";

const logged = (isTerminal: boolean, write: (log: ReturnType<typeof createLog>) => void): string => {
  let text = "";
  const log = createLog("info", { write: (line) => (text += line) }, isTerminal);
  write(log);
  return text;
};

describe("the log", () => {
  test("is one JSON object a line", () => {
    const text = logged(false, (log) => {
      log.info({ requestId: "r" }, "request");
      log.debug("not at this level");
    });
    expect(text.endsWith("\n")).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ level: 30, requestId: "r", msg: "request" });
  });

  test("is words on a terminal", () => {
    const text = logged(true, (log) => log.info({ requestId: "r" }, "request"));
    expect(text).toContain("INFO");
    expect(text).toContain("request");
    expect(text.startsWith("{")).toBe(false);
  });

  test.each([true, false])("masks a key that slips into it (terminal: %p)", (isTerminal) => {
    const text = logged(isTerminal, (log) => {
      log.info({ nested: { value: SECRET } }, `a message with ${SECRET}`);
      log.error(new Error(`an error with ${SECRET}`));
    });
    expect(text).toContain("rta_live_0123456789ABCDEF_****");
    expect(text).not.toContain("GHIJ");
  });
});

describe("in turns", () => {
  test("lines go together, in order, when the turn ends, and none is left behind", async () => {
    const written: string[] = [];
    const log = createLog("info", inTurns({ write: (text) => written.push(text) }));
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
    "what is left goes when the process ends by %s",
    async (end) => {
      const program = `
        const { createLog, inTurns } = await import(${JSON.stringify(join(import.meta.dir, "log.ts"))});
        const log = createLog("info", inTurns(process.stdout));
        log.info("the last words");
        ${end};`;
      const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "ignore" });
      expect(await new Response(child.stdout).text()).toContain('"msg":"the last words"}\n');
      await child.exited;
    },
  );
});
