/**
 * The statements that a migration may contain, so that the service works while it runs: see "Write a migration" in
 * docs/development/migrations.md.
 */
import { describe, expect, test } from "bun:test";
import { type Migration, NO_TRANSACTION, splitStatements } from "./apply-migrations.ts";
import { migrations } from "./migrate.ts";

/**
 * These migrations were released before the rules. A database without them is empty, or its service is stopped while
 * they run.
 */
const BEFORE_THE_RULES = 18;

/** The tables in the order in which writes lock them: see "Lock order" in docs/architecture/writes.md. */
const LOCK_ORDER = [
  ...["tenants", "api_key_pending_changes", "api_keys", "api_key_credentials", "api_key_usage", "users"],
  ...["user_sessions", "people_seen", "idempotency_keys", "passkeys", "user_identities", "invitations"],
  ...[
    "spent_challenges",
    "tenant_settings",
    "videos",
    "assets",
    "avatars",
    "jobs",
    "job_slots",
    "avatar_workers",
    "usage_sessions",
  ],
  ...[
    "calls",
    "call_transcripts",
    "asset_meters",
    "api_key_meters",
    "credit_accounts",
    "credit_entries",
    "avatar_slots",
    "call_tickets",
    "unneeded_files",
  ],
  ...["webhook_turns", "webhook_endpoints", "webhook_deliveries", "audit_events", "webhook_events"],
];

const NAME = `(?:if (?:not )?exists )?(?:only )?(?:"?(?:public|fleet)"?\\.)?"?(\\w+)"?`;
const pattern = (text: string): RegExp => new RegExp(text, "is");
const CREATED_TABLE = pattern(`^create table ${NAME}`);
/** Statements that lock a table so that writes wait. */
const LOCKS = [
  pattern(`^(?:alter|lock|drop|truncate) table ${NAME}`),
  pattern(`^create (?:or replace )?(?:constraint )?trigger .* on ${NAME}`),
  pattern(`^(?:create|alter|drop) policy .* on ${NAME}`),
];

/** Statements that read or write all rows of an existing table while writes wait, or that no older version tolerates. */
const REFUSED: [pattern: RegExp, fault: string][] = [
  [/\badd constraint\b.*\b(check|foreign key)\b(?!.*\bnot valid$)/is, "add the constraint as NOT VALID"],
  [/\badd (constraint \S+ )?(unique|primary key)\b(?! using index)/is, "build a unique index concurrently first"],
  [/\badd column\b.*\b(check|references|unique|primary key)\b/is, "add the constraint of a column as NOT VALID"],
  [/\badd column\b(?!.*\bdefault\b).*\bnot null\b/is, "a new column is nullable or has a default"],
  [/\badd column\b.*\b(generated|random|gen_random_uuid|clock_timestamp|nextval|serial)\b/is, "a default is constant"],
  [/\balter column\b.*\bset not null\b/is, "add a NOT NULL as a check that is NOT VALID"],
  [/\balter column\b.*\btype\b/is, "do not change the type of a column"],
  [/\brename\b/is, "rename nothing"],
  [/^(update|delete|merge)\b|^insert into\b.*\bselect\b/is, "fill in rows a thousand at a time, after the upgrade"],
];

/** The statements without comments, bodies of functions and other text that is not SQL of the migration itself. */
const plainStatements = (migration: Migration): string[] =>
  splitStatements(migration)
    .flatMap((text) =>
      text
        .replaceAll(/--.*$/gm, "")
        .replaceAll(/\$(\w*)\$.*?\$\1\$/gs, "''")
        .split(";"),
    )
    .map((text) => text.replaceAll(/\s+/g, " ").trim())
    .filter((text) => text !== "");

/** Tables of people have few rows, which no write of a key locks. */
const FEW_ROWS = ["users", "invitations"];
const isWriteOfFewRows = (statement: string): boolean =>
  FEW_ROWS.includes(statement.match(pattern(`^(?:update|delete from) ${NAME}`))?.[1] ?? "");

const REPEATABLE =
  /^(create (unique )?index concurrently if not exists|drop index concurrently if exists|create extension if not exists) /i;

/** The separator of the actions of an ALTER TABLE. */
const ACTIONS = /, (?=(?:add|alter|drop) )/i;

const faultsOfStatement = (statement: string, created: ReadonlySet<string>): string[] => {
  if (/^create (unique )?index\b/i.test(statement)) {
    const [, table = ""] = statement.match(pattern(` on ${NAME}`)) ?? [];
    return created.has(table) ? [] : ["build an index of an existing table concurrently, in a separate migration"];
  }
  if (/^drop index\b/i.test(statement)) return ["drop an index concurrently, in a separate migration"];
  if (/^lock table [^;]*,/i.test(statement)) return ["lock one table with each statement"];
  const table = lockedTable(statement);
  if ((table !== null && created.has(table)) || isWriteOfFewRows(statement)) return [];
  // An ALTER TABLE can have several actions.
  const actions = statement.split(ACTIONS);
  return REFUSED.filter(([refused]) => actions.some((action) => refused.test(action))).map(([, fault]) => fault);
};
const lockedTable = (statement: string): string | null => {
  for (const lock of LOCKS) {
    const table = statement.match(lock)?.[1];
    if (table !== undefined) return table;
  }
  return null;
};

const faultsOf = (migration: Migration): string[] => {
  const statements = plainStatements(migration);
  if (migration.text.startsWith(NO_TRANSACTION)) {
    return statements
      .filter((text) => !REPEATABLE.test(text))
      .map(
        () =>
          "outside of a transaction, only create extensions, and create and drop indexes, so that each statement can be repeated",
      );
  }
  const created = new Set(statements.flatMap((text) => text.match(CREATED_TABLE)?.[1] ?? []));
  const locked = [
    ...new Set(statements.flatMap((text) => lockedTable(text) ?? []).filter((table) => !created.has(table))),
  ];
  const places = locked.map((table) => LOCK_ORDER.indexOf(table));
  const isValidation = (text: string): boolean => /\bvalidate constraint\b/i.test(text);
  return [
    ...statements.flatMap((text) => faultsOfStatement(text, created)),
    ...(statements.some(isValidation) && !statements.every(isValidation)
      ? ["validate constraints in a separate migration"]
      : []),
    ...locked.filter((_, at) => places[at] === -1).map((table) => `add ${table} to LOCK_ORDER`),
    ...(places.some((place, at) => place < (places[at - 1] ?? 0))
      ? ["lock the tables in the order of the writes"]
      : []),
  ];
};

/**
 * The number of migrations before shards. A database is distributed only after these. `shards/upgrades.test.ts` applies
 * the others.
 */
const BEFORE_SHARDS = 27;

/** The statements that Citus refuses for a distributed table. */
const faultsOfDistribution = (one: Migration): string[] =>
  splitStatements(one).flatMap((text) => {
    const commands = plainStatements({ ...one, text });
    const isBesideOthers = /\badd constraint\b/i.test(text) && (commands[0] ?? "").split(ACTIONS).length > 1;
    return [
      ...(commands.length > 1 ? ["put a breakpoint between two commands"] : []),
      ...(isBesideOthers ? ["add a constraint in a separate statement"] : []),
    ];
  });

/** The number of migrations before this rule. The rows of that time meet their constraints. */
const BEFORE_VALIDATION = 27;

/** The constraints that are added as NOT VALID, and that no later migration validates or drops. */
const unvalidatedConstraints = (all: readonly Migration[]): string[] => {
  const names = new Set<string>();
  for (const action of all.flatMap(plainStatements).flatMap((text) => text.split(ACTIONS))) {
    const [, verb = "", name = ""] = /\b(add|validate|drop) constraint (?:if exists )?"?(\w+)"?/i.exec(action) ?? [];
    if (verb.toLowerCase() !== "add") names.delete(name);
    else if (/\bnot valid$/i.test(action)) names.add(name);
  }
  return [...names];
};

const migration = (...statements: string[]): Migration => ({
  tag: "later",
  when: 0,
  text: statements.join("--> statement-breakpoint\n"),
});

describe("a migration", () => {
  test.each(migrations().slice(BEFORE_SHARDS))("$tag, on a shard: can be applied", (one) => {
    expect(faultsOfDistribution(one)).toEqual([]);
  });

  test("a migration that Citus refuses: found", () => {
    const faults = faultsOfDistribution(
      migration(
        'ALTER TABLE "a" ADD COLUMN "b" text, ADD CONSTRAINT "c" CHECK ("b" <> \'\') NOT VALID;',
        "DROP VIEW v; DROP VIEW w;",
        'ALTER TABLE "a" ADD CONSTRAINT "c" CHECK ("b" in (\'x\', \'y\')) NOT VALID;',
      ),
    );
    expect(faults).toEqual(["add a constraint in a separate statement", "put a breakpoint between two commands"]);
  });

  test.each(migrations().slice(BEFORE_THE_RULES))(
    "$tag: follows the rules, so that the service works while it runs",
    (one) => {
      expect(faultsOf(one)).toEqual([]);
    },
  );

  test("a constraint that a migration adds as NOT VALID: validated by a later migration", () => {
    expect(unvalidatedConstraints(migrations().slice(BEFORE_VALIDATION))).toEqual([]);
    const add = (name: string) => `ALTER TABLE "jobs" ADD "a" int, ADD CONSTRAINT "${name}" CHECK (a > 0) NOT VALID;`;
    const added = migration(add("one"), add("two"), add("three"));
    const later = migration(
      'ALTER TABLE "jobs" VALIDATE CONSTRAINT "one";',
      'ALTER TABLE "jobs" DROP CONSTRAINT IF EXISTS "three";',
    );
    expect(unvalidatedConstraints([added, later])).toEqual(["two"]);
  });

  const allowed = [
    ['CREATE TABLE "a" ("id" text);', 'CREATE INDEX "a_index" ON "a" USING btree ("id");'],
    ['CREATE TABLE "a" ("id" text);', 'ALTER TABLE "a" ADD CONSTRAINT "a_fk" FOREIGN KEY ("id") REFERENCES "b"("id");'],
    [
      'ALTER TABLE "avatars" ADD COLUMN "later" text;',
      'ALTER TABLE "jobs" ADD COLUMN "later" bigint DEFAULT 0 NOT NULL;',
    ],
    ['ALTER TABLE "jobs" ADD CONSTRAINT "later_check" CHECK ("jobs"."later" > 0) NOT VALID;'],
    [
      'ALTER TABLE "jobs" DROP CONSTRAINT "k";',
      'ALTER TABLE "jobs" ADD CONSTRAINT "k" CHECK (kind <> $$ a $$) NOT VALID;',
    ],
    ['ALTER TABLE "jobs" VALIDATE CONSTRAINT "one";', 'ALTER TABLE "jobs" VALIDATE CONSTRAINT "two";'],
    ['LOCK TABLE "api_keys" IN ACCESS EXCLUSIVE MODE;', 'LOCK TABLE "jobs" IN ACCESS EXCLUSIVE MODE;'],
    [`${NO_TRANSACTION}CREATE INDEX CONCURRENTLY IF NOT EXISTS "later_index" ON "avatars" ("later");`],
    ["CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ begin update a set b = 1; end $$;"],
  ];
  test.each(allowed.map((statements) => [statements]))("with %j: no fault", (statements) => {
    expect(faultsOf(migration(...statements))).toEqual([]);
  });

  test.each([
    [['CREATE INDEX "later_index" ON "avatars" ("later");'], "build an index of an existing table concurrently, in"],
    [['CREATE UNIQUE INDEX IF NOT EXISTS "i" ON "public"."jobs" ("id");'], "build an index of an existing table"],
    [['CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "jobs" ("id");'], "build an index of an existing table"],
    [[`${NO_TRANSACTION}CREATE INDEX CONCURRENTLY "i" ON "jobs" ("id");`], "outside of a transaction"],
    [[`${NO_TRANSACTION}ALTER TABLE "jobs" ADD COLUMN "later" text;`], "outside of a transaction"],
    [['DROP INDEX "later_index";'], "drop an index concurrently"],
    [['ALTER TABLE "jobs" ADD CONSTRAINT "c" CHECK ("later" > 0);'], "add the constraint as NOT VALID"],
    [
      ['ALTER TABLE "jobs" ADD CONSTRAINT "c" FOREIGN KEY ("a") REFERENCES "b"("a");'],
      "add the constraint as NOT VALID",
    ],
    [['ALTER TABLE "jobs" ADD CONSTRAINT "c" UNIQUE("a");'], "build a unique index concurrently first"],
    [['ALTER TABLE "jobs" ADD COLUMN "a" text REFERENCES b;'], "add the constraint of a column as NOT VALID"],
    [['ALTER TABLE "jobs" ADD COLUMN "a" text NOT NULL;'], "a new column is nullable or has a default"],
    [['ALTER TABLE "jobs" ADD COLUMN "a" uuid DEFAULT gen_random_uuid();'], "a default is constant"],
    [['ALTER TABLE "jobs" ALTER COLUMN "a" SET NOT NULL;'], "add a NOT NULL as a check"],
    [['ALTER TABLE "jobs" ALTER COLUMN "a" SET DATA TYPE text;'], "do not change the type"],
    [['ALTER TABLE "jobs" RENAME COLUMN "a" TO "b";'], "rename nothing"],
    [['UPDATE "jobs" SET attempts = 0;'], "fill in rows a thousand at a time"],
    [['LOCK TABLE "api_keys", "jobs" IN SHARE MODE;'], "lock one table with each statement"],
    [['ALTER TABLE "jobs" ADD "a" int;', 'ALTER TABLE "avatars" ADD "a" int;'], "lock the tables in the order"],
    [['ALTER TABLE "unknown" ADD COLUMN "a" int;'], "add unknown to LOCK_ORDER"],
    [
      ['ALTER TABLE "jobs" ADD CONSTRAINT "c" CHECK (a > 0) NOT VALID;', 'ALTER TABLE "jobs" VALIDATE CONSTRAINT "c";'],
      "validate constraints in a separate migration",
    ],
  ])("with %j: a fault", (statements, fault) => {
    expect(faultsOf(migration(...statements))[0]).toStartWith(fault);
  });
});
