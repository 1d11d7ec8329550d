import { expect, test } from "bun:test";
import { checksum, generateApiKey, parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newId } from "@realtime-avatar/domain/id";
import { random } from "@realtime-avatar/testing/random-bytes";
import { createRecentSecrets } from "./recent-secrets.ts";

const tenantId = newId("ten", new Date(), random);
const secrets = Array.from({ length: 400 }, () => generateApiKey("test", random));

test("recent secrets, more than the maximum: at least half are remembered, never more than all", () => {
  const recent = createRecentSecrets(100);
  const remembered = (): number => secrets.filter((secret) => recent.tenantOf(secret) !== undefined).length;
  expect(remembered()).toBe(0);
  for (const [index, secret] of secrets.entries()) {
    recent.add(secret, tenantId);
    for (const latest of secrets.slice(Math.max(0, index - 49), index + 1)) {
      expect(recent.tenantOf(latest)).toBe(tenantId);
    }
    expect(remembered()).toBeLessThanOrEqual(100);
  }
});

test("a secret, used regularly: stays among the recent ones", () => {
  const recent = createRecentSecrets(100);
  const regular = generateApiKey("live", random);
  for (const [index, secret] of secrets.entries()) {
    if (index % 40 === 0) recent.add(regular, tenantId);
    recent.add(secret, tenantId);
    expect(recent.tenantOf(regular)).toBe(tenantId);
  }
});

test("a wrong secret, with the public part of a recent one: not recent", () => {
  const recent = createRecentSecrets(100);
  const [known, other] = [generateApiKey("live", random), generateApiKey("live", random)];
  recent.add(known, tenantId);
  const body = known.reveal().slice(0, 26) + other.reveal().slice(26, -6);
  const forged = parseApiKey(body + checksum(body));
  expect(forged?.keyId).toBe(known.keyId);
  expect(forged && recent.tenantOf(forged)).toBeUndefined();
});
