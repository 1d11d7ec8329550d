/** Common to all commands: the exit codes, the error messages and the help. */
import { describe, expect, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import { IS_ONE_DATABASE, testDatabase } from "@realtime-avatar/testing/database";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests, run, runProcess, UNKNOWN, UNKNOWN_AVATAR, UNKNOWN_TENANT } from "../test/cli.ts";

const { db, tenantId, serviceUrl = "", cli, cliProcess } = await cliTests();

/** The words of a command line, with the tenant of this file in place of TENANT. */
const words = (line: string): string[] => line.replace("TENANT", tenantId).split(" ").filter(Boolean);

describe("a process compared with a run inside the tests", () => {
  test.each<[string, string, number]>([
    ["a table", "tenants list", 0],
    ["JSON", "tenants list --json", 0],
    ["no command", "", 2],
    ["--help", "keys create --help", 0],
    ["--version", "--version", 0],
    ["an option that commander refuses", "migrate --force", 2],
    ["a value that the parser of an option refuses", "keys revoke x --tenant TENANT", 2],
    ["a value that a schema refuses", "keys create --name= --tenant TENANT", 2],
    ["a refusal", `keys show ${UNKNOWN} --tenant TENANT`, 1],
    ["a failure that only the exit code shows", "health --url http://127.0.0.1:1", 1],
  ])("a process, for %s: the same exit code and output as a run", async (_, line, code) => {
    const result = await cliProcess(...words(line));
    expect(result.code).toBe(code);
    expect(await cli(...words(line))).toEqual(result);
  });

  test("a process whose database is unreachable: exit 1 without the password, as a run", async () => {
    const variables = { DATABASE_URL: "postgres://user:hunter2@127.0.0.1:1/nothing" };
    const stderr =
      "Cannot connect to the database of DATABASE_URL (ECONNREFUSED). No server listens at its host and port: start the server, or correct them.\n";
    for (const start of [runProcess, run]) {
      expect(await start(variables, "tenants", "list")).toEqual({ code: 1, stdout: "", stderr });
    }
  });
});

describe("bad arguments", () => {
  const create = "keys create --tenant TENANT --name x";
  const list = "list --tenant TENANT";

  test.each<[string, string, RegExp]>([
    ["no URL", "health --url 127.0.0.1:3000", /--url: Must be an http/],
    ["no command", "", /Usage/],
    ["an unknown command", "nothing", /unknown command/],
    ["an unknown option", "migrate --force", /unknown option '--force'/],
    ["an unknown subcommand", "tenants destroy", /unknown command|Usage/],
    ["an extra argument", "tenants list please", /too many arguments/],
    ["a missing option", "keys create --name x", /--tenant/],
    ["a missing value", `${create} --scopes`, /--scopes/],
    ["no such scope", `${create} --scopes avatars`, /--scopes: Must be one of/],
    ["an empty scope", `${create} --scopes=`, /--scopes: Must be one of/],
    ["no such environment", `${create} --environment prod`, /--environment: Must be one of/],
    ["a negative cap", `${create} --spend-limit=-1`, /--spend-limit: Must be an integer/],
    ["a cap in words", `${create} --spend-limit lots`, /--spend-limit: Must be an integer/],
    ["a cap with decimals", `${create} --spend-limit 1.5`, /--spend-limit: Must be an integer/],
    ["a cap too large", `${create} --spend-limit 9007199254740992`, /--spend-limit: Must be from/],
    ["no date", `${create} --expires-at tomorrow`, /--expires-at: Must be an RFC 3339/],
    ["a date in the past", `${create} --expires-at 2001-01-01T00:00:00Z`, /--expires-at: Must be in the future/],
    ["a name too long", `keys create --tenant TENANT --name ${"x".repeat(121)}`, /--name: Must have/],
    ["an empty name", "tenants create --name=", /--name: Must have/],
    ["no overlap", `keys rotate ${UNKNOWN} --tenant TENANT --overlap soon`, /--overlap: Must be/],
    [
      "too long an overlap",
      `keys rotate ${UNKNOWN} --tenant TENANT --overlap 604801`,
      /--overlap: Must be from 0 to 604800/,
    ],
    ["the malformed id of a key", "keys revoke x --tenant TENANT", /<id>: Must be an id \(key_…\) or a keyId/],
    ["the id of an avatar in place of a key", `keys show ${UNKNOWN_AVATAR} --tenant TENANT`, /<id>: Must be an id/],
    ["no id", "keys show --tenant TENANT", /missing required argument/],
    ["no tenant", "keys list", /--tenant/],
    ["no such status", `keys ${list} --status gone`, /--status: Must be one of/],
    ["no limit", `avatars ${list} --limit 0`, /--limit: Must be from 1 to 100/],
    ["no cursor", `keys ${list} --cursor x`, /--cursor: Must be the/],
    ["no such action", "audit tail --tenant TENANT --action x", /--action: Must be one of/],
    ["no credential", "audit tail --tenant TENANT --actor x", /--actor: Must have 16/],
    ["the malformed id of a tenant", "keys create --tenant acme --name x", /--tenant: Must be/],
  ])("arguments, %s: exit 2, an error text, nothing changed", async (_, line, message) => {
    const counts = () => db.client`
      select (select count(*) from api_keys) as keys, (select count(*) from tenants) as tenants`;
    const before = await counts();
    const { code, stdout, stderr } = await cli(...words(line));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("    at ");
    expect(await counts()).toEqual(before);
  });

  test("a variable, malformed: exit 2, naming it", async () => {
    const { code, stderr } = await run({ DATABASE_URL: "hunter2" }, "migrate");
    expect(code).toBe(2);
    expect(stderr).toBe("DATABASE_URL must be a postgres:// URL.\n");
  });
});

describe("impossible requests", () => {
  test.each([
    [`keys show ${UNKNOWN}`, "The tenant has no key with this id.\n"],
    [`keys revoke ${UNKNOWN}`, "The tenant has no key with this id.\n"],
    [`keys rotate ${UNKNOWN}`, "The tenant has no key with this id.\n"],
    [`avatars show ${UNKNOWN_AVATAR}`, "The tenant has no avatar with this id.\n"],
    ["keys show unknownunknown00", "The tenant has no key with this id.\n"],
  ])("a command, %s: exit 1 with the reason", async (line, message) => {
    const { code, stdout, stderr } = await cli(...words(`${line} --tenant TENANT`));
    expect([code, stdout, stderr]).toEqual([1, "", message]);
  });

  test("a key of another tenant, by its id or credential: exit 1", async () => {
    const { record } = await seedKey(db, await seedTenant(db));
    for (const command of ["show", "revoke", "rotate"]) {
      for (const id of [record.id, record.keyId]) {
        const { code, stderr } = await cli("keys", command, id, "--tenant", tenantId);
        expect([code, stderr]).toEqual([1, "The tenant has no key with this id.\n"]);
      }
    }
    expect((await findCredential(db, record.keyId))?.caller).toMatchObject({ status: "active", version: 1 });
  });

  test("keys create, for an unknown tenant: exit 1", async () => {
    const { code, stdout, stderr } = await cli(...words(`keys create --tenant ${UNKNOWN_TENANT} --name x`));
    expect([code, stdout, stderr]).toEqual([1, "", "No tenant has this id.\n"]);
  });

  const NOT_OWNER = {
    code: 1,
    stdout: "",
    stderr:
      "Database error (42501). The role of DATABASE_URL lacks the right for this command: set DATABASE_URL, for this command, to the URL of the role that owns the tables.\n",
  };
  test
    .skipIf(!IS_ONE_DATABASE)
    .each(["tenants create --name x", "credits grant --amount 1 --reference x --tenant TENANT"])(
    "%s, by the role of the service: exit 1, naming the variable and the role",
    async (line) => {
      expect(await run({ DATABASE_URL: serviceUrl }, ...words(line))).toEqual(NOT_OWNER);
    },
  );
  test.skipIf(!IS_ONE_DATABASE)(
    "migrate, by the role of the service: exit 1, naming the variable and the role",
    async () => {
      const empty = await testDatabase({ migrated: false });
      expect(await run({ DATABASE_URL: empty.serviceUrl ?? "" }, "migrate")).toEqual(NOT_OWNER);
      await empty.close();
    },
  );

  test("a command, before the migrations: exit 1, naming migrate", async () => {
    const empty = await testDatabase({ migrated: false });
    const { code, stderr } = await run({ DATABASE_URL: empty.url }, "tenants", "list");
    expect([code, stderr]).toEqual([
      1,
      "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).\n",
    ]);
    await empty.close();
  });
});

describe("--help", () => {
  const COMMANDS = {
    tenants: ["create", "list"],
    shards: ["list", "move", "rebalance", "add"],
    keys: ["create", "list", "show", "revoke", "rotate"],
    avatars: ["list", "show"],
    audit: ["tail"],
    credits: ["grant", "void", "adjust", "balance", "entries", "verify"],
  };
  const groups = Object.entries(COMMANDS).flatMap(([group, names]) => [
    group,
    ...names.map((name) => `${group} ${name}`),
  ]);

  test.each(["", "migrate", "verify", "health", ...groups])(
    "the help of %j, requested: exit 0 with the usage",
    async (line) => {
      const { code, stdout, stderr } = await cli(...words(line), "--help");
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain("Usage: realtime-avatar");
    },
  );
});
