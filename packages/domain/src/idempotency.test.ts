import { describe, expect, test } from "bun:test";
import { createDecipheriv, hkdfSync } from "node:crypto";
import fc from "fast-check";
import { generateApiKey } from "./api-key-secret.ts";
import { hashBody, isIdempotencyKey, openAnswer, sealAnswer } from "./idempotency.ts";
import { countingBytes, seededBytes } from "./testing.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("an Idempotency-Key", () => {
  test.each(["a", "~", "!", '"quoted"', "x".repeat(255), "6f9619ff-8b86-d011-b42d-00c04fc964ff"])(
    "may be %s",
    (text) => {
      expect(isIdempotencyKey(text)).toBe(true);
    },
  );

  test.each(["", "x".repeat(256), "a b", " a", "a\t", "a\n", "é", "\u0000", "a, b", "\u007f"])(
    "may not be %j",
    (text) => {
      expect(isIdempotencyKey(text)).toBe(false);
    },
  );
});

describe("the hash of a body", () => {
  test.each<[string, string]>([
    ['{"a":1,"b":2}', '{ "b" : 2, "a" : 1 }'],
    ['{"a":{"c":[1,{"x":1,"y":2}],"b":null}}', '{"a":{"b":null,"c":[1,{"y":2,"x":1}]}}'],
    ['{"a":1.0}', '{"a":1}'],
    ['{"a":1e3}', '{"a":1000}'],
    ['{"a":-0}', '{"a":0}'],
    ['{"a":"\\u0041"}', '{"a":"A"}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1}}'],
  ])("%s is that of %s", (one, other) => {
    expect(hex(hashBody(JSON.parse(one)))).toBe(hex(hashBody(JSON.parse(other))));
  });

  test.each<[string, string]>([
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":null}', "{}"],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{"a":"b\\",\\"c"}', '{"a":"b","c":""}'],
    ['{"__proto__":1}', "{}"],
    ['{"a":"é"}', '{"a":"e\\u0301"}'],
  ])("%s is not that of %s", (one, other) => {
    expect(hex(hashBody(JSON.parse(one)))).not.toBe(hex(hashBody(JSON.parse(other))));
  });

  test("is the same for equal values alone", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const isSame = Bun.deepEquals(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)), true);
        expect(hex(hashBody(one)) === hex(hashBody(other))).toBe(isSame);
        expect(hex(hashBody(one))).toBe(hex(hashBody(JSON.parse(JSON.stringify(one, null, 2)))));
      }),
      { seed: 31, numRuns: 2000 },
    );
  });
});

describe("a sealed answer", () => {
  const random = seededBytes("seal");
  const secret = generateApiKey("live", random);
  const answer = '{"apiKey":"rta_live_…","name":"👩‍🚀"}';
  const seal = () => sealAnswer(answer, secret, "key-1", "POST /api/v1/api-keys", random);

  test("is opened by who sealed it, for the same request", () => {
    expect(openAnswer(seal(), secret, "key-1", "POST /api/v1/api-keys")).toBe(answer);
  });

  test("is what the docstring says, so that it can be opened by other means with both secrets", () => {
    const sealed = sealAnswer(answer, secret, "key-1", "POST /x", countingBytes());
    const key = hkdfSync("sha256", secret.reveal(), "key-1", "realtime-avatar answer 1 POST /x", 32);
    const decipher = createDecipheriv("aes-256-gcm", new Uint8Array(key), sealed.subarray(1, 13));
    decipher.setAuthTag(sealed.subarray(13, 29));
    expect(Buffer.concat([decipher.update(sealed.subarray(29)), decipher.final()]).toString()).toBe(answer);
    expect(hex(sealed.subarray(0, 13))).toBe("01000102030405060708090a0b");
  });

  test("stays closed to another secret, Idempotency-Key or request, and when anything of it is changed", () => {
    const sealed = seal();
    expect(openAnswer(sealed, generateApiKey("live", random), "key-1", "POST /api/v1/api-keys")).toBeNull();
    expect(openAnswer(sealed, secret, "key-2", "POST /api/v1/api-keys")).toBeNull();
    expect(openAnswer(sealed, secret, "key-1", "POST /api/v1/avatars")).toBeNull();
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(openAnswer(changed, secret, "key-1", "POST /api/v1/api-keys")).toBeNull();
    }
    for (const length of [0, 1, 28, 29, sealed.length - 1]) {
      expect(openAnswer(sealed.subarray(0, length), secret, "key-1", "POST /api/v1/api-keys")).toBeNull();
    }
  });

  test("shows nothing of the answer, and never looks the same twice", () => {
    const [one, other] = [seal(), seal()];
    expect(hex(one)).not.toBe(hex(other));
    expect(Buffer.from(one).toString("latin1")).not.toContain("rta_live");
  });
});
