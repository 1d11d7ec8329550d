import { describe, expect, test } from "bun:test";
import { inspect } from "node:util";
import { countingBytes, seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import {
  checksum,
  digestApiKey,
  generateApiKey,
  maskApiKeys,
  parseApiKey,
  redactedKey,
  verifyApiKey,
} from "./secret.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LIVE = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
const TEST = "rta_test_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw1GSWJD";
const CALL_KEY = `rtc_ten_01h455vb4pex5vsknk084sn02q_ses_01h455vb4pex5vsknk084sn02q_1795723681_${"a-_B".repeat(10)}x-_`;

const parse = (text: string) => {
  const secret = parseApiKey(text);
  if (!secret) throw new Error("the key does not parse");
  return secret;
};

describe("fixed vectors (the same as in docs/keys.md)", () => {
  // CRC-32's check value is 0xcbf43926 for "123456789".
  test.each([
    ["", "000000"],
    ["a", "4GEHKN"],
    ["123456789", "3jZRME"],
  ])("the checksum, of %j: %s", (text, expected) => {
    expect(checksum(text)).toBe(expected);
  });

  test.each([
    ["live" as const, LIVE, "3a276f7ce04c6b34fe71548046bd6abd43a54c49d404c05af467d159742fde13"],
    ["test" as const, TEST, "8bdfb0b0627e389d7910b4c7ae7d21dde77b7c3cb83858b20f00b0fdd588d4dc"],
  ])("the %s key, of the bytes 0, 1, 2, …: the text and digest of the vectors", (environment, text, digest) => {
    const secret = generateApiKey(environment, countingBytes());
    expect(secret.reveal()).toBe(text);
    expect(Buffer.from(digestApiKey(secret)).toString("hex")).toBe(digest);
    expect(parse(text)).toMatchObject({ environment, keyId: "0123456789ABCDEF" });
    expect(redactedKey(environment, secret.keyId)).toBe(`rta_${environment}_0123456789ABCDEF_****`);
  });
});

describe("generated keys", () => {
  test("a thousand keys, parsed: verified by their own digest only", () => {
    const random = seededBytes("generated");
    for (let round = 0; round < 1000; round++) {
      const secret = generateApiKey(round % 2 ? "live" : "test", random);
      const other = generateApiKey(round % 2 ? "live" : "test", random);
      const parsed = parse(secret.reveal());
      expect(parsed).toMatchObject({ environment: secret.environment, keyId: secret.keyId });
      expect(verifyApiKey(parsed, digestApiKey(secret))).toBe(true);
      expect(verifyApiKey(other, digestApiKey(secret))).toBe(false);
    }
  });

  test("a random byte, of 248 or more: discarded, not reduced modulo 62", () => {
    let drawn = 0;
    const secret = generateApiKey("live", (count) => {
      drawn += count;
      return Uint8Array.from({ length: count }, (_, index) => (drawn <= 16 ? 248 + (index % 8) : 61));
    });
    expect(secret.keyId).toBe("z".repeat(16));
  });

  test("all characters, of 4,000 keys: equally likely (chi-squared test, 61 degrees of freedom)", () => {
    const random = seededBytes("chi-squared");
    const counts = new Map<string, number>();
    const samples = 4000;
    for (let sample = 0; sample < samples; sample++) {
      const [, , keyId = "", rest = ""] = generateApiKey("live", random).reveal().split("_");
      for (const character of keyId + rest.slice(0, 43)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (samples * 59) / 62;
    const chiSquared = [...DIGITS].reduce(
      (sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
      0,
    );
    expect(counts.size).toBe(62);
    // The 99.9th percentile. Folding bytes modulo 62 would give about 1,000 at this size.
    expect(chiSquared).toBeLessThan(100.9);
  });
});

describe("a changed key", () => {
  const random = seededBytes("changed");
  const key = fc.constantFrom(
    ...Array.from({ length: 200 }, (_, i) => generateApiKey(i % 2 ? "live" : "test", random).reveal()),
  );
  const position = fc.nat({ max: 200 });
  const character = fc.oneof(fc.constantFrom(...DIGITS, "_", "-", " ", "é"), fc.string({ minLength: 1, maxLength: 1 }));

  test("a key, one character changed: refused", () => {
    fc.assert(
      fc.property(key, position, character, (text, at, replacement) => {
        const index = at % text.length;
        fc.pre(text[index] !== replacement);
        expect(parseApiKey(text.slice(0, index) + replacement + text.slice(index + 1))).toBeNull();
      }),
      { seed: 2, numRuns: 5000 },
    );
  });

  test("a key, one character removed or added: refused", () => {
    fc.assert(
      fc.property(key, position, character, (text, at, extra) => {
        const index = at % (text.length + 1);
        expect(parseApiKey(text.slice(0, index) + extra + text.slice(index))).toBeNull();
        if (index < text.length) expect(parseApiKey(text.slice(0, index) + text.slice(index + 1))).toBeNull();
      }),
      { seed: 3, numRuns: 5000 },
    );
  });

  test("a key, two adjacent characters swapped: refused", () => {
    fc.assert(
      fc.property(key, position, (text, at) => {
        const index = at % (text.length - 1);
        const [one, other] = [text[index], text[index + 1]];
        fc.pre(one !== other);
        expect(parseApiKey(`${text.slice(0, index)}${other}${one}${text.slice(index + 2)}`)).toBeNull();
      }),
      { seed: 4, numRuns: 2000 },
    );
  });

  test.each(["", "rta_live_", "Bearer x", LIVE.toLowerCase(), LIVE.replace("rta", "RTA"), `${LIVE}\n`, ` ${LIVE}`])(
    "a text, %j: not a key",
    (text) => {
      expect(parseApiKey(text)).toBeNull();
    },
  );

  test("a live key, as a test key: refused", () => {
    expect(parseApiKey(LIVE.replace("live", "test"))).toBeNull();
    expect(verifyApiKey(parse(TEST), digestApiKey(parse(LIVE)))).toBe(false);
  });

  test("a digest, of another length: does not verify, does not throw", () => {
    expect(verifyApiKey(parse(LIVE), new Uint8Array(0))).toBe(false);
    expect(verifyApiKey(parse(LIVE), digestApiKey(parse(LIVE)).subarray(1))).toBe(false);
  });
});

describe("a printed secret", () => {
  const secret = parse(LIVE);
  const printed = [
    String(secret),
    `${secret}`,
    secret.toString(),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ nested: [secret] }, { depth: null, showHidden: true }),
    Bun.inspect(secret),
    new Error(String(secret)).stack ?? "",
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.entries(secret)),
  ];
  test.each(printed)("a secret, printed as %s: not shown", (text) => {
    expect(text).not.toContain("GHIJKLMNOP");
  });
});

test.each([
  [`key=${LIVE}!`, "key=rta_live_0123456789ABCDEF_****!"],
  [LIVE.slice(0, 40), "rta_live_0123456789ABCDEF_****"],
  [LIVE.toUpperCase(), "rta_LIVE_0123456789ABCDEF_****"],
  [`${TEST} ${LIVE}`, "rta_test_0123456789ABCDEF_**** rta_live_0123456789ABCDEF_****"],
  [`x ${LIVE.slice(4)} y`, "x **** y"],
  [`x-api-key: ${CALL_KEY}!`, "x-api-key: rtc_****!"],
  [CALL_KEY.slice(0, 40).toUpperCase(), "rtc_****"],
  ["RTA_SESSION_abc, Rta_Invitation_abc", "rta_SESSION_****, rta_Invitation_****"],
  ["live_streams and test_cases and latest_release_of_2026", "live_streams and test_cases and latest_release_of_2026"],
  ["nothing of the kind, not even rta_ or rtc_", "nothing of the kind, not even rta_ or rtc_"],
])("text, %s: its API keys are masked", (text, masked) => {
  expect(maskApiKeys(text)).toBe(masked);
});
