/** No statement of an aborted request is sent to the database, even after a long wait. */
import { expect, test } from "bun:test";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import type { BatchKind } from "./batch.ts";
import { DatabaseError } from "./errors.ts";
import type { Db } from "./pool.ts";
import type { RequestLimit } from "./request-limit.ts";

const database = await fileDatabase();
/** One connection, so statements wait while it is busy. */
const db = await fixture(connectTo(database, { connections: 1 }));
await database.db.client`create table notes (note text)`;

const ABORTED = ["not_executed", "ABORTED"];
const kindOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof DatabaseError ? [error.failure, error.code] : String(error)),
  );

/** A request, and how it is aborted. */
const request = (): { limit: RequestLimit; abort(): void } => {
  let isAborted = false;
  return {
    limit: { deadline: performance.now() + 60_000, isAborted: () => isAborted },
    abort: () => {
      isAborted = true;
    },
  };
};

const write = (to: Pick<Db, "run">, note: string): Promise<unknown> => to.run("insert into notes values ($1)", [note]);
/** Each written batch is one statement. */
const NOTES: BatchKind<string, string> = {
  name: "notes",
  inFlight: 1,
  run: async (runner, notes) => {
    await runner.run("insert into notes select unnest($1::text[])", [notes]);
    return notes;
  },
};
const written = async (): Promise<unknown> => {
  const rows = await database.db.client<{ note: string }[]>`delete from notes returning note`;
  return rows.map(({ note }) => note).sort();
};

/** Keeps the only connection busy until the returned function is called. */
const occupy = async (): Promise<() => Promise<void>> => {
  const { client } = database.db;
  await client`create table if not exists gate (id integer)`;
  const holder = await client.reserve();
  await holder`begin`;
  await holder`lock table gate`;
  const busy = db.within(60_000).run("select from gate", []);
  await untilBlocked(database.db);
  return async () => {
    await holder`commit`;
    holder.release();
    await busy;
  };
};

test("a statement of an aborted request: not sent", async () => {
  const { limit, abort } = request();
  expect(await kindOf(write(db.until(limit), "sent"))).toBe("done");
  abort();
  expect(await kindOf(write(db.until(limit), "lost"))).toEqual(ABORTED);
  expect(await written()).toEqual(["sent"]);
});

test("a statement whose request is aborted while it waits for a connection: not sent", async () => {
  const leave = await occupy();
  const [one, other] = [request(), request()];
  const results = [kindOf(write(db.until(one.limit), "one")), kindOf(write(db.until(other.limit), "other"))];
  one.abort();
  await leave();
  expect(await Promise.all(results)).toEqual([ABORTED, "done"]);
  expect(await written()).toEqual(["other"]);
});

test("an input whose request is aborted while it waits for a batch: not sent; the others are sent", async () => {
  const leave = await occupy();
  const requests = Array.from({ length: 6 }, request);
  // The first input is sent as a separate batch, which waits for the connection. The others wait behind it.
  const results = requests.map(({ limit }, index) => kindOf(db.until(limit).batch(NOTES, `${index}`, "owner")));
  for (const index of [0, 2, 5]) requests[index]?.abort();
  await leave();
  expect(await Promise.all(results)).toEqual([ABORTED, "done", ABORTED, "done", "done", ABORTED]);
  expect(await written()).toEqual(["1", "3", "4"]);
});

test("a batch, waiting for a connection: sent without the inputs of aborted requests", async () => {
  const leave = await occupy();
  const requests = Array.from({ length: 4 }, request);
  // After the first batch, the other three inputs form one batch. They are aborted when this batch requests a
  // connection.
  const sizes: number[] = [];
  const kind: BatchKind<string, string> = {
    ...NOTES,
    run: (runner, notes) => {
      sizes.push(notes.length);
      const result = NOTES.run(runner, notes);
      if (sizes.length === 2) for (const index of [1, 3]) requests[index]?.abort();
      return result;
    },
  };
  const results = requests.map(({ limit }, index) => kindOf(db.until(limit).batch(kind, `${index}`, "owner")));
  const other = request();
  // This statement waits for the connection behind the first batch, so the second batch cannot be sent at once.
  const before = kindOf(write(db.until(other.limit), "other"));
  await leave();
  expect(await Promise.all(results)).toEqual(["done", ABORTED, "done", ABORTED]);
  await before;
  expect(sizes.slice(0, 2)).toEqual([1, 3]);
  expect(await written()).toEqual(["0", "2", "other"]);
});

test("a request that is not aborted: executed", async () => {
  expect(await kindOf(write(db.until({ deadline: performance.now() + 60_000 }), "x"))).toBe("done");
  expect(await kindOf(db.batch(NOTES, "y", "owner"))).toBe("done");
  expect(await written()).toEqual(["x", "y"]);
});
