/** Text of people on the operator's terminal: names, URLs, metadata and errors, in the output of each command. */
import { expect, test } from "bun:test";
import { Problem } from "@realtime-avatar/domain/problem";
import { readyAvatar, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/seeds";
import { cliTests } from "../test/cli.ts";
import { explain, UsageError } from "./terminal.ts";

const { db, cli } = await cliTests();

/**
 * A text that moves the cursor, changes colours and the text direction, begins a line, rings, and has characters
 * without width.
 */
const HOSTILE = "a\u001b[2Jb\u009b31mc\u202ed\r\ne\u2028f\u200bg\u0007";
const ESCAPED = "a\\u{1b}[2Jb\\u{9b}31mc\\u{202e}d";
const AFFECTS_TERMINAL = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A tenant with an object of each kind that commands show. Their texts are hostile. */
const seedHostile = async () => {
  const tenant = await seedTenant(db);
  await seedMovement(db, tenant);
  const { caller } = await seedCaller(db, tenant);
  const avatar = await readyAvatar(db, caller);
  const session = await seedSession(db, caller, { metadata: { user_id: HOSTILE } });
  const endpoint = await seedEndpoint(db, caller);
  await sync(db, "wrk_one", { slots: 1, features: [HOSTILE] });
  const { client } = db;
  await client`update tenants set name = ${HOSTILE} where tenant_id = ${tenant}`;
  await client`update api_keys set name = ${HOSTILE} where id = ${caller.id}`;
  const check = { code: "face", verdict: "failed", measured: null, limit: null, detail: HOSTILE };
  await client`
    update avatars set display_name = ${HOSTILE}, error = ${HOSTILE}, metadata = ${client.json({ [HOSTILE]: HOSTILE })},
      checks = ${client.json([check])} where id = ${avatar}`;
  await client`update webhook_endpoints set description = ${HOSTILE} where id = ${endpoint.id}`;
  await client`update webhook_endpoints set url = ${`https://example.com/${HOSTILE}`} where id = ${endpoint.id}`;
  // The error of the second grant contains its reference.
  await cli("credits", "grant", "--tenant", tenant, "--amount", "1", "--reference", HOSTILE);
  await client`
    insert into users (tenant_id, id, email, name, role, version, created_at)
    values (${tenant}, 'usr_01h455vb4pex5vsknk084sn02q', 'grace@example.com', ${HOSTILE}, 'viewer', 1, now())`;
  return { tenant, key: caller.id, avatar, session, endpoint: endpoint.id };
};
type Ids = Awaited<ReturnType<typeof seedHostile>>;

/**
 * The arguments of each command that prints text of people, in the order of their run; null: the command prints none.
 */
const COMMANDS: Record<string, ((ids: Ids) => string[]) | null> = {
  // Prints only names of roles and functions.
  migrate: null,
  "shards list": null,
  "shards move": null,
  "shards rebalance": null,
  "shards abandon": null,
  "shards add": null,
  verify: null,
  health: null,
  "tenants create": () => ["--name", HOSTILE],
  // These commands print no text of people.
  "tenants limit": null,
  "tenants settings": null,
  "tenants list": () => [],
  "users invite": ({ tenant }) => ["--tenant", tenant, "--email", "grace@example.com"],
  "users list": ({ tenant }) => ["--tenant", tenant],
  "users remove": ({ tenant }) => ["--tenant", tenant, "grace@example.com"],
  "keys create": ({ tenant }) => ["--tenant", tenant, "--name", HOSTILE],
  "keys list": ({ tenant }) => ["--tenant", tenant],
  "keys show": ({ tenant, key }) => ["--tenant", tenant, key],
  "keys rotate": ({ tenant, key }) => ["--tenant", tenant, key],
  "keys revoke": null,
  "avatars list": ({ tenant }) => ["--tenant", tenant],
  "avatars show": ({ tenant, avatar }) => ["--tenant", tenant, avatar],
  // The same as `avatars show`.
  "avatars prepare": null,
  "credits grant": ({ tenant }) => ["--tenant", tenant, "--amount", "1", "--reference", HOSTILE],
  "credits void": null,
  "credits adjust": null,
  "credits limit": null,
  "credits threshold": null,
  "credits balance": null,
  "credits entries": ({ tenant }) => ["--tenant", tenant],
  "credits sessions": null,
  "credits session": ({ tenant, session }) => ["--tenant", tenant, session],
  "credits verify": null,
  "sessions list": null,
  "sessions end": ({ session }) => [session],
  "workers list": () => [],
  "webhooks list": () => [],
  // Prints only ids and types of events.
  "webhooks listen": null,
  "webhooks disable": ({ endpoint }) => [endpoint],
  "webhooks recover": null,
  "audit tail": null,
};

/** The commands that the help of `args` lists. */
const listed = async (...args: string[]): Promise<string[]> => {
  const { stdout } = await cli(...args, "--help");
  const names = [...(stdout.split("\nCommands:\n")[1] ?? "").matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
  return names.filter((name): name is string => name !== undefined && name !== "help");
};

test("the commands, compared with the table: equal", async () => {
  const groups = await Promise.all(
    (await listed()).map(async (group) => {
      const names = await listed(group);
      return names.length === 0 ? [group] : names.map((name) => `${group} ${name}`);
    }),
  );
  expect(groups.flat().sort()).toEqual(Object.keys(COMMANDS).sort());
});

test("text of people, on a terminal: escaped by each command, as text and as JSON", async () => {
  const ids = await seedHostile();
  for (const [command, argumentsOf] of Object.entries(COMMANDS)) {
    if (argumentsOf === null) continue;
    const args = [...command.split(" "), ...argumentsOf(ids)];
    // A user can be removed only once, so this command runs only once.
    const outputs = command === "users remove" ? [args] : [args, [...args, "--json"]];
    for (const output of outputs) {
      const { code, stdout, stderr } = await cli(...output);
      expect([command, code, stderr]).toEqual([command, 0, ""]);
      expect(stdout).not.toMatch(AFFECTS_TERMINAL);
      if (output === args) expect([command, stdout]).toEqual([command, expect.stringContaining(ESCAPED)]);
    }
  }
});

/** The columns of counts, whose names are their units. */
const COUNTS = ["SLOTS", "USED"];

test("a column of numbers, in each table: its name has the unit, or another column has", async () => {
  const { tenant, session, avatar } = await seedHostile();
  await db.client`update credit_accounts set settled = 5 where tenant_id = ${tenant} and environment = 'test'`;
  const numbers = new Set<string>();
  for (const args of [
    ...["balance", "entries", "sessions", "verify"].map((name) => ["credits", name, "--tenant", tenant]),
    ["credits", "session", "--tenant", tenant, session],
    ["avatars", "show", "--tenant", tenant, avatar],
    ["workers", "list"],
    ["tenants", "list"],
  ]) {
    const { stdout } = await cli(...args);
    const lines = stdout.split("\n");
    const [head = ""] = lines.filter((line) => /^[A-Z]+( \S+)* {2,}[A-Z]/.test(line) && !line.startsWith("FIELD"));
    const names = [...head.matchAll(/\S+( \S+)*/g)];
    expect([args, names.length > 1]).toEqual([args, true]);
    for (const row of lines.slice(lines.indexOf(head) + 1)) {
      for (const [column, { 0: name, index }] of names.entries()) {
        const cell = row.slice(index, names[column + 1]?.index).trim();
        if (/^[+-]?[\d,.]+$/.test(cell) && !/ UNIT( |$)/.test(head)) numbers.add(name);
      }
    }
  }
  expect([...numbers].filter((name) => !name.includes("(") && !COUNTS.includes(name))).toEqual([]);
  expect([...numbers]).toContain("AMOUNT (CREDIT MICROS)");
});

test("text of people, in an error: escaped, its lines kept", () => {
  const text = `${HOSTILE}\n${HOSTILE}`;
  const errors = [
    new Error(text),
    new UsageError(text),
    new Problem("not_found", text),
    new Problem("validation_failed", "x", { errors: [{ pointer: "#/name", code: "malformed", detail: text }] }),
  ];
  for (const error of errors) {
    const { message } = explain(error);
    expect(message).not.toMatch(AFFECTS_TERMINAL);
    expect(message).toContain(ESCAPED);
  }
});
