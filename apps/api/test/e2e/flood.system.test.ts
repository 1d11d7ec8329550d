/** A flood of requests that cannot authenticate, beside valid requests. Uses a real process and a real database. */
import { describe, expect, test } from "bun:test";
import { randomFor } from "@realtime-avatar/db/connection/which-database";
import { checksum } from "@realtime-avatar/domain/api-keys/secret";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Flood, startFlood, unknownKeys } from "../support/flood.ts";
import { fileService } from "../support/process.ts";

/** With LONG=1, the flood has its full size, and the service its default configuration. */
const IS_LONG = process.env["LONG"] === "1";
/**
 * With one database connection, 50 look-ups can wait: only a part of this flood, as in the full flood with the default
 * settings. Each of several databases has two connections.
 */
const FLOODERS = IS_LONG ? 1200 : IS_ONE_DATABASE ? 90 : 180;
const SMALL: Record<string, string> = IS_LONG ? {} : { DATABASE_CONNECTIONS: "1", REQUEST_TIMEOUT_MS: "60000" };
const KEYS = 11;
const REQUESTS_PER_KEY = 6;

const database = await fileDatabase({ isServed: true });
const tenantId = await seedTenant(database.db);
const { url, call } = await fileService({ ...database.variables, ...SMALL });

const newKey = async (): Promise<string> =>
  (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
const ask = async (key: string): Promise<number> => (await call("GET", "/api/v1/avatars?limit=1", { key })).status;

/**
 * Uses a key until a request is served, because a new key waits behind the current flood or the rest of the last one.
 */
const authenticate = async (key: string): Promise<void> => {
  await until(async () => (await ask(key)) === 200, { pollMs: 1 });
};

/** The statuses of `count` sequential requests with each of `keys`. */
const askAll = async (keys: readonly string[], count: number): Promise<number[]> => {
  const statuses: number[] = [];
  const askInTurn = async (key: string): Promise<void> => {
    for (let sent = 0; sent < count; sent++) statuses.push(await ask(key));
  };
  await Promise.all(keys.map(askInTurn));
  return statuses;
};

/** A well-formed key with the public handle of `key` and another secret. */
const wrongSecretOf = (key: string): string => {
  const body = `${key.slice(0, key.lastIndexOf("_"))}_${"A".repeat(43)}`;
  return body + checksum(body);
};

/** Runs `work` during a flood that fills its queue. */
const during = async (flood: Flood, work: () => Promise<void>): Promise<void> => {
  try {
    await flood.untilAnswered(2 * FLOODERS);
    await work();
    await flood.untilAnswered(FLOODERS);
  } finally {
    flood.stop();
  }
  // Checks that it was a flood: requests were refused because the queue was full.
  expect(flood.statuses.get(503)).toBeGreaterThan(0);
};

describe(`a flood of unknown API keys over ${FLOODERS} connections`, () => {
  test("known keys, during the flood: every request is served", async () => {
    const keys = await Promise.all(Array.from({ length: KEYS }, newKey));
    await Promise.all(keys.map(authenticate));
    await during(await startFlood(url, FLOODERS, unknownKeys(randomFor(database.db, random))), async () => {
      const statuses = await askAll(keys, REQUESTS_PER_KEY);
      expect(statuses).toEqual(Array(KEYS * REQUESTS_PER_KEY).fill(200));
    });
  });

  test("a new key, first used during the flood: waits its turn, then every request is served", async () => {
    await during(await startFlood(url, FLOODERS, unknownKeys(randomFor(database.db, random))), async () => {
      const key = await newKey();
      await authenticate(key);
      expect(await askAll([key], REQUESTS_PER_KEY)).toEqual(Array(REQUESTS_PER_KEY).fill(200));
    });
  });
});

test(`known keys, while ${FLOODERS} connections send wrong secrets of another key: every request is served`, async () => {
  const keys = await Promise.all(Array.from({ length: KEYS }, newKey));
  await Promise.all(keys.map(authenticate));
  // The public handle of a key can be seen in logs and lists. Its look-ups have priority too, with any secret.
  const victim = await newKey();
  await authenticate(victim);
  const wrong = wrongSecretOf(victim);
  await during(await startFlood(url, FLOODERS, () => wrong), async () => {
    expect(await askAll(keys, REQUESTS_PER_KEY)).toEqual(Array(KEYS * REQUESTS_PER_KEY).fill(200));
  });
});
