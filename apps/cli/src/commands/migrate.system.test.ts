/** `migrate`, on a server and on an embedded database. */
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { IS_ONE_DATABASE, testDatabase } from "@realtime-avatar/testing/database";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { cliTests, runProcess } from "../../test/cli.ts";

const { db, cli, cliProcess, json, jsonProcess } = await cliTests();

describe("migrate", () => {
  test("migrate, schema up to date: reported as text and JSON", async () => {
    expect(await json("migrate")).toEqual({ migrated: false });
    expect((await cli("migrate")).stdout).toBe("The schema is already up to date.\n");
  });

  test("migrate, schema outdated: applies the migrations, on a server and embedded", async () => {
    const empty = await testDatabase({ migrated: false });
    const onServer = await runProcess({ DATABASE_URL: empty.url }, "migrate");
    expect(onServer.stdout).toBe("Migrations applied.\n");
    await empty.close();
    const folder = await temporaryFolder();
    const embedded = { DATA_DIR: join(folder, "data") };
    const first = await runProcess(embedded, "migrate", "--json");
    const second = await runProcess(embedded, "migrate", "--json");
    expect([JSON.parse(first.stdout), JSON.parse(second.stdout)]).toEqual([{ migrated: true }, { migrated: false }]);
    await rm(folder, { recursive: true });
  });
});

describe("migrate --prune", () => {
  const OTHER = IS_ONE_DATABASE ? "rta_0123456789ab" : "rta_0123456789ab_s00";

  test("migrate --prune, functions of another version present: drops and names them", async () => {
    const { client } = db;
    expect(await json("migrate", "--prune")).toEqual({ migrated: false, pruned: [] });
    expect((await cli("migrate", "--prune")).stdout).toBe(
      "The schema is already up to date.\nNo other version of the functions is in the database.\n",
    );
    await client.unsafe(`create schema ${OTHER}; create schema rta_reports`);
    expect(await jsonProcess("migrate", "--prune")).toEqual({ migrated: false, pruned: [OTHER] });
    await client.unsafe(`create schema ${OTHER}; create type ${OTHER}.caller as (id text)`);
    expect((await cli("migrate", "--prune")).stdout).toBe(`The schema is already up to date.\nDropped ${OTHER}.\n`);
    const left = await client<{ name: string }[]>`select nspname as name from pg_namespace where nspname ~ '^rta_'`;
    expect(left.map(({ name }) => name)).toContain("rta_reports");
    expect(left).toHaveLength(2);
    await client.unsafe("drop schema rta_reports");
  });

  test("migrate, without --prune: drops nothing", async () => {
    await db.client.unsafe(`create schema ${OTHER}`);
    expect(await json("migrate")).toEqual({ migrated: false });
    expect(await json("migrate", "--prune")).toEqual({ migrated: false, pruned: [OTHER] });
  });
});

describe("migrate --grant", () => {
  test("migrate --grant, for a role: it gets the rights of the service (see grant.test.ts)", async () => {
    const { client } = db;
    const role = `service_${randomBytes(6).toString("hex")}`;
    await client.unsafe(`create role ${role}`);
    expect(await json("migrate", "--grant", role)).toEqual({ migrated: false, granted: role });
    expect((await cliProcess("migrate", "--grant", role)).stdout).toBe(
      `The schema is already up to date.\nGranted the rights of the service to ${role}.\n`,
    );
    const [row] = await client`select has_table_privilege(${role}, 'audit_events', 'insert') as granted`;
    expect(row?.["granted"]).toBe(true);
    await client.unsafe(`drop owned by ${role}; drop role ${role}`);
  });

  test("migrate --grant, for an unknown role: exit 1", async () => {
    const { code, stdout, stderr } = await cli("migrate", "--grant", "nobody_of_this_name");
    expect([code, stdout, stderr]).toEqual([1, "", "--grant: The role does not exist.\n"]);
  });
});
