import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  attemptExpiry,
  hasState,
  newOidcAttempt,
  OIDC_ATTEMPT_MS,
  openOidcAttempt,
  sealOidcAttempt,
  spentAttempt,
} from "./oidc-attempt.ts";

const secretOf = (text: string) => ({ reveal: () => text });
const SECRET = secretOf("a secret of the tests");
const now = new Date("2026-11-20T12:00:00.000Z");
const later = (milliseconds: number) => new Date(now.getTime() + milliseconds);
const TENANT = "ten_01h455vb4pex5vsknk084sn02q";
const attempt = newOidcAttempt(TENANT, { kind: "acceptance", token: "t", name: "Ada" }, { now, random: randomBytes });
const sealed = sealOidcAttempt(attempt, SECRET, randomBytes);

describe("a sealed attempt", () => {
  test("an attempt, same secret: opened for ten minutes", () => {
    expect(openOidcAttempt(sealed, SECRET, now)).toEqual(attempt);
    expect(openOidcAttempt(sealed, SECRET, later(OIDC_ATTEMPT_MS - 1))).toEqual(attempt);
    expect(openOidcAttempt(sealed, SECRET, later(OIDC_ATTEMPT_MS))).toBeNull();
  });

  test("an attempt, another secret or a changed bit: not opened", () => {
    expect(openOidcAttempt(sealed, secretOf("another secret"), now)).toBeNull();
    const bytes = Buffer.from(sealed, "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 128;
      expect(openOidcAttempt(changed.toString("base64url"), SECRET, now)).toBeNull();
    }
    for (let length = 0; length < bytes.length; length++) {
      expect(openOidcAttempt(bytes.subarray(0, length).toString("base64url"), SECRET, now)).toBeNull();
    }
  });

  test("an attempt, sealed twice: different, and neither shows a value", () => {
    expect(sealOidcAttempt(attempt, SECRET, randomBytes)).not.toBe(sealed);
    const bytes = Buffer.from(sealed, "base64url").toString("latin1");
    for (const text of [attempt.state, attempt.nonce, attempt.verifier, TENANT, "Ada"])
      expect(bytes).not.toContain(text);
  });

  test("an attempt, longest name and token: fits into a cookie", () => {
    const purpose = { kind: "acceptance", token: "x".repeat(512), name: "\u{10ffff}".repeat(120) } as const;
    const longest = sealOidcAttempt(newOidcAttempt(TENANT, purpose, { now, random: randomBytes }), SECRET, randomBytes);
    expect(longest.length).toBeLessThan(3000);
  });
});

test("two attempts, created: different random texts", () => {
  const other = newOidcAttempt(TENANT, { kind: "sign_in" }, { now, random: randomBytes });
  expect(new Set([attempt, other].flatMap(({ id, state, nonce, verifier }) => [id, state, nonce, verifier])).size).toBe(
    8,
  );
  // The shortest verifier of PKCE has 43 characters (RFC 7636 §4.1).
  for (const text of [attempt.state, attempt.nonce, attempt.verifier]) expect(text).toMatch(/^[\w-]{43}$/);
});

test("an attempt, spent: by its id, until it expires", () => {
  const { nonce, expiresAt } = spentAttempt(attempt);
  expect([nonce.length, expiresAt]).toEqual([16, attemptExpiry(attempt)]);
});

test("the state of a response: belongs only to the attempt with this state", () => {
  expect(hasState(attempt, attempt.state)).toBe(true);
  for (const text of ["", "x", `${attempt.state}x`, attempt.nonce]) expect(hasState(attempt, text)).toBe(false);
});
