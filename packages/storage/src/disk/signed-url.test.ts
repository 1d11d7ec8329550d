import { describe, expect, test } from "bun:test";
import { Secret } from "../secret.ts";
import type { Upload } from "../storage.ts";
import { signGetToken, signPutToken, verifyGetToken, verifyPutToken } from "./signed-url.ts";

const SECRET = new Secret("a secret of at least thirty-two characters");
const NOW = new Date("2026-11-20T12:00:00.000Z");
const UPLOAD: Upload = {
  contentType: "image/png",
  sizeBytes: 5,
  md5: "XUFAKrxLKna5cZ2REBfFkg==",
  expiresAt: new Date("2026-11-20T12:15:00.000Z"),
};
const headersOf = (change: Record<string, string | null> = {}): Headers => {
  const headers = { "content-type": "image/png", "content-length": "5", "content-md5": UPLOAD.md5, ...change };
  return new Headers(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null));
};
const PUT_TOKEN = signPutToken(SECRET, "ast_1/upload", UPLOAD);
const GET_TOKEN = signGetToken(SECRET, "ast_1/original", UPLOAD.expiresAt);

describe("a signed token", () => {
  test("a token, of fixed claims: as computed by another implementation", () => {
    // Python: hmac.new(secret, b"realtime-avatar signed URL\n" + claims, "sha256"), both parts as unpadded base64url.
    expect(GET_TOKEN).toBe(
      "WyJHRVQiLCJhc3RfMS9vcmlnaW5hbCIsMTc5NTE3NjkwMDAwMF0.L6TZ2SWmXGwh60W297t2pPjqB3eAvDZPuIRg4SbKFCU",
    );
  });

  test("a PUT token, with its headers: valid until it expires", () => {
    const valid = { kind: "valid", upload: { ...UPLOAD, key: "ast_1/upload" } } as const;
    expect(verifyPutToken(SECRET, PUT_TOKEN, headersOf(), NOW)).toEqual(valid);
    expect(verifyPutToken(SECRET, PUT_TOKEN, headersOf(), new Date("2026-11-20T12:14:59.999Z"))).toEqual(valid);
    expect(verifyPutToken(SECRET, PUT_TOKEN, headersOf(), UPLOAD.expiresAt)).toEqual({
      kind: "refused",
      reason: "expired",
    });
  });

  test.each([
    ["content_type", { "content-type": "text/html" }],
    ["content_type", { "content-type": "image/png; charset=utf-8" }],
    ["content_type", { "content-type": null }],
    ["size", { "content-length": "6" }],
    ["size", { "content-length": "05" }],
    ["size", { "content-length": "5, 5" }],
    ["size", { "content-length": null }],
    ["md5", { "content-md5": "1B2M2Y8AsgTpgAmY7PhCfg==" }],
    ["md5", { "content-md5": null }],
  ] as const)("a PUT token with the %s of %j: refused", (reason, change) => {
    expect(verifyPutToken(SECRET, PUT_TOKEN, headersOf(change), NOW)).toEqual({ kind: "refused", reason });
  });

  test("a GET token, in time: valid until it expires", () => {
    const file = { key: "ast_1/original", expiresAt: UPLOAD.expiresAt };
    expect(verifyGetToken(SECRET, GET_TOKEN, NOW)).toEqual({ kind: "valid", file });
    expect(verifyGetToken(SECRET, GET_TOKEN, UPLOAD.expiresAt)).toEqual({ kind: "refused", reason: "expired" });
  });

  const refused = { kind: "refused", reason: "signature" } as const;

  test("a token of the other method: refused", () => {
    expect(verifyGetToken(SECRET, PUT_TOKEN, NOW)).toEqual(refused);
    expect(verifyPutToken(SECRET, GET_TOKEN, headersOf(), NOW)).toEqual(refused);
  });

  test("a token of another secret: refused", () => {
    const other = new Secret("another secret of thirty-two characters");
    expect(verifyGetToken(other, GET_TOKEN, NOW)).toEqual(refused);
  });

  test("a token, any character changed, removed or added: refused", () => {
    for (let index = 0; index < GET_TOKEN.length; index++) {
      const [before, after] = [GET_TOKEN.slice(0, index), GET_TOKEN.slice(index + 1)];
      for (const character of ["A", "B", "_", "", "=", "."]) {
        const token = before + character + after;
        if (token !== GET_TOKEN) expect(verifyGetToken(SECRET, token, NOW)).toEqual(refused);
      }
      expect(verifyGetToken(SECRET, `${before}A${GET_TOKEN.slice(index)}`, NOW)).toEqual(refused);
    }
  });

  test.each(["", ".", "a.b", "x".repeat(100_000), `${"x".repeat(2000)}.${"A".repeat(43)}`, "null", "\0", "é.é"])(
    "a forged token, case %#: refused",
    (token) => {
      expect(verifyGetToken(SECRET, token, NOW)).toEqual(refused);
      expect(verifyPutToken(SECRET, token, headersOf(), NOW)).toEqual(refused);
    },
  );
});
