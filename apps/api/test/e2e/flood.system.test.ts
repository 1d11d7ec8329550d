/** A flood of requests that cannot authenticate, and those that can. A real process and a real database. */
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

/** With LONG=1 the flood has its full size, and the service its default configuration. */
const IS_LONG = process.env["LONG"] === "1";
/** One connection to the database lets 50 look-ups wait: a part of the flood, as the default does of the full one. One of several databases has two. */
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

/** Uses a key until a request is served: a new key waits with the flood, or with what is left of the last one. */
const authenticate = async (key: string): Promise<void> => {
  await until(async () => (await ask(key)) === 200, { pollMs: 1 });
};

/** The statuses of `count` requests with each of `keys`, one after another for each key. */
const askAll = async (keys: readonly string[], count: number): Promise<number[]> => {
  const statuses: number[] = [];
  const askInTurn = async (key: string): Promise<void> => {
    for (let sent = 0; sent < count; sent++) statuses.push(await ask(key));
  };
  await Promise.all(keys.map(askInTurn));
  return statuses;
};

/** A key of the right form and with the right checksum that has the public handle of `key`, and another secret. */
const wrongSecretOf = (key: string): string => {
  const body = `${key.slice(0, key.lastIndexOf("_"))}_${"A".repeat(43)}`;
  return body + checksum(body);
};

/** Does `work` during a flood that is known to fill its queue. */
const during = async (flood: Flood, work: () => Promise<void>): Promise<void> => {
  try {
    await flood.untilAnswered(2 * FLOODERS);
    await work();
    await flood.untilAnswered(FLOODERS);
  } finally {
    flood.stop();
  }
  // Otherwise it was no flood: nothing of it was refused for want of a place.
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

  test("a new key, first used during the flood: it waits its turn, then all is served", async () => {
    await during(await startFlood(url, FLOODERS, unknownKeys(randomFor(database.db, random))), async () => {
      const key = await newKey();
      await authenticate(key);
      expect(await askAll([key], REQUESTS_PER_KEY)).toEqual(Array(REQUESTS_PER_KEY).fill(200));
    });
  });
});

test(`known keys, ${FLOODERS} connections flooding with wrong secrets of another: every request is served`, async () => {
  const keys = await Promise.all(Array.from({ length: KEYS }, newKey));
  await Promise.all(keys.map(authenticate));
  // The public handle of a key may be seen in logs and lists: its look-ups go first too, whatever secret they bring.
  const victim = await newKey();
  await authenticate(victim);
  const wrong = wrongSecretOf(victim);
  await during(await startFlood(url, FLOODERS, () => wrong), async () => {
    expect(await askAll(keys, REQUESTS_PER_KEY)).toEqual(Array(KEYS * REQUESTS_PER_KEY).fill(200));
  });
});
