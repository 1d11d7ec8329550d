/** The command line, as an operator and as a script use it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { findCredential } from "@realtime-avatar/db/callers";
import { seedTenant, type TestDatabase, temporaryFolder, testDatabase } from "@realtime-avatar/db/testing";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-key";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { bun, runToEnd } from "@realtime-avatar/runtime/testing";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;
let tenantId: string;

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
    expect((await cli("migrate")).stdout).toBe("The schema was up to date.\n");
  });

  test("says that it has brought it up to date, on a server and on an embedded database", async () => {
    const empty = await testDatabase({ migrated: false });
    const onServer = await runToEnd(bun("apps/api/src/cli.ts", "migrate"), { DATABASE_URL: empty.url });
    expect(onServer.stdout).toBe("The schema is up to date now.\n");
    await empty.close();
    const folder = await temporaryFolder();
    const embedded = { DATA_DIR: join(folder, "data") };
    const first = await runToEnd(bun("apps/api/src/cli.ts", "migrate", "--json"), embedded);
    const second = await runToEnd(bun("apps/api/src/cli.ts", "migrate", "--json"), embedded);
    expect([JSON.parse(first.stdout), JSON.parse(second.stdout)]).toEqual([{ migrated: true }, { migrated: false }]);
    await rm(folder, { recursive: true });
  });
});

describe("tenants", () => {
  test("are created and listed, oldest first", async () => {
    const acme = await json("tenants", "create", "--name", "Acme");
    expect(acme).toEqual({ tenantId: acme.tenantId, name: "Acme", createdAt: acme.createdAt });
    expect(isId("ten", acme.tenantId)).toBe(true);
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
    expect((await list()).stdout).toBe("There are no tenants.\n");
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

describe("bad arguments exit with 2, say what is wrong on standard error, and change nothing", () => {
  const create = (...args: string[]) => ["keys", "create", "--tenant", tenantId, "--name", "x", ...args];

  test.each<[string, () => string[], RegExp]>([
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
    [
      "a date in the past",
      () => create("--expires-at", "2001-01-01T00:00:00Z"),
      /--expires-at: Must lie in the future/,
    ],
    ["a name too long", () => ["keys", "create", "--tenant", tenantId, "--name", "x".repeat(121)], /--name: Must have/],
    ["an empty name", () => ["tenants", "create", "--name", ""], /--name: Must have/],
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
  test("a tenant that does not exist", async () => {
    const { code, stdout, stderr } = await cli(
      "keys",
      "create",
      "--tenant",
      "ten_01h455vb4pex5vsknk084sn02q",
      "--name",
      "x",
    );
    expect([code, stdout, stderr]).toEqual([1, "", "There is no tenant with this id.\n"]);
  });

  test("a schema that is behind", async () => {
    const empty = await testDatabase({ migrated: false });
    const { code, stderr } = await runToEnd(bun("apps/api/src/cli.ts", "tenants", "list"), { DATABASE_URL: empty.url });
    expect([code, stderr]).toEqual([1, "The database's migrations are pending. Run `bun run migrate` first.\n"]);
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
    [[], ["migrate"], ["tenants"], ["tenants", "create"], ["tenants", "list"], ["keys"], ["keys", "create"]].map(
      (words) => [words],
    ),
  )("%j", async (words) => {
    const { code, stdout, stderr } = await cli(...words, "--help");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Usage: realtime-avatar");
  });
});
