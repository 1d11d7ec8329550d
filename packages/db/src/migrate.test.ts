import { describe, expect, test } from "bun:test";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@realtime-avatar/domain/id";
import { newInvitation } from "@realtime-avatar/domain/people/people";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { isMigrated, migrate, migrations } from "./migrate.ts";
import { insertInvitation } from "./people/invitations.ts";

const database = await fileDatabase({ migrated: false });

const applied = async (): Promise<number> => {
  const [row] = await database.db.client`select count(*)::int as count from drizzle.__drizzle_migrations`;
  return row?.["count"];
};

describe("the application of migrations", () => {
  test("migrations by five processes at once: each is applied once", async () => {
    expect(await isMigrated(database.db)).toBe(false);
    await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)));
    expect(await isMigrated(database.db)).toBe(true);
    const files = (await readdir(join(import.meta.dir, "../migrations"))).filter((name) => name.endsWith(".sql"));
    expect(await applied()).toBe(files.length);
  });

  test("migrations, applied a second time: nothing changes", async () => {
    await migrate(database.url);
    const before = await applied();
    await migrate(database.url);
    expect(await applied()).toBe(before);
  });

  test("a database without the newest migration: not migrated; with a newer migration: migrated", async () => {
    await migrate(database.url);
    const journal = database.db.client;
    await journal`update drizzle.__drizzle_migrations set created_at = created_at - 1000000`;
    expect(await isMigrated(database.db)).toBe(false);
    await journal`update drizzle.__drizzle_migrations set created_at = created_at + 2000000`;
    expect(await isMigrated(database.db)).toBe(true);
  });
});

test("stored addresses, after 0019: in normal form, except an address whose normal form another user has", async () => {
  await migrate(database.url);
  const sql = database.db.client;
  const [tenantId, other] = [await seedTenant(database.db), await seedTenant(database.db)];
  const invitation = { tenantId, email: "x@example.com", role: "viewer", userId: null, createdBy: null } as const;
  const created = newInvitation(invitation, { now: new Date(), random });
  expect((await insertInvitation(database.db, created, null, operatorOrigin())).kind).toBe("written");
  await sql`update invitations set email = ${"\uff58@example.com"} where tenant_id = ${tenantId}`;
  const before: [string, string, string][] = [
    [tenantId, "ada@example.com", "ada@example.com"],
    [tenantId, "\uff41da@example.com", "\uff41da@example.com"],
    [other, "\uff41da@example.com", "ada@example.com"],
    [tenantId, "\uff47race@example.com", "grace@example.com"],
    [tenantId, "\uff47\uff52ace@example.com", "\uff47\uff52ace@example.com"],
    [tenantId, "\u{1d400}lan@example.com", "alan@example.com"],
    [tenantId, "a\uff20b@example.com", "a\uff20b@example.com"],
    [tenantId, `${"\ufb01".repeat(200)}@example.com`, `${"\ufb01".repeat(200)}@example.com`],
  ];
  for (const [tenant, email] of before) {
    await sql`insert into users (tenant_id, id, email, name, role, version, created_at)
      values (${tenant}, ${newId("usr", new Date(), random)}, ${email}, 'x', 'viewer', 1, now())`;
  }
  const migration = await Bun.file(join(import.meta.dir, "../migrations/0019_normal_addresses.sql")).text();
  for (let turn = 0; turn < 2; turn++) {
    await sql.unsafe(migration);
    const rows = await sql`select email from users where tenant_id in (${tenantId}, ${other}) order by created_at, id`;
    expect(rows.map(({ email }) => email)).toEqual(before.map(([, , email]) => email));
  }
  expect(await sql`select from invitations where tenant_id = ${tenantId}`).toHaveLength(0);
});

describe("the files of the migrations", () => {
  const root = join(import.meta.dir, "..");

  test("the snapshots: only that of the newest migration exists", async () => {
    const newest = migrations().at(-1)?.tag.slice(0, 4);
    const files = await readdir(join(root, "migrations/meta"));
    expect(files.toSorted()).toEqual([`${newest}_snapshot.json`, "_journal.json"]);
  });

  test("the migrations, compared with the tables: no further migration is needed", async () => {
    const out = await mkdtemp(join(root, "migrations-test-"));
    try {
      await cp(join(root, "migrations"), out, { recursive: true });
      const before = await readdir(out);
      const command = ["--bun", "drizzle-kit", "generate", "--dialect", "postgresql", "--schema", "./src/schema/*.ts"];
      const child = Bun.spawn([process.execPath, "x", ...command, "--out", `./${out.slice(root.length + 1)}`], {
        cwd: root,
        stdout: "pipe",
        stderr: "pipe",
      });
      expect(await new Response(child.stdout).text()).toContain("No schema changes");
      expect(await readdir(out)).toEqual(before);
    } finally {
      await rm(out, { recursive: true });
    }
  });
});
