import { describe, expect, test } from "bun:test";
import { createCipheriv, hkdfSync } from "node:crypto";
import { countingBytes, seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { generateApiKey } from "./api-keys/secret.ts";
import { hashBody, isIdempotencyKey, openResponse, sealResponse } from "./idempotency.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("an Idempotency-Key", () => {
  const valid = ["a", "~", "!", '"quoted"', "x".repeat(255), "6f9619ff-8b86-d011-b42d-00c04fc964ff"];
  const invalid = ["", "x".repeat(256), "a b", " a", "a\t", "a\n", "é", "\u0000", "a, b", "\u007f"];
  test.each([...valid, ...invalid])("an Idempotency-Key, %j: valid or not", (text) => {
    expect(isIdempotencyKey(text)).toBe(valid.includes(text));
  });
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
  ])("a hash, of %s and %s: equal", (one, other) => {
    expect(hashBody(JSON.parse(one))).toEqual(hashBody(JSON.parse(other)));
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
  ])("a hash, of %s and %s: different", (one, other) => {
    expect(hashBody(JSON.parse(one))).not.toEqual(hashBody(JSON.parse(other)));
  });

  test("a hash, of random values: equal only for equal values", () => {
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

describe("a sealed response", () => {
  const random = seededBytes("seal");
  const secret = generateApiKey("live", random);
  const body = '{"apiKey":"rta_live_…","name":"👩‍🚀"}';
  const head = { status: 201, location: "/api/v1/api-keys/key_1", etag: '"1"', bodyHash: new Uint8Array(32).fill(171) };
  const context = { secret, idempotencyKey: "key-1", request: "POST /api/v1/api-keys" };
  const seal = () => sealResponse(body, head, context, random);

  test("a sealed response, same secret and request: opened", () => {
    expect(openResponse(seal(), head, context)).toBe(body);
  });

  test.each([
    [2, Buffer.from(String.raw`[201,"/api/v1/api-keys/key_1","\"1\"","${"ab".repeat(32)}"]`)],
    [1, null],
  ])("a sealed response, of format %i: the layout of the docstring", (format, aad) => {
    const info = `realtime-avatar answer ${format} POST /api/v1/api-keys`;
    const key = hkdfSync("sha256", secret.reveal(), "key-1", info, 32);
    const nonce = Uint8Array.from({ length: 12 }, (_, index) => index);
    const cipher = createCipheriv("aes-256-gcm", new Uint8Array(key), nonce);
    if (aad) cipher.setAAD(aad);
    const text = Buffer.concat([cipher.update(body, "utf8"), cipher.final()]);
    const sealed = Buffer.concat([Uint8Array.of(format), nonce, cipher.getAuthTag(), text]);
    expect(openResponse(sealed, head, context)).toBe(body);
    if (format === 2) expect(hex(sealResponse(body, head, context, countingBytes()))).toBe(hex(sealed));
  });

  test("a sealed response, another secret, key, request, head or byte: not opened", () => {
    const sealed = seal();
    const contexts = [
      { secret: generateApiKey("live", random) },
      { idempotencyKey: "key-2" },
      { request: "POST /api/v1/avatars" },
    ];
    for (const changed of contexts) expect(openResponse(sealed, head, { ...context, ...changed })).toBeNull();
    const locations = [{ location: "/api/v1/api-keys/key_2" }, { location: null }];
    for (const changed of [{ status: 200 }, ...locations, { etag: '"2"' }, { bodyHash: new Uint8Array(32) }])
      expect(openResponse(sealed, { ...head, ...changed }, context)).toBeNull();
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed);
      // Format 2 also becomes 1: a changed response of format 2 cannot pass for the older format.
      for (const bit of [1, 2, 3]) {
        changed[index] = (sealed[index] ?? 0) ^ bit;
        expect(openResponse(changed, head, context)).toBeNull();
      }
    }
    for (const length of [0, 1, 28, 29, sealed.length - 1]) {
      expect(openResponse(sealed.subarray(0, length), head, context)).toBeNull();
    }
  });

  test("a sealed response, sealed twice: different, and neither shows the body", () => {
    const [one, other] = [seal(), seal()];
    expect(hex(one)).not.toBe(hex(other));
    expect(Buffer.from(one).toString("latin1")).not.toContain("rta_live");
  });
});
