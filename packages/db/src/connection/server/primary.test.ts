import { describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import postgres from "postgres";
import { catchFailure, failureKind, forLong, now, poolTests } from "../pool/testing.ts";

const database = await poolTests();
const { withPool, sleepers, startProxy } = database;

describe("several hosts", () => {
  test("the host that accepts writes, at any position: found", async () => {
    const { host } = new URL(database.url);
    for (const hosts of [`127.0.0.1:1,${host}`, `${host},127.0.0.1:1`, `${host},${host}`]) {
      await withPool({ url: database.url.replace(host, hosts), connections: 2 }, async (db) => {
        expect(await Promise.all([now(db), now(db), now(db)])).toHaveLength(3);
      });
    }
  });

  test("a host without an address, at any position: skipped", async () => {
    const { host } = new URL(database.url);
    const nowhere = "no-such-host.invalid:5432";
    for (const hosts of [`${nowhere},${host}`, `${host},${nowhere}`, `${nowhere},127.0.0.1:1,${host}`]) {
      await withPool({ url: database.url.replace(host, hosts), connections: 4 }, async (db) => {
        expect(await Promise.all(Array.from({ length: 8 }, () => now(db)))).toHaveLength(8);
      });
    }
    await withPool({ url: database.url.replace(host, nowhere) }, async (db) => {
      expect((await failureKind(now(db)))?.[0]).toBe("not_executed");
    });
  });

  test("a silent host: delays only the first connection", async () => {
    const dialled: string[] = [];
    const silent = await startProxy((_, upstream) => {
      dialled.push("silent");
      upstream.destroy();
    });
    const primary = await startProxy((socket, upstream) => {
      dialled.push("primary");
      socket.pipe(upstream).pipe(socket);
    });
    const hosts = [silent, primary].map(({ url }) => new URL(url).host);
    const url = database.url.replace(new URL(database.url).host, hosts.join());
    await withPool({ url, connections: 1, deadlineMs: 60_000 }, async (db) => {
      // On a busy machine the primary may be so slow that the silent host is also tried, after the primary.
      for (const first of ["silent", "primary", "primary", "primary", "primary"]) {
        dialled.length = 0;
        const lost = catchFailure(forLong(db));
        for (const pid of await sleepers(1)) await database.client`select pg_terminate_backend(${pid}::integer)`;
        await lost;
        expect(dialled[0]).toBe(first);
      }
    });
    silent.close();
    primary.close();
  });
});

test("a read-only host, with another host: the other is used; alone: nothing is executed", async () => {
  const folder = await temporaryFolder();
  const settings = { fsync: "off", default_transaction_read_only: "on" };
  const other = await openByTcp(join(folder, "data"), { settings });
  // The same user, password and database as on the server of the tests.
  const admin = postgres(other.url, { max: 1, onnotice: () => {} });
  await admin`set default_transaction_read_only = off`;
  const { username, password, pathname, host } = new URL(database.url);
  if (username !== "postgres") await admin.unsafe(`create role "${username}" login`);
  await admin.unsafe(`alter role "${username}" password '${decodeURIComponent(password)}'`);
  if (pathname !== "/postgres") await admin.unsafe(`create database "${pathname.slice(1)}"`);
  await admin.end();
  const readOnly = `127.0.0.1:${other.port}`;
  await withPool({ url: database.url.replace(host, readOnly) }, async (db) => {
    expect(await failureKind(now(db))).toEqual(["not_executed", "READ_ONLY"]);
  });
  await withPool({ url: database.url.replace(host, `${readOnly},${host}`) }, async (db) => {
    expect(await seedTenant(db)).toStartWith("ten_");
  });
  await other.close();
  await rm(folder, { recursive: true });
});
