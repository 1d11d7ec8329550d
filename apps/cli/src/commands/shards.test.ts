/** The commands of shards, on a database without shards. On Citus: `shards-citus.test.ts`. */
import { describe, expect, test } from "bun:test";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { cliTests } from "../../test/cli.ts";

describe.skipIf(!IS_ONE_DATABASE)("the commands of shards, on one database", async () => {
  const { cli, cliProcess, db, json } = await cliTests();

  test("migrate --shards, on a server without Citus: exit 1, and nothing is changed", async () => {
    const { code, stderr } = await cli("migrate", "--shards", "4");
    expect([code, stderr]).toEqual([
      1,
      "Shards need Citus: the database of DATABASE_URL does not have the extension citus.\n",
    ]);
    expect(await db.client`select to_regclass('public.shards') as shards`).toMatchObject([{ shards: null }]);
    expect((await cli("migrate", "--shards", "0")).code).toBe(2);
    expect((await cli("migrate", "--shards", "1025")).code).toBe(2);
  });

  test("shards and tenants create --shard: the error says that the database has no shards", async () => {
    const { code, stderr } = await cliProcess("shards");
    expect([code, stderr]).toEqual([1, "This installation has one database, and no shards.\n"]);
    expect(await cli("tenants", "create", "--name", "x", "--shard", "0")).toMatchObject({
      code: 2,
      stderr: "--shard: There is no such shard.\n",
    });
  });

  test("verify: names a trigger that is disabled", async () => {
    const { code, stdout } = await cliProcess("verify");
    expect([code, stdout]).toEqual([0, "The database is as it should be.\n"]);
    await db.client`alter table audit_events disable trigger audit_events_append_only`;
    const found = await cli("verify", "--json");
    expect(found.code).toBe(1);
    expect(JSON.parse(found.stdout)).toEqual({
      findings: [
        { place: "database", problem: "the trigger audit_events.audit_events_append_only is missing or disabled" },
      ],
    });
    await db.client`alter table audit_events enable trigger audit_events_append_only`;
    expect(await json("verify")).toEqual({ findings: [] });
  });
});
