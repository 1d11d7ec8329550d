import { describe, expect, test } from "bun:test";
import type { Problem } from "../problem.ts";
import { readSessionPage, readSummaryPage } from "./session-list.ts";
import { normalizeWindow, parseWindow, refuseEmptyWindow } from "./window.ts";

const now = new Date("2026-11-20T12:00:00.123Z");
const codeOf = (request: { from?: string; to?: string }): string | undefined => {
  try {
    parseWindow(request, now);
  } catch (error) {
    return (error as Problem).extras.errors?.[0]?.code;
  }
  return undefined;
};

describe("the window of a list", () => {
  test("a window, by default: 30 days to the end of the present second", () => {
    expect(parseWindow({}, now)).toEqual({ from: "2026-10-21T12:00:01.000Z", to: "2026-11-20T12:00:01.000Z" });
    expect(parseWindow({ to: "2026-03-01T00:00:00.000Z" }, now).from).toBe("2026-01-30T00:00:00.000Z");
    expect(parseWindow({ from: "2026-11-20T12:00:00.999Z" }, now).to).toBe("2026-11-20T12:00:01.000Z");
    expect(parseWindow({ to: "0000-01-02T00:00:00.000Z" }, now).from).toBe("0000-01-01T00:00:00.000Z");
    const onTheSecond = new Date("2026-11-20T12:00:00.000Z");
    expect(parseWindow({}, onTheSecond).to).toBe("2026-11-20T12:00:01.000Z");
  });

  test("the length of a window: from a millisecond to 90 days", () => {
    const to = "2026-04-01T00:00:00.000Z";
    expect(codeOf({ from: "2026-01-01T00:00:00.000Z", to })).toBeUndefined();
    expect(codeOf({ from: "2025-12-31T23:59:59.999Z", to })).toBe("window_too_long");
    expect(codeOf({ from: "2026-03-31T23:59:59.999Z", to })).toBeUndefined();
    expect(codeOf({ from: to, to })).toBe("empty_window");
    expect(codeOf({ from: "2027-01-01T00:00:00.000Z" })).toBe("empty_window");
    expect(codeOf({ from: "2026-01-01T00:00:00.000Z" })).toBe("window_too_long");
  });

  test("a window, whose end is a leap second in a cursor of another program: read", () => {
    const window = [
      ["from", "2016-12-01T00:00:00Z"],
      ["to", "2016-12-31T23:59:60Z"],
    ];
    const cursor = (filters: unknown) =>
      Buffer.from(JSON.stringify([1, "ses", filters, "ses_01h455vb4pex5vsknk084sn02q"])).toString("base64url");
    const read = { from: "2016-12-01T00:00:00.000Z", to: "2017-01-01T00:00:00.000Z" };
    expect(readSessionPage({ cursor: cursor(window) }, now).filters).toEqual(read);
    const grouped = [window[0], ["groupBy", "avatar"], window[1]];
    expect(readSummaryPage({ cursor: cursor(grouped) }, now).filters).toEqual({ ...read, groupBy: "avatar" });
  });

  test("a window, refused when empty: only when it has both ends, and the end is not after the start", () => {
    const [from, to] = ["2026-11-20T12:00:00.000Z", "2026-11-20T12:00:00.001Z"];
    for (const window of [{}, { from }, { to }, { from, to }]) expect(() => refuseEmptyWindow(window)).not.toThrow();
    for (const window of [
      { from, to: from },
      { from: to, to: from },
    ]) {
      expect(() => refuseEmptyWindow(window)).toThrow();
    }
  });

  test("a window, normalized: in UTC milliseconds; an absent end stays absent", () => {
    const sent = { from: "2026-11-20t13:00:00.1239+01:00", limit: 5 };
    expect(normalizeWindow(sent)).toEqual({ from: "2026-11-20T12:00:00.123Z", limit: 5 });
    expect(Object.keys(normalizeWindow({}))).toEqual([]);
  });
});
