import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { CHALLENGE_MS, createChallenge, readChallenge } from "./challenge.ts";

const random = seededBytes("challenges");
const secret = { reveal: () => "a secret of at least 32 characters" };
const now = new Date("2026-11-20T12:00:00.000Z");
const use = { purpose: "verification", subject: "uss_a" } as const;

describe("a challenge", () => {
  const text = createChallenge(secret, use, now, random);

  test("a challenge, same secret and use: read until it expires", () => {
    const read = readChallenge(secret, text, use, now);
    expect(read?.nonce).toHaveLength(16);
    expect(read?.expiresAt).toEqual(new Date(now.getTime() + CHALLENGE_MS));
    const at = (milliseconds: number) => readChallenge(secret, text, use, new Date(now.getTime() + milliseconds));
    expect(at(CHALLENGE_MS - 1)).not.toBeNull();
    expect(at(CHALLENGE_MS)).toBeNull();
  });

  test("a hundred challenges, created: all different", () => {
    const all = Array.from({ length: 100 }, () => createChallenge(secret, use, now, random));
    expect(new Set(all).size).toBe(100);
  });

  test.each([
    ["another purpose", secret, { ...use, purpose: "sign_in" as const }],
    ["another subject", secret, { ...use, subject: "uss_b" }],
    ["a use whose joined parts are the same text", secret, { purpose: "verification" as const, subject: 'uss_a"]' }],
    ["another secret", { reveal: () => "another secret of at least 32 characters" }, use],
  ])("a challenge, read for %s: refused", (_, other, otherUse) => {
    expect(readChallenge(other, text, otherUse, now)).toBeNull();
  });

  test("a challenge, any character changed or another form: refused", () => {
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
      expect(readChallenge(secret, changed, use, now)).toBeNull();
    }
    for (const other of [
      "",
      "x",
      `${text}=`,
      `${text}A`,
      ` ${text}`,
      text.slice(0, -1),
      text.replaceAll("_", "/").replaceAll("-", "+"),
    ]) {
      if (other !== text) expect(readChallenge(secret, other, use, now)).toBeNull();
    }
  });
});
