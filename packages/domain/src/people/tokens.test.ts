import { describe, expect, test } from "bun:test";
import { inspect } from "node:util";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { maskApiKeys } from "../api-keys/secret.ts";
import { newId } from "../id.ts";
import { digestToken, generateToken, parseToken, verifyToken } from "./tokens.ts";

const random = seededBytes("tokens");
const now = new Date("2026-11-20T12:00:00.000Z");
const ids = () => ({ tenantId: newId("ten", now, random), id: newId("uss", now, random) });

describe("a token", () => {
  test("a token, parsed from its text: its tenant and id", () => {
    const row = ids();
    const token = generateToken("session", row, random);
    const parsed = parseToken("session", token.reveal());
    expect([parsed?.tenantId, parsed?.id]).toEqual([row.tenantId, row.id]);
    expect(token.reveal().split("_").at(-1)).toMatch(/^[0-9A-Za-z]{43}$/);
  });

  test("a token, verified: by its own digest only", () => {
    const row = ids();
    const [one, other] = [generateToken("session", row, random), generateToken("session", row, random)];
    expect(verifyToken(one, digestToken(one))).toBe(true);
    expect(verifyToken(other, digestToken(one))).toBe(false);
    expect(verifyToken(one, digestToken(one).slice(1))).toBe(false);
    expect(verifyToken(one, new Uint8Array())).toBe(false);
  });

  test("a token, printed: not shown", () => {
    const token = generateToken("session", ids(), random);
    const secret = token.reveal().split("_").at(-1) ?? "";
    for (const text of [
      `${token}`,
      JSON.stringify({ token }),
      inspect({ token }),
      inspect(token, { showHidden: true }),
    ]) {
      expect(text).not.toContain(secret);
      expect(text).toContain("rta_session_****");
    }
    expect(maskApiKeys(`a ${token.reveal()} b`)).toBe("a rta_session_**** b");
    expect(maskApiKeys(token.reveal().slice(0, 40))).toBe("rta_session_****");
  });

  const good = generateToken("session", ids(), random).reveal();
  test.each([
    "",
    "x",
    good.slice(0, -1),
    `${good}0`,
    ` ${good}`,
    `${good}\n`,
    good.toUpperCase(),
    good.replace("session", "invitation"),
    good.replace("rta_", ""),
    good.replace("_session_", "_session_8"),
    good.slice(0, -1).concat("-"),
    good.replace(/_(\w{26})_/, (_, id: string) => `_u${id.slice(1)}_`),
  ])("a text, %p: not a session token", (text) => {
    expect(parseToken("session", text)).toBeNull();
  });
});
