/** What all commands share: the exit codes, the error messages and the help. */
import { describe, expect, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/api-keys/callers";
import { testDatabase } from "@realtime-avatar/testing/database";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests, run, runProcess, UNKNOWN, UNKNOWN_AVATAR } from "../test/cli.ts";

const tests = cliTests();
const { cli, cliProcess } = tests;

describe("a process compared with a run inside the tests", () => {
  const of = (...args: string[]) => [...args, "--tenant", tests.tenantId];
  test.each<[string, () => string[], number]>([
    ["a table", () => ["tenants", "list"], 0],
    ["JSON", () => ["tenants", "list", "--json"], 0],
    ["no command", () => [], 2],
    ["--help", () => ["keys", "create", "--help"], 0],
    ["an option that commander refuses", () => ["migrate", "--force"], 2],
    ["a value that a parser of ours refuses", () => of("keys", "revoke", "x"), 2],
    ["a value that a schema refuses", () => of("keys", "create", "--name", ""), 2],
    ["a refusal", () => of("keys", "show", UNKNOWN), 1],
    ["a refusal by its exit code alone", () => ["health", "--url", "http://127.0.0.1:1"], 1],
  ])("a process, for %s: the same exit code and output as a run", async (_, args, code) => {
    const result = await cliProcess(...args());
    expect(result.code).toBe(code);
    expect(await cli(...args())).toEqual(result);
  });

  test("a process, its database unreachable: the same exit code and output as a run", async () => {
    const variables = { DATABASE_URL: "postgres://user:hunter2@127.0.0.1:1/nothing" };
    const result = await runProcess(variables, "tenants", "list");
    expect(result.code).toBe(1);
    expect(await run(variables, "tenants", "list")).toEqual(result);
  });
});

describe("bad arguments", () => {
  const create = (...args: string[]) => ["keys", "create", "--tenant", tests.tenantId, "--name", "x", ...args];

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
    [
      "a name too long",
      () => ["keys", "create", "--tenant", tests.tenantId, "--name", "x".repeat(121)],
      /--name: Must have/,
    ],
    ["an empty name", () => ["tenants", "create", "--name", ""], /--name: Must have/],
    [
      "no overlap",
      () => ["keys", "rotate", UNKNOWN, "--tenant", tests.tenantId, "--overlap", "soon"],
      /--overlap: Must be/,
    ],
    [
      "too long an overlap",
      () => ["keys", "rotate", UNKNOWN, "--tenant", tests.tenantId, "--overlap", "604801"],
      /--overlap: Must be from 0 to 604800/,
    ],
    [
      "no key's id",
      () => ["keys", "revoke", "x", "--tenant", tests.tenantId],
      /<id>: Must be an id \(key_…\) or a keyId/,
    ],
    [
      "an avatar's id for a key's",
      () => ["keys", "show", UNKNOWN_AVATAR, "--tenant", tests.tenantId],
      /<id>: Must be an id/,
    ],
    ["no id", () => ["keys", "show", "--tenant", tests.tenantId], /missing required argument/],
    ["no tenant", () => ["keys", "list"], /--tenant/],
    [
      "no such status",
      () => ["keys", "list", "--tenant", tests.tenantId, "--status", "gone"],
      /--status: Must be one of/,
    ],
    [
      "no limit",
      () => ["avatars", "list", "--tenant", tests.tenantId, "--limit", "0"],
      /--limit: Must be from 1 to 100/,
    ],
    ["no cursor", () => ["keys", "list", "--tenant", tests.tenantId, "--cursor", "x"], /--cursor: Must be the/],
    [
      "no such action",
      () => ["audit", "tail", "--tenant", tests.tenantId, "--action", "x"],
      /--action: Must be one of/,
    ],
    ["no credential", () => ["audit", "tail", "--tenant", tests.tenantId, "--actor", "x"], /--actor: Must have 16/],
    ["no tenant's id", () => ["keys", "create", "--tenant", "acme", "--name", "x"], /--tenant: Must be/],
  ])("arguments, %s: exit 2, an error text, nothing changed", async (_, args, message) => {
    const before = await tests.db
      .client`select (select count(*) from api_keys) as keys, (select count(*) from tenants) as tenants`;
    const { code, stdout, stderr } = await cli(...args());
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("    at ");
    const after = await tests.db
      .client`select (select count(*) from api_keys) as keys, (select count(*) from tenants) as tenants`;
    expect(after).toEqual(before);
  });

  test("a variable, malformed: exit 2, naming it", async () => {
    const { code, stderr } = await run({ DATABASE_URL: "hunter2" }, "migrate");
    expect(code).toBe(2);
    expect(stderr).toBe("DATABASE_URL must be a postgres:// URL.\n");
  });
});

describe("what cannot be done", () => {
  test.each([
    [["keys", "show", UNKNOWN], "The tenant has no key with this id.\n"],
    [["keys", "revoke", UNKNOWN], "The tenant has no key with this id.\n"],
    [["keys", "rotate", UNKNOWN], "The tenant has no key with this id.\n"],
    [["avatars", "show", UNKNOWN_AVATAR], "The tenant has no avatar with this id.\n"],
    [["keys", "show", "unknownunknown00"], "The tenant has no key with this id.\n"],
  ])("a command, %j: exit 1 with the reason", async (args, message) => {
    const { code, stdout, stderr } = await cli(...args, "--tenant", tests.tenantId);
    expect([code, stdout, stderr]).toEqual([1, "", message]);
  });

  test("a key of another tenant, by its id or credential: exit 1", async () => {
    const { record } = await seedKey(tests.db, await seedTenant(tests.db));
    for (const command of ["show", "revoke", "rotate"]) {
      for (const id of [record.id, record.keyId]) {
        const { code, stderr } = await cli("keys", command, id, "--tenant", tests.tenantId);
        expect([code, stderr]).toEqual([1, "The tenant has no key with this id.\n"]);
      }
    }
    expect((await findCredential(tests.db, record.keyId))?.caller).toMatchObject({ status: "active", version: 1 });
  });

  test("keys create, for an unknown tenant: exit 1", async () => {
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

  test("a command, before the migrations: exit 1, naming migrate", async () => {
    const empty = await testDatabase({ migrated: false });
    const { code, stderr } = await run(
      {
        DATABASE_URL: empty.url,
      },
      "tenants",
      "list",
    );
    expect([code, stderr]).toEqual([
      1,
      "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).\n",
    ]);
    await empty.close();
  });

  test("a command, its database unreachable: exit 1 without the password", async () => {
    const url = "postgres://user:hunter2@127.0.0.1:1/nothing";
    const { code, stderr } = await run({ DATABASE_URL: url }, "tenants", "list");
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
      ["credits"],
      ...["grant", "void", "adjust", "balance", "entries", "verify"].map((command) => ["credits", command]),
    ].map((words) => [words]),
  )("the help of %j, requested: exit 0 with the usage", async (words) => {
    const { code, stdout, stderr } = await cli(...words, "--help");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Usage: realtime-avatar");
  });
});
