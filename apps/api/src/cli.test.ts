/** The command line, as an operator and as a script use it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { insertAvatar } from "@realtime-avatar/db/statements/avatars";
import { findCredential } from "@realtime-avatar/db/statements/callers";
import {
  operatorOrigin,
  random,
  seedKey,
  seedTenant,
  type TestDatabase,
  temporaryFolder,
  testDatabase,
} from "@realtime-avatar/db/testing";
import { ApiKeyPage, ApiKeyWithSecret } from "@realtime-avatar/domain/api-key";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { AuditEvent } from "@realtime-avatar/domain/audit";
import { newAvatar } from "@realtime-avatar/domain/avatar";
import { isId, newId, type TenantId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { bun, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;
let tenantId: TenantId;
const UNKNOWN = "key_01h455vb4pex5vsknk084sn02q";
const UNKNOWN_AVATAR = "ava_01h455vb4pex5vsknk084sn02q";

beforeAll(async () => {
  database = await testDatabase();
  tenantId = await seedTenant(database.db);
});
afterAll(() => database.close());

const cli = (...args: string[]) => runToEnd(bun("apps/api/src/cli.ts", ...args), { DATABASE_URL: database.url });
/** Standard output as exactly one JSON value, with nothing on standard error. */
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

describe("migrate", () => {
  test("says for a person and for a program that the schema is up to date", async () => {
    expect(await json("migrate")).toEqual({ migrated: false });
    expect((await cli("migrate")).stdout).toBe("The schema is already up to date.\n");
  });

  test("says that it has brought it up to date, on a server and on an embedded database", async () => {
    const empty = await testDatabase({ migrated: false });
    const onServer = await runToEnd(bun("apps/api/src/cli.ts", "migrate"), { DATABASE_URL: empty.url });
    expect(onServer.stdout).toBe("Migrations applied.\n");
    await empty.close();
    const folder = await temporaryFolder();
    const embedded = { DATA_DIR: join(folder, "data") };
    const first = await runToEnd(bun("apps/api/src/cli.ts", "migrate", "--json"), embedded);
    const second = await runToEnd(bun("apps/api/src/cli.ts", "migrate", "--json"), embedded);
    expect([JSON.parse(first.stdout), JSON.parse(second.stdout)]).toEqual([{ migrated: true }, { migrated: false }]);
    await rm(folder, { recursive: true });
  });
});

describe("health", () => {
  const health = (variables: Record<string, string>, ...args: string[]) =>
    runToEnd(bun("apps/api/src/cli.ts", "health", ...args), variables);
  const unreachable = { status: "unavailable", reason: "unreachable" };
  /** Whoever answers each request by `answer`; `null` never answers. */
  const serving = async (answer: (() => Response) | null, work: (port: string) => Promise<void>): Promise<void> => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer ?? (() => new Promise(() => {})) });
    await work(String(server.port));
    await server.stop(true);
  };

  test.each([
    ["the API", "apps/api/src/main.ts", "PORT", []],
    ["the worker", "apps/worker/src/main.ts", "WORKER_PORT", ["--worker"]],
  ] as const)("asks %s whether it is ready, for a person and for a program", async (_, program, variable, args) => {
    const empty = await testDatabase({ migrated: false });
    const running = startProcess(bun(program), { [variable]: "0", DATABASE_URL: empty.url });
    const [, port = ""] = await running.waitFor(/"url":"http:[^"]+:(\d+)/);
    // A proxy that whoever runs it has set is not asked.
    const variables = { [variable]: port, HOST: "0.0.0.0", HTTP_PROXY: "http://127.0.0.1:1" };
    const pending = await health(variables, ...args);
    expect([pending.code, pending.stdout, pending.stderr]).toEqual([1, "not ready: migrations_pending\n", ""]);
    const unready = await health(variables, ...args, "--json");
    expect([unready.code, JSON.parse(unready.stdout)]).toEqual([
      1,
      { status: "unavailable", reason: "migrations_pending" },
    ]);
    await runToEnd(bun("apps/api/src/cli.ts", "migrate"), { DATABASE_URL: empty.url });
    const ready = await health(variables, ...args);
    expect([ready.code, ready.stdout, ready.stderr]).toEqual([0, "ready\n", ""]);
    const named = await health({}, "--url", `http://127.0.0.1:${port}`, "--json");
    expect([named.code, JSON.parse(named.stdout)]).toEqual([0, { status: "ok" }]);
    running.kill("SIGTERM");
    await running.exited;
    const gone = await health(variables, ...args, "--json");
    expect([gone.code, JSON.parse(gone.stdout)]).toEqual([1, unreachable]);
    await empty.close();
  });

  test.each<[string, (() => Response) | null]>([
    ["never answers", null],
    ["is not ours", () => new Response("<html>", { status: 200 })],
    ["says two things at once", () => Response.json({ status: "ok" }, { status: 503 })],
    ["sends it elsewhere", () => Response.redirect("http://127.0.0.1:1/")],
  ])("does not believe one that %s", async (_, answer) => {
    await serving(answer, async (PORT) => {
      const { code, stdout, stderr } = await health({ PORT });
      expect([code, stdout, stderr]).toEqual([1, "not ready: unreachable\n", ""]);
    });
  });
});

describe("tenants", () => {
  test("are created and listed, oldest first", async () => {
    const acme = await json("tenants", "create", "--name", "Acme");
    expect(acme).toEqual({ id: acme.id, name: "Acme", createdAt: acme.createdAt });
    expect(isId("ten", acme.id)).toBe(true);
    const { stdout } = await cli("tenants", "create", "--name", "For a person");
    expect(stdout).toMatch(/^Created ten_[0-9a-z]{26} {2}For a person\n$/);
    const all = await json("tenants", "list");
    expect(all.map(({ name }: { name: string }) => name)).toEqual(["Tenant of a test", "Acme", "For a person"]);
    expect(all[1]).toEqual(acme);
  });

  test("a name that would drive a terminal is shown harmless, and kept as it is", async () => {
    const name = "a\u001b[31mred\u202e\u0007";
    const made = await json("tenants", "create", "--name", name);
    expect(made.name).toBe(name);
    const { stdout } = await cli("tenants", "list");
    expect(stdout).toContain("a\\u{1b}[31mred\\u{202e}\\u{7}");
    expect(stdout).not.toContain("\u001b");
  });

  test("there may be none", async () => {
    const empty = await testDatabase();
    const list = (...args: string[]) =>
      runToEnd(bun("apps/api/src/cli.ts", "tenants", "list", ...args), { DATABASE_URL: empty.url });
    expect((await list()).stdout).toBe("No tenants.\n");
    expect((await list("--json")).stdout).toBe("[]\n");
    await empty.close();
  });
});

describe("keys create", () => {
  test("prints the key as the API returns it", async () => {
    const args = ["--environment", "live", "--scopes", "avatars:read, avatars:write", "--spend-limit", "5000000"];
    const key = await json(
      "keys",
      "create",
      "--tenant",
      tenantId,
      "--name",
      "ops",
      ...args,
      "--expires-at",
      "2090-01-01T00:00:00Z",
    );
    expect(validate(ApiKeyWithSecret, key)).toEqual([]);
    expect(key).toMatchObject({
      tenantId,
      name: "ops",
      environment: "live",
      scopes: ["avatars:read", "avatars:write"],
      spendLimitCreditMicros: 5_000_000,
      expiresAt: "2090-01-01T00:00:00.000Z",
      status: "active",
    });
    expect(parseApiKey(key.apiKey)?.keyId).toBe(key.keyId);
    expect((await findCredential(database.db, key.keyId))?.caller.lineage).toEqual([]);
    expect(await database.db.client`select * from audit_events where target_id = ${key.id}`).toMatchObject([
      { action: "api_key.created", actor_id: null, actor_key_id: null, environment: "live" },
    ]);
  });

  test("has the defaults of the API, and shows a person the secret once", async () => {
    const { code, stdout, stderr } = await cli("keys", "create", "--tenant", tenantId, "--name", "plain");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("environment  test");
    expect(stdout).toContain("scopes       realtime:write, credits:read, avatars:read");
    expect(stdout).toContain("spend cap    none");
    expect(stdout).toContain("expires      never");
    expect(parseApiKey(stdout.trim().split(/\s+/).at(-1) ?? "")?.environment).toBe("test");
  });
});

describe("a key and its life", () => {
  const tenant = () => ["--tenant", tenantId];
  const create = (...args: string[]) => json("keys", "create", ...tenant(), "--name", "life", ...args);
  const credential = async (apiKey: string) => findCredential(database.db, parseApiKey(apiKey)?.keyId ?? "");

  test("is listed and shown as the API shows it, to a program and to a person", async () => {
    const { apiKey, ...key } = await create("--environment", "live", "--expires-at", "2090-01-01T00:00:00Z");
    expect(await json("keys", "show", key.id, ...tenant())).toEqual(key);
    const page = await json("keys", "list", ...tenant(), "--limit", "1");
    expect(page).toEqual({ data: [key], nextCursor: page.nextCursor });
    expect(validate(ApiKeyPage, page)).toEqual([]);
    const next = await json("keys", "list", ...tenant(), "--cursor", page.nextCursor);
    expect(next.data.map(({ id }: { id: string }) => id)).not.toContain(key.id);

    const { stdout } = await cli("keys", "list", ...tenant(), "--environment", "live", "--limit", "1");
    const [head = "", row = "", more = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/)).toEqual(["ID", "KEY", "STATUS", "SCOPES", "LAST USED", "EXPIRES", "NAME"]);
    expect(row.split(/ {2,}/)).toEqual([
      key.id,
      key.redactedKey,
      "active",
      "realtime:write,credits:read,avatars:read",
      "-",
      "2090-01-01T00:00:00.000Z",
      "life",
    ]);
    expect(more).toMatch(/^Next page: --cursor /);
    // The columns stand under one another.
    expect(row.indexOf("active")).toBe(head.indexOf("STATUS"));
    const shown = (await cli("keys", "show", key.id, ...tenant())).stdout;
    expect(shown).toMatch(/^name {2,}life$/m);
    expect(shown).toMatch(/^scopes {2,}\["realtime:write",/m);
    expect(shown + stdout).not.toContain(apiKey);
  });

  test("a name that would drive a terminal is shown harmless in every table", async () => {
    const { id } = await json("keys", "create", ...tenant(), "--name", "漢\u2028a\u001b[2J\u202e");
    for (const args of [["list"], ["show", id], ["rotate", id]]) {
      const { code, stdout } = await cli("keys", ...args, ...tenant());
      expect(code).toBe(0);
      expect(stdout).toContain("漢\\u{2028}a\\u{1b}[2J\\u{202e}");
      expect(stdout).not.toContain("\u001b");
    }
  });

  test("is rotated, at once or with an overlap", async () => {
    const first = await create();
    const second = await json("keys", "rotate", first.id, ...tenant(), "--overlap", "600");
    expect(validate(ApiKeyWithSecret, second)).toEqual([]);
    expect(second).toMatchObject({ id: first.id, name: "life" });
    expect([(await credential(first.apiKey))?.retired, (await credential(second.apiKey))?.retired]).toEqual([
      false,
      false,
    ]);
    const { stdout } = await cli("keys", "rotate", first.id, ...tenant());
    const third = stdout.trim().split(/\s+/).at(-1) ?? "";
    expect(stdout).toStartWith(`Rotated ${first.id}`);
    expect((await credential(third))?.caller.id).toBe(first.id);
    // A log line has the credential: any of them leads to the key.
    for (const apiKey of [first.apiKey, second.apiKey, third]) {
      const shown = await json("keys", "show", parseApiKey(apiKey)?.keyId ?? "", ...tenant());
      expect([shown.id, shown.keyId]).toEqual([first.id, parseApiKey(third)?.keyId]);
    }
    expect([(await credential(first.apiKey))?.retired, (await credential(second.apiKey))?.retired]).toEqual([
      true,
      true,
    ]);
  });

  test("is revoked, and stays so", async () => {
    const { id, apiKey } = await create();
    expect((await cli("keys", "revoke", id, ...tenant())).stdout).toBe(`${id} is revoked.\n`);
    expect(await json("keys", "revoke", id, ...tenant())).toMatchObject({ id, status: "revoked" });
    expect((await credential(apiKey))?.caller.status).toBe("revoked");
    const { code, stdout, stderr } = await cli("keys", "rotate", id, ...tenant());
    expect([code, stdout, stderr]).toEqual([1, "", "Status is `revoked`; allowed transitions: none.\n"]);
    expect((await json("keys", "list", ...tenant(), "--status", "revoked")).data).toMatchObject([{ id }]);
    const none = await cli("keys", "list", ...tenant(), "--status", "expired");
    expect(none.stdout).toBe("No matching keys.\n");
  });
});

describe("avatars", () => {
  test("of both worlds are listed and shown", async () => {
    const { db } = database;
    const made: string[] = [];
    for (const environment of ["live", "test", "live"] as const) {
      const { record, secret } = await seedKey(db, tenantId, { environment, scopes: ["*"] });
      const found = await findCredential(db, secret.keyId);
      if (!found) throw new Error("no caller");
      const origin = { ...operatorOrigin(), actor: found.caller };
      const of = { id: newId("ava", origin.now, random), tenantId, environment, defaultModelId: "m", now: origin.now };
      await insertAvatar(db, newAvatar({ displayName: "a\u0007", sourceKind: "image" }, of), found.caller, origin);
      made.unshift(of.id);
      expect(record.environment).toBe(environment);
    }
    const all = await json("avatars", "list", "--tenant", tenantId);
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(made);
    const first = await json("avatars", "list", "--tenant", tenantId, "--limit", "2");
    const second = await json("avatars", "list", "--tenant", tenantId, "--cursor", first.nextCursor);
    expect([...first.data, ...second.data]).toEqual(all.data);
    expect(second.nextCursor).toBeNull();
    for (const avatar of all.data) {
      expect(await json("avatars", "show", avatar.id, "--tenant", tenantId)).toEqual(avatar);
    }
    const { stdout } = await cli("avatars", "list", "--tenant", tenantId, "--source-kind", "image");
    expect(stdout.split("\n")).toHaveLength(5);
    expect(stdout).toContain("a\\u{7}");
    expect((await cli("avatars", "list", "--tenant", tenantId, "--status", "deleted")).stdout).toBe(
      "No matching avatars.\n",
    );
  });
});

describe("audit tail", () => {
  test("shows the newest events, the newest last, and of those that are asked for", async () => {
    const { id } = await json("keys", "create", "--tenant", tenantId, "--name", "audited");
    await json("keys", "rotate", id, "--tenant", tenantId);
    await json("keys", "revoke", id, "--tenant", tenantId);
    const events = await json("audit", "tail", "--tenant", tenantId, "--limit", "3");
    expect(events.map(({ action, targetId }: AuditEvent) => `${action} ${targetId}`)).toEqual([
      `api_key.created ${id}`,
      `api_key.rotated ${id}`,
      `api_key.revoked ${id}`,
    ]);
    for (const event of events) expect(validate(AuditEvent, event)).toEqual([]);
    const some = await json("audit", "tail", "--tenant", tenantId, "--target", id, "--action", "api_key.rotated");
    expect(some).toEqual([events[1]]);
    const { stdout } = await cli("audit", "tail", "--tenant", tenantId, "--limit", "1");
    const [head = "", row = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/)).toEqual(["TIME", "ACTION", "TARGET", "CHANGED", "ACTOR", "CREDENTIAL", "REQUEST"]);
    expect(row.split(/ {2,}/).slice(1, 5)).toEqual(["api_key.revoked", id, "status", "-"]);
    // Of both worlds: whoever runs the service sees all.
    const made = await json("audit", "tail", "--tenant", tenantId, "--action", "avatar.created");
    expect(made.map(({ environment }: AuditEvent) => environment).sort()).toEqual(["live", "live", "test"]);
    expect((await cli("audit", "tail", "--tenant", tenantId, "--action", "avatar.deleted")).stdout).toBe(
      "No matching events.\n",
    );
  });

  test("--follow goes on with each event once, as it comes, until it is told to stop", async () => {
    const args = ["audit", "tail", "--tenant", tenantId, "--limit", "1", "--action", "api_key.created"];
    const tail = startProcess(bun("apps/api/src/cli.ts", ...args, "--follow", "--json"), {
      DATABASE_URL: database.url,
    });
    await tail.waitFor(/\n/);
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      const { record } = await seedKey(database.db, tenantId);
      ids.push(record.id);
      await tail.waitFor(new RegExp(record.id));
    }
    // More at once than one look shows.
    const many = await Promise.all(Array.from({ length: 150 }, () => seedKey(database.db, tenantId)));
    for (const { record } of many) await tail.waitFor(new RegExp(record.id));
    tail.kill("SIGINT");
    expect(await tail.exited).toBe(0);
    const lines = tail.stdout().trim().split("\n");
    const shown: string[] = lines.map((line) => JSON.parse(line).targetId);
    expect(shown).toHaveLength(1 + 3 + 150);
    expect(shown.slice(1, 4)).toEqual(ids);
    expect(new Set(shown).size).toBe(154);
  });
});

describe("bad arguments exit with 2, say what is wrong on standard error, and change nothing", () => {
  const create = (...args: string[]) => ["keys", "create", "--tenant", tenantId, "--name", "x", ...args];

  test.each<[string, () => string[], RegExp]>([
    ["no URL", () => ["health", "--url", "127.0.0.1:3000"], /--url: Must be an http/],
    ["no command", () => [], /Usage/],
    ["an unknown command", () => ["nothing"], /unknown command/],
    ["an unknown option", () => ["migrate", "--force"], /unknown option '--force'/],
    ["an unknown subcommand", () => ["tenants", "destroy"], /unknown command|Usage/],
    ["an extra argument", () => ["tenants", "list", "please"], /too many arguments/],
    ["a missing option", () => ["keys", "create", "--name", "x"], /--tenant/],
    ["a missing value", () => create("--scopes"), /--scopes/],
    ["no such scope", () => create("--scopes", "avatars"), /--scopes: Must be one of/],
    ["an empty scope", () => create("--scopes", ""), /--scopes: Must be one of/],
    ["no such environment", () => create("--environment", "prod"), /--environment: Must be one of/],
    ["a negative cap", () => create("--spend-limit=-1"), /--spend-limit: Must be an integer/],
    ["a cap in words", () => create("--spend-limit", "lots"), /--spend-limit: Must be an integer/],
    ["a cap with decimals", () => create("--spend-limit", "1.5"), /--spend-limit: Must be an integer/],
    ["a cap too large", () => create("--spend-limit", "9007199254740992"), /--spend-limit: Must be from/],
    ["no date", () => create("--expires-at", "tomorrow"), /--expires-at: Must be an RFC 3339/],
    ["a date in the past", () => create("--expires-at", "2001-01-01T00:00:00Z"), /--expires-at: Must be in the future/],
    ["a name too long", () => ["keys", "create", "--tenant", tenantId, "--name", "x".repeat(121)], /--name: Must have/],
    ["an empty name", () => ["tenants", "create", "--name", ""], /--name: Must have/],
    ["no overlap", () => ["keys", "rotate", UNKNOWN, "--tenant", tenantId, "--overlap", "soon"], /--overlap: Must be/],
    [
      "too long an overlap",
      () => ["keys", "rotate", UNKNOWN, "--tenant", tenantId, "--overlap", "604801"],
      /--overlap: Must be from 0 to 604800/,
    ],
    ["no key's id", () => ["keys", "revoke", "x", "--tenant", tenantId], /<id>: Must be an id \(key_…\) or a keyId/],
    ["an avatar's id for a key's", () => ["keys", "show", UNKNOWN_AVATAR, "--tenant", tenantId], /<id>: Must be an id/],
    ["no id", () => ["keys", "show", "--tenant", tenantId], /missing required argument/],
    ["no tenant", () => ["keys", "list"], /--tenant/],
    ["no such status", () => ["keys", "list", "--tenant", tenantId, "--status", "gone"], /--status: Must be one of/],
    ["no limit", () => ["avatars", "list", "--tenant", tenantId, "--limit", "0"], /--limit: Must be from 1 to 100/],
    ["no cursor", () => ["keys", "list", "--tenant", tenantId, "--cursor", "x"], /--cursor: Must be the/],
    ["no such action", () => ["audit", "tail", "--tenant", tenantId, "--action", "x"], /--action: Must be one of/],
    ["no credential", () => ["audit", "tail", "--tenant", tenantId, "--actor", "x"], /--actor: Must have 16/],
    ["no tenant's id", () => ["keys", "create", "--tenant", "acme", "--name", "x"], /--tenant: Must be/],
  ])("%s", async (_, args, message) => {
    const before = await database.db
      .client`select (select count(*) from api_keys) as keys, (select count(*) from tenants) as tenants`;
    const { code, stdout, stderr } = await cli(...args());
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("    at ");
    const after = await database.db
      .client`select (select count(*) from api_keys) as keys, (select count(*) from tenants) as tenants`;
    expect(after).toEqual(before);
  });

  test("a bad variable too, by its name", async () => {
    const { code, stderr } = await runToEnd(bun("apps/api/src/cli.ts", "migrate"), { DATABASE_URL: "hunter2" });
    expect(code).toBe(2);
    expect(stderr).toBe("DATABASE_URL must be a postgres:// URL.\n");
  });
});

describe("what cannot be done exits with 1", () => {
  test.each([
    [["keys", "show", UNKNOWN], "The tenant has no key with this id.\n"],
    [["keys", "revoke", UNKNOWN], "The tenant has no key with this id.\n"],
    [["keys", "rotate", UNKNOWN], "The tenant has no key with this id.\n"],
    [["avatars", "show", UNKNOWN_AVATAR], "The tenant has no avatar with this id.\n"],
    [["keys", "show", "unknownunknown00"], "The tenant has no key with this id.\n"],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await cli(...args, "--tenant", tenantId);
    expect([code, stdout, stderr]).toEqual([1, "", message]);
  });

  test("a key of another tenant, by its id or its credential", async () => {
    const { record } = await seedKey(database.db, await seedTenant(database.db));
    for (const command of ["show", "revoke", "rotate"]) {
      for (const id of [record.id, record.keyId]) {
        const { code, stderr } = await cli("keys", command, id, "--tenant", tenantId);
        expect([code, stderr]).toEqual([1, "The tenant has no key with this id.\n"]);
      }
    }
    expect((await findCredential(database.db, record.keyId))?.caller).toMatchObject({ status: "active", version: 1 });
  });

  test("a tenant that does not exist", async () => {
    const { code, stdout, stderr } = await cli(
      "keys",
      "create",
      "--tenant",
      "ten_01h455vb4pex5vsknk084sn02q",
      "--name",
      "x",
    );
    expect([code, stdout, stderr]).toEqual([1, "", "No tenant has this id.\n"]);
  });

  test("a schema that is behind", async () => {
    const empty = await testDatabase({ migrated: false });
    const { code, stderr } = await runToEnd(bun("apps/api/src/cli.ts", "tenants", "list"), { DATABASE_URL: empty.url });
    expect([code, stderr]).toEqual([
      1,
      "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).\n",
    ]);
    await empty.close();
  });

  test("a database that is not there", async () => {
    const url = "postgres://user:hunter2@127.0.0.1:1/nothing";
    const { code, stderr } = await runToEnd(bun("apps/api/src/cli.ts", "tenants", "list"), { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toBe("Cannot connect to the database of DATABASE_URL (ECONNREFUSED).\n");
  });
});

describe("--help", () => {
  test.each(
    [
      [],
      ["migrate"],
      ["health"],
      ["tenants"],
      ["tenants", "create"],
      ["tenants", "list"],
      ["keys"],
      ["keys", "create"],
      ["keys", "list"],
      ["keys", "show"],
      ["keys", "revoke"],
      ["keys", "rotate"],
      ["avatars"],
      ["avatars", "list"],
      ["avatars", "show"],
      ["audit"],
      ["audit", "tail"],
    ].map((words) => [words]),
  )("%j", async (words) => {
    const { code, stdout, stderr } = await cli(...words, "--help");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Usage: realtime-avatar");
  });
});
