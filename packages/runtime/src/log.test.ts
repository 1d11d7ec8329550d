import { describe, expect, test } from "bun:test";
import { createLog } from "./log.ts";

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
