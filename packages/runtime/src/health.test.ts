import { describe, expect, test } from "bun:test";
import { notExecuted } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { healthStatus, live, ready } from "./health.ts";

const { db } = await fileDatabase();
const databases = oneDatabase(db);

test("a process, without its database: live", () => {
  expect(live()).toEqual({ status: "ok" });
});

test("a process with a migrated database: ready", async () => {
  expect(await ready(databases, () => false)).toEqual({ status: "ok" });
});

test("a process, shutting down: not ready", async () => {
  const health = await ready(databases, () => true);
  expect(health).toEqual({ status: "unavailable", reason: "shutting_down" });
  expect([healthStatus(health), healthStatus(live())]).toEqual([503, 200]);
});

test("a process that begins to shut down during the check: not ready", async () => {
  let isEnding = false;
  const health = ready(databases, () => isEnding);
  isEnding = true;
  expect(await health).toEqual({ status: "unavailable", reason: "shutting_down" });
});

test("a process whose database lacks the functions: not ready", async () => {
  await db.client.unsafe(`alter schema ${FUNCTIONS_SCHEMA} rename to elsewhere`);
  expect(await ready(databases, () => false)).toEqual({ status: "unavailable", reason: "migrations_pending" });
  await db.client.unsafe(`alter schema elsewhere rename to ${FUNCTIONS_SCHEMA}`);
  expect(await ready(databases, () => false)).toEqual({ status: "ok" });
});

test.each(["READ_ONLY", "STANDBY"])(
  "a process whose database is refused as %s: not ready, as read-only",
  async (code) => {
    const failing = { within: () => ({ run: () => Promise.reject(notExecuted(code, "x")) }) };
    const health = await ready(oneDatabase(failing as unknown as Db), () => false);
    expect(health).toEqual({ status: "unavailable", reason: "database_read_only" });
  },
);

test("a process whose database is unreachable: not ready, one check for concurrent callers", async () => {
  let checks = 0;
  const failing = {
    within: () => {
      checks++;
      return { client: () => Promise.reject(new Error("unreachable")) };
    },
  } as unknown as Db;
  const unreachable = oneDatabase(failing);
  const results = await Promise.all([ready(unreachable, () => false), ready(unreachable, () => false)]);
  const expected = { status: "unavailable", reason: "database_unreachable" } as const;
  expect(results).toEqual([expected, expected]);
  expect(checks).toBe(1);
});

describe("a process of several databases", () => {
  /** A database with this result of its check; "waits": the check does not end. */
  const databaseThat = (how: "is ready" | "is away" | "is read-only" | "is not migrated" | "waits"): Db => {
    if (how === "is ready") return db;
    const run = async () => {
      if (how === "waits") return new Promise(() => {});
      if (how === "is away") throw new Error("away");
      if (how === "is read-only") throw notExecuted("READ_ONLY", "x");
      return [{ readOnly: false }];
    };
    return { within: () => ({ run }) } as unknown as Db;
  };
  const readyWith = async (...hows: Parameters<typeof databaseThat>[0][]) => {
    const health = await ready({ ...databases, all: () => hows.map(databaseThat) }, () => false);
    return health.status === "ok" ? "ok" : health.reason;
  };

  test("one database unreachable, read-only or silent: the others keep the process ready", async () => {
    for (const how of ["is away", "is read-only", "waits"] as const) {
      expect([how, await readyWith(how, "is ready")]).toEqual([how, "ok"]);
    }
  });

  test("no database ready: the reason of the first", async () => {
    expect(await readyWith("is away", "is away")).toBe("database_unreachable");
    expect(await readyWith("is read-only")).toBe("database_read_only");
  });

  test("one database with pending migrations: not ready, even if the others are", async () => {
    expect(await readyWith("is ready", "is not migrated")).toBe("migrations_pending");
    expect(await readyWith("is away", "is not migrated", "is ready")).toBe("migrations_pending");
  });
});
