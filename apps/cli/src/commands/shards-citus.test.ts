/** The commands of shards, on Citus: see `packages/testing/src/postgres/citus.ts`. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import { connect } from "@realtime-avatar/db/connection/pool";
import { migrate } from "@realtime-avatar/db/migrate";
import { moveShard } from "@realtime-avatar/db/shards/manage";
import { readPlacement } from "@realtime-avatar/db/shards/placement";
import { shardOptions } from "@realtime-avatar/db/shards/shard";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN, type Citus, startNodes } from "@realtime-avatar/testing/postgres/citus";
import { seedAvatar, seedCaller, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { run, runProcess, UNKNOWN_TENANT } from "../../test/cli.ts";

setDefaultTimeout(600_000);

describe.skipIf(CITUS_BIN === undefined)("the commands of shards, on Citus", () => {
  let citus: Citus;
  let url = "";
  // Tests do not assert times, because the machine can be busy.
  const cli = (...args: string[]) => run({ DATABASE_URL: url, REQUEST_TIMEOUT_MS: "60000" }, ...args);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(...args, "--json");
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };
  beforeAll(async () => {
    citus = await startNodes(CITUS_BIN as string);
    url = citus.coordinator;
  });

  test("migrate --shards on an empty coordinator, twice at once: the shards, on all nodes; then nothing to do", async () => {
    const args = ["migrate", "--shards", "4", "--json"];
    const both = await Promise.all([
      runProcess({ DATABASE_URL: url }, ...args),
      runProcess({ DATABASE_URL: url }, ...args),
    ]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const waiting = "Another process migrates this database or moves a shard. Waiting for its end.\n";
    expect(both.map(({ stderr }) => stderr).sort()).toEqual(["", waiting]);
    expect(both.map(({ stdout }) => JSON.parse(stdout).migrated).sort()).toEqual([false, true]);
    expect(await json("migrate")).toEqual({ migrated: false });
    expect(await json("verify")).toEqual({ findings: [] });
    const listed: { shard: number; node: string }[] = await json("shards");
    expect(listed.map(({ shard }) => shard)).toEqual([0, 1, 2, 3]);
    expect(new Set(listed.map(({ node }) => node)).size).toBe(2);
    expect((await cli("migrate", "--shards", "2")).stderr).toBe("There are 4 shards: they cannot become fewer.\n");
  });

  test("migrate --shards at a node that is not the coordinator: exit 1", async () => {
    const worker = citus.nodes[1].url;
    const { code, stderr } = await run(
      { DATABASE_URL: worker, REQUEST_TIMEOUT_MS: "60000" },
      "migrate",
      "--shards",
      "4",
    );
    expect([code, stderr]).toEqual([1, "DATABASE_URL must be the coordinator of Citus; it is another node.\n"]);
  });

  test("verify, nodes that cannot connect to each other as a role of the service: names the connections", async () => {
    const admin = client(url);
    await admin.unsafe("create role service_of_nodes login password 'x'");
    await json("migrate", "--grant", "service_of_nodes");
    const found = await cli("verify", "--json");
    expect(found.code).toBe(1);
    const { findings } = JSON.parse(found.stdout) as { findings: { place: string; problem: string }[] };
    const nodes = citus.nodes.map(({ server }) => `127.0.0.1:${server.port}`).sort();
    expect(findings.map(({ place }) => place).sort()).toEqual(nodes.map((node) => `node ${node}`));
    for (const { problem } of findings) {
      expect(problem).toStartWith("it cannot connect as the role service_of_nodes to 127.0.0.1:");
    }
    const servers = citus.nodes.map((node) => client(node.url));
    for (const server of servers)
      await server`insert into pg_dist_authinfo values (0, 'service_of_nodes', 'password=x')`;
    expect(await json("verify")).toEqual({ findings: [] });
    // The host name of this node for connections from other nodes, which a move uses.
    await admin.unsafe("alter system set citus.local_hostname = 'nowhere.invalid'");
    await admin.unsafe("select pg_reload_conf()");
    await until(async () => (await cli("verify")).stdout.includes("as the role service_of_nodes to nowhere.invalid:"));
    await admin.unsafe("alter system reset citus.local_hostname");
    await admin.unsafe("select pg_reload_conf()");
    await admin.unsafe("drop owned by service_of_nodes; drop role service_of_nodes");
    await Promise.all([admin, ...servers].map((one) => one.end()));
  });

  test("tenants, created with or without --shard: in that shard, or spread; every command finds them", async () => {
    const named = await json("tenants", "create", "--name", "Named", "--shard", "3");
    expect(named.id).toEndWith("03");
    for (let index = 0; index < 8; index++) await json("tenants", "create", "--name", `Tenant ${index}`);
    const all: { id: string }[] = await json("tenants", "list");
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
    expect(all).toHaveLength(9);
    const counts: { tenants: number }[] = await json("shards");
    expect(counts.reduce((sum, { tenants }) => sum + tenants, 0)).toBe(9);
    expect(Math.max(...counts.map(({ tenants }) => tenants))).toBeLessThan(6);
    const key = await json("keys", "create", "--tenant", named.id, "--name", "ops", "--environment", "live");
    expect(key.apiKey).toStartWith("rta_live_03");
    expect((await json("keys", "show", key.keyId, "--tenant", named.id)).id).toBe(key.id);
    expect((await json("keys", "rotate", key.id, "--tenant", named.id)).keyId).toStartWith("03");
    await json("credits", "grant", "--tenant", named.id, "--amount", "5", "--reference", "r", "--environment", "live");
    expect(await json("credits", "verify")).toMatchObject({ tenants: 9, findings: 0 });
    expect(await json("sessions", "list", "--open")).toEqual({ data: [] });
    expect((await json("audit", "tail", "--tenant", named.id)).length).toBeGreaterThan(2);
    expect(await json("workers", "list")).toEqual({ data: [] });
    expect(await json("webhooks", "list")).toEqual({ data: [] });
    // The last two characters of the id name no shard.
    for (const command of ["credits verify", "sessions list", "webhooks list"]) {
      const { code, stderr } = await cli(...command.split(" "), "--tenant", UNKNOWN_TENANT);
      expect([command, code, stderr]).toEqual([command, 1, "No tenant has this id.\n"]);
    }
  });

  test("shards move, add and rebalance, each executed: shards are at their nodes, and verify finds nothing", async () => {
    const before: { shard: number; node: string }[] = await json("shards");
    const at = (shard: number) => before[shard]?.node as string;
    const other = before.find(({ node }) => node !== at(3))?.node as string;
    // A move ignores the statement_timeout of the role or the database.
    const [host = "", port] = other.split(":");
    await moveShard(`${url}?statement_timeout=300`, 3, { host, port: Number(port) });
    await json("shards", "move", "3", at(3));
    expect(await json("shards", "move", "3", other)).toEqual({ shard: 3, node: other });
    expect(await json("shards", "move", "3", other)).toEqual({ shard: 3, node: other });
    expect((await json("shards"))[3].node).toBe(other);
    expect(await json("verify")).toEqual({ findings: [] });
    expect(await json("shards", "add", "2")).toEqual({ shards: 6 });
    for (let shard = 0; shard < 6; shard++) await cli("shards", "move", String(shard), other);
    const { moved } = await json("shards", "rebalance");
    expect(moved).toBe(3);
    const after: { node: string }[] = await json("shards");
    expect(after.filter(({ node }) => node === other)).toHaveLength(3);
    expect(await json("verify")).toEqual({ findings: [] });
    expect(await json("credits", "verify")).toMatchObject({ tenants: 9, findings: 0 });
    expect((await cli("shards", "move", "6", other)).code).toBe(2);
  });

  test("verify: names a trigger that is disabled on a node, and functions that are missing there, which migrate creates", async () => {
    const [{ node } = { node: "" }] = await json("shards");
    const admin = client(Object.assign(new URL(url), { host: node }).href);
    await admin.unsafe("set citus.enable_ddl_propagation = off");
    await admin.unsafe("set citus.enable_manual_changes_to_shards = on");
    await admin.unsafe("set citus.override_table_visibility = off");
    const [part] = await admin<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 's00'::regnamespace and relname ~ '^audit_events_[0-9]+$'`;
    await admin.unsafe(`alter table s00.${part?.name} disable trigger all`);
    const [schema] = await admin<
      { name: string }[]
    >`select nspname as name from pg_namespace where nspname ~ '^rta_.*_s00$'`;
    await admin.unsafe(`drop function ${schema?.name}.create_avatars cascade`);
    const found = await cli("verify", "--json");
    expect(found.code).toBe(1);
    const { findings } = JSON.parse(found.stdout) as { findings: { place: string; problem: string }[] };
    expect(findings.map(({ place }) => place)).toEqual(["shard 0", `node ${node}`]);
    expect(findings.map(({ problem }) => problem).join("\n")).toMatch(
      /audit_events_append_only.*\n.*_s00 has \d+ functions, not \d+: run `migrate`$/,
    );
    expect(await json("migrate")).toEqual({ migrated: true });
    expect(JSON.parse((await cli("verify", "--json")).stdout).findings).toHaveLength(1);
    await admin.end();
  });

  test("a standby that Citus knows: gets no shard", async () => {
    const admin = client(url);
    const ask = async () => [...(await readPlacement((text) => admin.unsafe(text))).values()].map(({ port }) => port);
    const before = await ask();
    for (const [index, { server }] of citus.nodes.slice(1).entries()) {
      await admin`select citus_add_secondary_node('127.0.0.1', ${index + 1}, '127.0.0.1', ${server.port}::integer)`;
    }
    expect(await ask()).toEqual(before);
    for (const port of [1, 2]) await admin`select citus_remove_node('127.0.0.1', ${port}::integer)`;
    await admin.end();
  });

  test("migrate --shards on one database with tenants: becomes shard 0; its keys stay valid", async () => {
    url = await citus.database("older");
    await migrate(url);
    const own = connect(url);
    const tenantId = await seedTenant(own);
    const caller = await seedCaller(own, tenantId);
    const avatar = await seedAvatar(own, caller);
    await own.close();
    // This also works where Citus distributes each new schema.
    const admin = client(url);
    await admin.unsafe("alter database older set citus.enable_schema_based_sharding = on");
    await admin.end();
    expect(await json("migrate", "--shards", "3")).toEqual({ migrated: true });
    // The steps of docs/scaling.md.
    const owner = client(url);
    await owner.unsafe("set session_replication_role = replica");
    await owner.unsafe(`select truncate_local_data_after_distributing_table(format('s00.%I', tablename)::regclass)
      from pg_tables where schemaname = 's00'`);
    await owner.end();
    expect(await json("verify")).toEqual({ findings: [] });
    expect(await json("shards")).toMatchObject([{ tenants: 1 }, { tenants: 0 }, { tenants: 0 }]);
    expect((await json("avatars", "show", avatar.id, "--tenant", tenantId)).id).toBe(avatar.id);
    const zero = connect(url, { shard: shardOptions(0) });
    expect((await findCredential(zero, caller.credentialKeyId))?.caller.id).toBe(caller.id);
    await expect(zero.run("delete from audit_events", [])).rejects.toThrow();
    await zero.close();
    const created = await json("tenants", "create", "--name", "New", "--shard", "2");
    expect(created.id).toEndWith("02");
    expect(await json("tenants", "list")).toHaveLength(2);
  });

  test("a node that is down: named by verify; commands for tenants of other nodes work", async () => {
    const shards: { shard: number; node: string }[] = await json("shards");
    const [down] = citus.nodes.slice(-1);
    const [lost, left] = [true, false].map((is) =>
      shards.find(({ node }) => node.endsWith(`:${down?.server.port}`) === is),
    );
    const tenant: { id: string } = await json("tenants", "create", "--name", "Left", "--shard", `${left?.shard}`);
    await down?.server.kill();
    for (const command of ["credits verify", "sessions list --open", "webhooks list"]) {
      const { code, stderr } = await cli(...command.split(" "), "--tenant", tenant.id);
      expect([command, code, stderr]).toEqual([command, 0, ""]);
    }
    expect((await json("shards"))[lost?.shard ?? 0]).toEqual({ ...lost, tenants: null, rows: null, bytes: null });
    expect((await cli("shards")).stdout).not.toContain("NaN");
    const found = await cli("verify");
    expect(found.code).toBe(1);
    expect(found.stdout).toContain(`node ${lost?.node}  it does not respond`);
  });

  test("a node that is down: commands work for the other nodes; its shards, once given up, are empty", async () => {
    const shards: { shard: number; node: string; tenants: number | null }[] = await json("shards");
    const lost = shards.filter(({ tenants }) => tenants === null);
    const node = lost[0]?.node as string;
    const left = shards.find(({ tenants }) => tenants !== null)?.shard as number;
    const numbers = lost.map(({ shard }) => String(shard));

    expect(await cli("migrate")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${node} does not respond. Not looked at`),
    });
    const more = await cli("migrate", "--shards", "4");
    expect([more.code, more.stderr]).toEqual([
      1,
      expect.stringContaining(`${node} does not respond, and a change of the schema needs all`),
    ]);
    for (const args of [["--shard", String(left)], []]) {
      const { code, stderr } = await cli("tenants", "create", "--name", "Later", ...args);
      expect([code, stderr]).toEqual([0, expect.stringContaining(`shard ${numbers[0]} at ${node}`)]);
    }
    expect((await cli("tenants", "create", "--name", "x", "--shard", numbers[0] as string)).stderr).toContain(
      `The node of shard ${numbers[0]} does not respond.`,
    );
    for (const command of ["tenants list", "credits verify", "sessions list --open"]) {
      const { code, stdout, stderr } = await cli(...command.split(" "), "--json");
      expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(`shard ${numbers[0]} at ${node}`)]);
      expect(JSON.parse(stdout)).toBeTruthy();
    }

    const confirm = (all: string[]) => ["--confirm", `abandon ${all.join(" ")}`];
    expect((await cli("shards", "abandon", ...numbers, "--confirm", "yes")).code).toBe(2);
    const present = await cli("shards", "abandon", String(left), ...confirm([String(left)]));
    expect([present.code, present.stderr]).toEqual([1, expect.stringContaining("is not lost")]);
    if (numbers.length > 1) {
      const some = await cli("shards", "abandon", numbers[0] as string, ...confirm(numbers.slice(0, 1)));
      expect([some.code, some.stderr]).toEqual([1, expect.stringContaining("all shards are given up at once")]);
    }
    const before: unknown[] = JSON.parse((await cli("tenants", "list", "--json")).stdout);
    expect(await json("shards", "abandon", ...numbers, ...confirm(numbers))).toEqual({
      abandoned: numbers.map(Number),
    });
    expect(await json("verify")).toEqual({ findings: [] });
    expect(await json("tenants", "list")).toEqual(before);
    const created = await json("tenants", "create", "--name", "Again", "--shard", numbers[0] as string);
    expect((await json("tenants", "list")).map(({ id }: { id: string }) => id)).toContain(created.id);
    expect(await json("migrate", "--shards", "4")).toEqual({ migrated: true });
  });
});
