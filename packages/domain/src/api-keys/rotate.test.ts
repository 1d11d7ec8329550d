import { describe, expect, test } from "bun:test";
import { newId } from "../id.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { type Grantor, OPERATOR } from "./grant.ts";
import { rotatedApiKey } from "./rotate.ts";
import { catchProblem, lineages, now, random, record } from "./testing.ts";

describe("rotatedApiKey", () => {
  test("a rotated key, compared with the key before: only the credential differs", () => {
    const key = record({ spendLimitCreditMicros: 7, lineage: lineages[3] ?? [] });
    const { record: after, secret, overlapSeconds } = rotatedApiKey(key, {}, OPERATOR, random);
    expect(after).toEqual({ ...key, keyId: secret.keyId, version: 2 });
    expect([secret.environment, overlapSeconds]).toEqual(["live", 0]);
    expect(secret.keyId).not.toBe(key.keyId);
  });

  test("a rotation with several faults: checked in the order existence, overlap, reach, status", () => {
    const narrow: Grantor = { ...OPERATOR, id: newId("key", now, random), spendLimitCreditMicros: 1 };
    const own = record({ status: "revoked" });
    const code = (key: ApiKeyRecord | null, from: Grantor) =>
      catchProblem(() => rotatedApiKey(key, {}, from, random)).code;
    expect(code(null, narrow)).toBe("not_found");
    expect(code(own, own)).toBe("validation_failed");
    expect(code(own, narrow)).toBe("grant_exceeds_caller");
    expect(code(own, OPERATOR)).toBe("invalid_transition");
  });

  test.each([
    [undefined, "too_short_for_own_key"],
    [0, "too_short_for_own_key"],
    [59, "too_short_for_own_key"],
    [60, null],
  ])("a key that rotates itself, overlap %j: refused below a minute", (overlapSeconds, refused) => {
    const key = record();
    const requested = overlapSeconds === undefined ? {} : { overlapSeconds };
    const work = () => rotatedApiKey(key, requested, key, random);
    if (refused === null) return expect(work().overlapSeconds).toBe(60);
    expect(catchProblem(work).extras.errors).toMatchObject([{ pointer: "#/overlapSeconds", code: refused }]);
  });

  test("a rotation, requested with the older secret: the overlap is ignored", () => {
    const key = record();
    const caller = { ...key, credentialKeyId: "0123456789ABCDEF" };
    expect(rotatedApiKey(key, {}, caller, random).record.version).toBe(2);
    const withNewest = { ...key, credentialKeyId: key.keyId };
    expect(catchProblem(() => rotatedApiKey(key, {}, withNewest, random)).code).toBe("validation_failed");
  });
});
