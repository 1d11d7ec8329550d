/** The service under a role that has exactly the rights of `grantService`. */
import { describe, expect } from "bun:test";
import { randomBytes } from "node:crypto";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import { seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { client } from "@realtime-avatar/testing/database";
import { fileDatabase, fileRole, fixture } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase as test } from "@realtime-avatar/testing/postgres/one-database";
import {
  findTestCaller,
  inStatus,
  newClaim,
  operatorOrigin,
  plannedAvatar,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { recordUses } from "./api-keys/usage.ts";
import { listAuditEvents } from "./audit/audit-events.ts";
import { findAvatar, insertAvatar, updateAvatar } from "./avatars/avatars.ts";
import { listAvatars } from "./avatars/list.ts";
import type { Caller } from "./callers/callers.ts";
import { databaseFailure } from "./connection/errors.ts";
import { findCreditBalance, listCreditEntries } from "./credits/credits.ts";
import { findCreditDrift } from "./credits/invariants.ts";
import { closeOverdueSessions, listOverdueTenants } from "./credits/overdue-sessions.ts";
import { releaseSession, reportUsage } from "./credits/usage-sessions.ts";
import { grantService } from "./grant.ts";
import { findStoredResponse } from "./idempotency/idempotency-keys.ts";
import { isMigrated } from "./migrate.ts";

const ROLE = `service "of" ${randomBytes(6).toString("hex")}`;
const NAME = `"${ROLE.replaceAll('"', '""')}"`;

const database = await fileDatabase({ isOne: true });
const owner = database.db.client;
const [{ name = "" } = {}] = await owner<{ name: string }[]>`select current_database() as name`;
// According to docs/deployment.md.
await owner.unsafe(`revoke create on schema public from public; revoke temporary on database ${name} from public`);
const db = await fileRole(database, ROLE);
const plain = client(db.url);
await fixture({ close: () => plain.end() });

/** An entry of the operator, for a tenant that exists. */
const insertEntry = (kind: string): string => `
  insert into credit_entries (tenant_id, id, environment, kind, amount, request_id, created_at)
  select tenant_id, 'ent_01h455vb4pex5vsknk084sn02q', 'live', '${kind}', 1, 'r', now() from credit_accounts limit 1`;

const codeOf = (statement: string): Promise<unknown> =>
  plain.unsafe(statement).then(
    () => null,
    ({ code }: { code: string }) => code,
  );

test("the service without rights: not ready, and no statement is executed", async () => {
  expect(await isMigrated(db)).toBe(false);
  const uses = [{ tenantId: "ten_x" as TenantId, id: "key_x" as ApiKeyId, usedAt: new Date() }];
  const failure = await recordUses(db, uses).catch((error: unknown) => databaseFailure(error));
  expect(failure).toBe("not_executed");
});

describe("the grant of rights", () => {
  test("a role that is unknown, owns tables or may create objects: refused", async () => {
    await expect(grantService(database.url, "nobody")).rejects.toThrow("The role does not exist");
    await expect(grantService(database.url, "public")).rejects.toThrow("The role does not exist");
    const [{ name = "" } = {}] = await owner<{ name: string }[]>`select current_user as name`;
    await expect(grantService(database.url, name)).rejects.toThrow("owns the tables");
    await owner.unsafe(`grant create on schema public to ${NAME}`);
    await expect(grantService(database.url, ROLE)).rejects.toThrow("may create objects");
    await owner.unsafe(`revoke create on schema public from ${NAME}`);
    expect(await isMigrated(db)).toBe(false);
  });

  test("a role, granted twice concurrently: the service is ready", async () => {
    await Promise.all([grantService(database.url, ROLE), grantService(database.url, ROLE)]);
    expect(await isMigrated(db)).toBe(true);
  });
});

describe("a role with the rights of the service", () => {
  /** A caller whose key the operator has created. */
  const seedCaller = async (): Promise<Caller> => {
    const tenantId = await seedTenant(database.db);
    const { secret } = await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] });
    return findTestCaller(db, secret.keyId);
  };
  const page = { filters: {}, before: null, limit: 50 };

  test("the role: creates, reads, changes, lists and deletes avatars", async () => {
    const caller = await seedCaller();
    const avatar = plannedAvatar(caller);
    const origin = seedOrigin(caller);
    expect(await insertAvatar(db, avatar, null, caller, origin, newClaim("a"))).toEqual({ kind: "written" });
    expect(
      await insertAvatar(db, plannedAvatar(caller), null, caller, seedOrigin(caller), newClaim("a")),
    ).toMatchObject({
      kind: "replayed",
    });
    expect(await findStoredResponse(db, caller, newClaim("a"))).not.toBeNull();
    await Promise.all(
      Array.from({ length: 20 }, () => insertAvatar(db, plannedAvatar(caller), null, caller, seedOrigin(caller))),
    );
    const any = inStatus("draft");
    expect(await updateAvatar(db, avatar.id, { displayName: "b" }, any, caller, origin)).toMatchObject({
      kind: "written",
    });
    const origin2 = seedOrigin(caller);
    expect(await updateAvatar(db, avatar.id, { status: "deleted" }, any, caller, origin2)).toMatchObject({
      kind: "written",
    });
    expect((await findAvatar(db, caller, avatar.id))?.status).toBe("deleted");
    expect((await listAvatars(db, caller, page, "https://x")).items).toContain('"displayName"');
    expect((await listAvatars(db, caller, { ...page, filters: { sourceKind: "image" } }, "https://x")).items).not.toBe(
      "",
    );
    expect((await listAuditEvents(db, caller, page)).items).toContain("avatar.deleted");
  });

  test("the role: opens, reports, releases and sweeps sessions, but cannot grant credits", async () => {
    const caller = await seedCaller();
    const { tenantId } = caller;
    await seedMovement(database.db, tenantId);
    const open = await seedSession(db, caller);
    const overdue = await seedSession(db, caller);
    expect((await reportUsage(db, open, { used: 1, leaseSeconds: 60 }, caller)).kind).toBe("written");
    const release = { isEngine: true, used: 2, reason: "done" };
    expect((await releaseSession(db, open, release, caller, seedOrigin(caller))).kind).toBe("written");
    await owner`update usage_sessions set expires_at = now() - interval '1 second' where id = ${overdue}`;
    expect((await listOverdueTenants(db, 10)).map((one) => one.tenantId)).toContain(tenantId);
    expect(await closeOverdueSessions(db, tenantId, 10, operatorOrigin())).toMatchObject({ closed: 1 });
    expect((await listCreditEntries(db, caller, page)).items).toContain('"expire"');
    expect(await findCreditBalance(db, tenantId, "live")).toMatchObject({ lifetimeUsedCreditMicros: 2 });
    const granted = await seedMovement(db, tenantId).catch((error: unknown) => databaseFailure(error));
    expect(granted).toBe("not_executed");
    expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
  });

  test.each([
    "update audit_events set request_id = 'x'",
    ...["grant", "void", "adjust"].map(insertEntry),
    "update credit_accounts set settled = settled - 1 where settled > 0",
    "update api_key_meters set settled = settled - 1 where settled > 0",
    "update credit_accounts set max_concurrent_sessions = 5",
    "update credit_entries set amount = 0",
    "delete from credit_entries",
    "truncate credit_entries",
    "update credit_accounts set granted = granted + 1",
    "insert into credit_accounts (tenant_id, environment, granted, updated_at) values ('t', 'live', 1, now())",
    "delete from usage_sessions",
    "update usage_sessions set reserved = 0",
    "update calls set max_seconds = 1",
    "update fleet.service set instance = 'other'",
    "delete from audit_events",
    "truncate audit_events",
    "drop trigger audit_events_append_only on audit_events",
    "alter table audit_events disable trigger all",
    "drop table audit_events",
    "create or replace function refuse_audit_change() returns trigger language plpgsql as 'begin return null; end'",
    "create table public.mine (id integer)",
    "create temporary table mine (id integer)",
    "create schema mine",
    "create function public.now() returns timestamptz language sql as 'select null::timestamptz'",
    ...["api_keys", "avatars", "assets", "asset_meters", "job_slots", "calls"].map((table) => `delete from ${table}`),
    "update assets set public_token = public_token",
    "update assets set remote_url = null",
    "update avatars set environment = 'test'",
    "update jobs set target_id = target_id",
    "update api_keys set tenant_id = tenant_id",
    "update api_keys set lineage = '{}'",
    "update api_key_credentials set digest = digest",
    "insert into tenants (tenant_id, name, created_at) values ('ten_01h455vb4pex5vsknk084sn02q', 'n', now())",
    "select created_at from tenants",
    "delete from drizzle.__drizzle_migrations",
    "set session_replication_role = replica",
  ])("the role may not: %s", async (statement) => {
    expect(["42501", "42939"]).toContain((await codeOf(statement)) as string);
  });

  test.each(["credit_accounts", "api_key_meters"])(
    "the role with a fake pg_class, a refund in %s: refused",
    async (table) => {
      await owner.unsafe(`grant temporary on database ${new URL(database.url).pathname.slice(1)} to ${NAME}`);
      const fake =
        "create temp table pg_class as select oid, usesysid relowner from pg_class, pg_user where usename = user";
      expect(await codeOf(`${fake}; update ${table} set settled = settled - 1 where settled > 0`)).toBe("42501");
    },
  );

  test("the role with a fake pg_class, an entry of the operator: refused", async () => {
    await owner.unsafe(`grant temporary on database ${new URL(database.url).pathname.slice(1)} to ${NAME}`);
    const fake =
      "create temp table pg_class as select oid, usesysid relowner from pg_class, pg_user where usename = user";
    expect(await codeOf(`${fake}; ${insertEntry("grant")}`)).toBe("42501");
  });

  test("the role may not: change a function", async () => {
    const [row] = await owner<{ schema: string }[]>`
      select nspname as schema from pg_namespace where nspname ~ '^rta_[0-9a-f]{12}$'`;
    expect(await codeOf(`drop schema ${row?.schema} cascade`)).toBe("42501");
    expect(await codeOf(`create function ${row?.schema}.x() returns integer language sql as 'select 1'`)).toBe("42501");
    expect(await codeOf(`drop function ${row?.schema}.all_written()`)).toBe("42501");
  });
});
