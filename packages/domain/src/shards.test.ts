import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { issueApiKey } from "./api-keys/create.ts";
import { OPERATOR } from "./api-keys/grant.ts";
import { rotatedApiKey } from "./api-keys/rotate.ts";
import { generateApiKey, isKeyId, parseApiKey } from "./api-keys/secret.ts";
import { newAsset, newPublicToken } from "./assets/asset.ts";
import { isId, newId } from "./id.ts";
import {
  MAX_SHARDS,
  namesLaterShard,
  newTenantId,
  randomInShard,
  type Shards,
  shardOfTenant,
  shardsOfKeyId,
  shardsOfToken,
} from "./shards.ts";

const random = seededBytes("shards");
const now = new Date("2026-11-20T12:00:00.000Z");
/** Any number of shards, with one of them. */
const places = fc
  .integer({ min: 1, max: MAX_SHARDS })
  .chain((count) => fc.record({ count: fc.constant(count), shard: fc.integer({ min: 0, max: count - 1 }) }));
const empty = (count: number): Shards => ({ count, splitAt: null });
const split = (count: number): Shards => ({ count, splitAt: now });

describe("a new id in a shard", () => {
  test("a tenant, a key and a token, in any shard of any number: found only in this shard, and well-formed", () => {
    fc.assert(
      fc.property(places, ({ count, shard }) => {
        for (const shards of [empty(count), split(count)]) {
          const tenantId = newTenantId(now, random, shards, shard);
          expect(isId("ten", tenantId)).toBe(true);
          expect(shardOfTenant(tenantId, shards)).toBe(shard);
          const secret = generateApiKey("test", randomInShard(random, shard));
          expect(parseApiKey(secret.reveal())?.keyId).toBe(secret.keyId);
          expect(isKeyId(secret.keyId)).toBe(true);
          expect(shardsOfKeyId(secret.keyId, shards)[0]).toBe(shard);
          const token = newPublicToken(randomInShard(random, shard));
          expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
          expect(shardsOfToken(token, shards)[0]).toBe(shard);
        }
        expect(shardsOfKeyId(generateApiKey("test", randomInShard(random, shard)).keyId, empty(count))).toEqual([
          shard,
        ]);
      }),
      { seed: 1 },
    );
  });

  test("ids, of fixed shards: the digits of each alphabet", () => {
    const ends = [0, 1, 31, 32, 1023].map((shard) => newTenantId(now, random, empty(MAX_SHARDS), shard).slice(-2));
    expect(ends).toEqual(["00", "01", "0z", "10", "zz"]);
    expect(
      [0, 61, 62, 1023].map((shard) => generateApiKey("live", randomInShard(random, shard)).keyId.slice(0, 2)),
    ).toEqual(["00", "0z", "10", "GV"]);
    expect([0, 63, 64, 1023].map((shard) => newPublicToken(randomInShard(random, shard)).slice(0, 2))).toEqual([
      "AA",
      "A_",
      "BA",
      "P_",
    ]);
  });

  test("a tenant, created by a clock before the split: not treated as an older tenant", () => {
    const tenantId = newTenantId(new Date(now.getTime() - 5000), random, split(16), 7);
    expect(shardOfTenant(tenantId, split(16))).toBe(7);
  });

  test("keys and assets of a tenant, with and without shards: the digits of its shard, or random digits", () => {
    const tenantId = newTenantId(now, random, empty(16), 9);
    const source = randomInShard(random, 9);
    const issued = issueApiKey({ name: "n" }, OPERATOR, { tenantId, checkedAt: now, now, random: source });
    expect(issued.record.keyId.slice(0, 2)).toBe("09");
    const rotated = rotatedApiKey(issued.record, {}, OPERATOR, source);
    expect(rotated.record.keyId.slice(0, 2)).toBe("09");
    const asset = { tenantId, environment: "test", kind: "image", status: "uploaded", reservedBytes: 1, now } as const;
    expect(newAsset({ ...asset, id: newId("ast", now, random) }, source).publicToken.slice(0, 2)).toBe("AJ");
    const bytes = seededBytes("same");
    const same = seededBytes("same");
    expect(generateApiKey("test", bytes).reveal()).toBe(generateApiKey("test", randomInShard(same, null)).reveal());
    expect(newPublicToken(bytes)).toBe(Buffer.from(same(32)).toString("base64url"));
  });
});

describe("an id from before the split", () => {
  test("a tenant, with any last digits: in shard 0", () => {
    const old = fc.integer({ min: 0, max: now.getTime() - 1 }).map((time) => newId("ten", new Date(time), random));
    fc.assert(
      fc.property(old, places, (tenantId, { count }) => {
        expect(shardOfTenant(tenantId, split(count))).toBe(0);
      }),
      { seed: 1 },
    );
  });

  test("a key and a token, with any first digits: shard 0 is asked last", () => {
    for (let index = 0; index < 2000; index++) {
      const keyId = generateApiKey("live", random).keyId;
      expect(shardsOfKeyId(keyId, split(16)).at(-1)).toBe(0);
      expect(shardsOfToken(newPublicToken(random), split(16)).at(-1)).toBe(0);
      expect(shardsOfKeyId(keyId, split(16)).length).toBeLessThanOrEqual(2);
    }
  });
});

test("an id of a shard that does not exist: in no shard", () => {
  const tenantId = newTenantId(now, random, empty(32), 31);
  expect(shardOfTenant(tenantId, empty(16))).toBeNull();
  expect(shardsOfKeyId(generateApiKey("test", randomInShard(random, 31)).keyId, empty(16))).toEqual([]);
  expect(shardsOfToken(newPublicToken(randomInShard(random, 31)), empty(16))).toEqual([]);
});

test.each([
  [31, 16, true],
  [15, 16, false],
  [1023, 16, true],
  [1024, 16, false],
  [31, 0, false],
])("a key id that begins with %d, of %d shards: may be of a later shard: %p", (shard, count, expected) => {
  const { keyId } = generateApiKey("test", randomInShard(random, shard));
  expect(namesLaterShard(keyId, empty(count))).toBe(expected);
});
