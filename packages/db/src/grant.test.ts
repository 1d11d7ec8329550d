/** The service under a role that has the rights of `grantService`, and no other. */
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { type ApiKeyId, newId, type TenantId } from "@realtime-avatar/domain/id";
import { seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { client, session } from "@realtime-avatar/testing/database";
import { fileDatabase, fileRole, fixture } from "@realtime-avatar/testing/fixture";
import { readyResult } from "@realtime-avatar/testing/preparations";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  assetOf,
  avatarOf,
  callerOf,
  claimOf,
  inStatus,
  jobOf,
  newJobId,
  operatorOrigin,
  originOf,
  preparationOf,
  seedAsset,
  seedAvatar,
  seedKey,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { findApiKey, insertApiKey, revokeApiKey, rotateApiKey, updateApiKey } from "./api-keys/api-keys.ts";
import { type Caller, confirmFirstUse, sweepCredentials } from "./api-keys/callers.ts";
import { listApiKeys } from "./api-keys/list.ts";
import { sweepPendingChanges } from "./api-keys/pending-changes.ts";
import { recordUses } from "./api-keys/usage.ts";
import {
  completeAsset,
  deleteAsset,
  existingAssets,
  findAsset,
  findPublicAsset,
  hasAssetRoom,
  insertAsset,
} from "./assets/assets.ts";
import { listAssets } from "./assets/list.ts";
import { listAuditEvents } from "./audit/audit-events.ts";
import { findAvatar, insertAvatar, prepareAvatar, updateAvatar } from "./avatars/avatars.ts";
import { listAvatars } from "./avatars/list.ts";
import { findPreview, finishPreparation, knownPreparations, startPreparation } from "./avatars/preparations.ts";
import { databaseFailure } from "./connection/errors.ts";
import { findCreditBalance, listCreditEntries } from "./credits/credits.ts";
import { findCreditDrift } from "./credits/invariants.ts";
import { closeOverdueSessions, listOverdueTenants } from "./credits/overdue-sessions.ts";
import { releaseSession, reportUsage } from "./credits/usage-sessions.ts";
import { grantService } from "./grant.ts";
import { type Claim, findStoredResponse, sweepIdempotencyKeys } from "./idempotency/idempotency-keys.ts";
import { claimJob, failAbandonedUploads, finishAsset, jobStats, renewJob, retryJob, startAsset } from "./jobs/jobs.ts";
import { isMigrated } from "./migrate.ts";

const ROLE = `service "of" ${randomBytes(6).toString("hex")}`;
const NAME = `"${ROLE.replaceAll('"', '""')}"`;

const database = await fileDatabase();
const owner = database.db.client;
const [{ name = "" } = {}] = await owner<{ name: string }[]>`select current_database() as name`;
// As docs/deployment.md says.
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

describe("the service before its rights", () => {
  test("the service, without rights: not ready, and nothing is executed", async () => {
    expect(await isMigrated(db)).toBe(false);
    const uses = [{ tenantId: "ten_x" as TenantId, id: "key_x" as ApiKeyId, usedAt: new Date() }];
    const failure = await recordUses(db, uses).catch((error: unknown) => databaseFailure(error));
    expect(failure).toBe("not_executed");
  });
});

describe("the grant of rights", () => {
  test("a role, unknown, owning tables or creating objects: refused", async () => {
    await expect(grantService(database.url, "nobody")).rejects.toThrow("There is no such role");
    await expect(grantService(database.url, "public")).rejects.toThrow("There is no such role");
    const [{ name = "" } = {}] = await owner<{ name: string }[]>`select current_user as name`;
    await expect(grantService(database.url, name)).rejects.toThrow("owns the tables");
    await owner.unsafe(`grant create on schema public to ${NAME}`);
    await expect(grantService(database.url, ROLE)).rejects.toThrow("may create objects");
    await owner.unsafe(`revoke create on schema public from ${NAME}`);
    expect(await isMigrated(db)).toBe(false);
  });

  test("a role, granted twice at once: the service is ready", async () => {
    await Promise.all([grantService(database.url, ROLE), grantService(database.url, ROLE)]);
    expect(await isMigrated(db)).toBe(true);
  });
});

describe("a role with the rights of the service", () => {
  /** A caller whose key the operator has created. */
  const seedCaller = async (): Promise<Caller> => {
    const tenantId = await seedTenant(database.db);
    const { secret } = await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] });
    return callerOf(db, secret.keyId);
  };
  const createKey = async (caller: Caller, maxActiveKeys = 100, claim: Claim | null = null) => {
    const issued = issueApiKey({ name: "child", scopes: ["*"], environment: "live" }, caller, {
      ...caller,
      now: new Date(),
      random,
    });
    return {
      ...issued,
      outcome: await insertApiKey(db, { ...issued, maxActiveKeys }, caller, originOf(caller), claim),
    };
  };
  const page = { filters: {}, before: null, limit: 50 };

  test("the role, with avatars: creates, reads, changes, lists and deletes", async () => {
    const caller = await seedCaller();
    const avatar = avatarOf(caller);
    const origin = originOf(caller);
    expect(await insertAvatar(db, avatar, null, caller, origin, claimOf("a"))).toEqual({ kind: "written" });
    expect(await insertAvatar(db, avatarOf(caller), null, caller, originOf(caller), claimOf("a"))).toMatchObject({
      kind: "replayed",
    });
    expect(await findStoredResponse(db, caller, claimOf("a"))).not.toBeNull();
    await Promise.all(
      Array.from({ length: 20 }, () => insertAvatar(db, avatarOf(caller), null, caller, originOf(caller))),
    );
    const any = inStatus("draft");
    expect(await updateAvatar(db, avatar.id, { displayName: "b" }, any, caller, origin)).toMatchObject({
      kind: "written",
    });
    const origin2 = originOf(caller);
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

  test("the role, with keys: creates, changes, rotates, lists, reports and revokes", async () => {
    const caller = await seedCaller();
    const { record, secret, outcome } = await createKey(caller, 100, claimOf("k"));
    expect(outcome).toEqual({ kind: "written" });
    const change = { target: record, record: { ...record, name: "renamed" }, changedFields: ["name"] };
    expect(await updateApiKey(db, change, caller, originOf(caller))).toEqual({ kind: "written" });
    const child = await callerOf(db, secret.keyId);
    const rotate = async (target: ApiKeyRecord, by: Caller, claim: Claim | null) => {
      const issued = issueApiKey({ name: "n", scopes: ["*"], environment: "live" }, caller, {
        ...caller,
        now: new Date(),
        random,
      });
      const rotated = { target, record: issued.record, secret: issued.secret, overlapSeconds: 60 };
      return { keyId: issued.secret.keyId, outcome: await rotateApiKey(db, rotated, by, originOf(by), claim) };
    };
    const first = await rotate(child, child, claimOf("r"));
    expect(first.outcome).toEqual({ kind: "written" });
    expect(await confirmFirstUse(db, first.keyId)).toBe(true);
    const target = (await findApiKey(db, record.tenantId, record.id)) as ApiKeyRecord;
    const second = await rotate(target, caller, null);
    expect(second.outcome).toEqual({ kind: "written" });
    await recordUses(db, [{ tenantId: record.tenantId, id: record.id, usedAt: new Date() }]);
    await recordUses(db, [{ tenantId: record.tenantId, id: record.id, usedAt: new Date(Date.now() + 60_000) }]);
    for (const status of [undefined, "active", "revoked", "expired"] as const) {
      await listApiKeys(db, record.tenantId, ["live", "test"], { ...page, filters: status ? { status } : {} });
    }
    const reported = await revokeApiKey(
      db,
      (await findApiKey(db, record.tenantId, record.id)) as ApiKeyRecord,
      { version: null },
      { credentialKeyId: second.keyId },
      operatorOrigin(),
      "api_key.reported_leaked",
    );
    expect(reported.kind).toBe("written");
    const again = (await findApiKey(db, record.tenantId, record.id)) as ApiKeyRecord;
    expect((await revokeApiKey(db, again, { version: null }, caller, originOf(caller))).kind).toBe("ended");
  });

  test("the role, at a quota: marks ended keys", async () => {
    const caller = await seedCaller();
    const { record } = await createKey(caller);
    await createKey(await callerOf(db, record.keyId));
    expect((await createKey(caller, 3)).outcome).toEqual({ kind: "over_quota" });
    expect((await revokeApiKey(db, record, { version: null }, caller, originOf(caller))).kind).toBe("written");
    expect((await createKey(caller, 2)).outcome).toEqual({ kind: "written" });
  });

  test("the role, a change waiting: announces it", async () => {
    const caller = await seedCaller();
    const { record } = await createKey(caller);
    const holder = session(database.url);
    await holder.client`begin`;
    await holder.client`select from api_keys where id = ${record.id} for share`;
    const revocation = revokeApiKey(db, record, { version: null }, caller, originOf(caller));
    for (;;) {
      const [row] = await owner`select from pending_changes where subject_id = ${record.id}`;
      if (row) break;
      await Bun.sleep(10);
    }
    await holder.client`commit`;
    expect((await revocation).kind).toBe("written");
    await holder.close();
  });

  test("the role, with sessions: opens, reports, releases and sweeps, but grants no credits", async () => {
    const caller = await seedCaller();
    const { tenantId } = caller;
    await seedMovement(database.db, tenantId);
    const open = await seedSession(db, caller);
    const overdue = await seedSession(db, caller);
    expect((await reportUsage(db, open, { used: 1, leaseSeconds: 60 }, caller)).kind).toBe("written");
    const release = { isEngine: true, used: 2, reason: "done" };
    expect((await releaseSession(db, open, release, caller, originOf(caller))).kind).toBe("written");
    await owner`update usage_sessions set expires_at = now() - interval '1 second' where id = ${overdue}`;
    expect((await listOverdueTenants(db, 10)).map((one) => one.tenantId)).toContain(tenantId);
    expect(await closeOverdueSessions(db, tenantId, 10, operatorOrigin())).toBe(1);
    expect((await listCreditEntries(db, caller, page)).items).toContain('"expire"');
    expect(await findCreditBalance(db, tenantId, "live")).toMatchObject({ lifetimeUsedCreditMicros: 2 });
    const granted = await seedMovement(db, tenantId).catch((error: unknown) => databaseFailure(error));
    expect(granted).toBe("not_executed");
    expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
  });

  test("the role, with assets: creates, lists, completes, processes and deletes, and claims jobs", async () => {
    const caller = await seedCaller();
    const origin = originOf(caller);
    const quota = { maxAssets: 10, maxBytes: 1e9 };
    const first = assetOf(caller);
    const upload = assetOf(caller, { status: "pending_upload" });
    const created = { asset: first, job: jobOf(first), quota };
    expect(await insertAsset(db, created, caller, origin, claimOf("asset"))).toEqual({ kind: "written" });
    expect((await insertAsset(db, { asset: upload, job: null, quota }, caller, originOf(caller))).kind).toBe("written");
    expect((await findAsset(db, caller, first.id))?.id).toBe(first.id);
    expect(await findPublicAsset(db, first.publicToken)).toBeNull();
    expect(await hasAssetRoom(db, caller, quota, 1)).toBe(true);
    expect((await listAssets(db, caller, page, "https://example.com")).items).toContain(first.id);
    const file = { contentType: "image/png", sizeBytes: 1, job: jobOf(upload) };
    expect((await completeAsset(db, upload.id, file, caller, originOf(caller))).kind).toBe("written");
    expect(await existingAssets(db, [first, upload])).toHaveLength(2);
    const avatar = avatarOf(caller, { sourceAssetId: first.id });
    expect((await insertAvatar(db, avatar, preparationOf(avatar), caller, originOf(caller))).kind).toBe("written");
    for (let at = 0; at < 2; at++) {
      const claim = { lease: `${at}`, leaseSeconds: 60, slots: 2, kinds: ["process_asset"] as const };
      const job = await claimJob(db, claim);
      if (job === null) throw new Error("no job");
      expect(await renewJob(db, job, 60)).toBe(true);
      expect(await startAsset(db, job)).not.toBeNull();
      const result = { kind: "failed", code: "empty", detail: "y" } as const;
      const failure = { error: "x", delaySeconds: 0, maxAttempts: 5 };
      if (at === 0) expect(await finishAsset(db, job, result, operatorOrigin())).toBe("finished");
      else expect(await retryJob(db, job, failure, operatorOrigin())).toBe("retried");
    }
    // Of the upload, and of the avatar.
    expect((await jobStats(db)).queued).toBe(2);
    expect((await deleteAsset(db, upload.id, { versions: null }, caller, originOf(caller))).kind).toBe("written");
    await owner`
      insert into assets select tenant_id, ${newId("ast", new Date(), random)}, environment, kind, 'pending_upload', content_type,
        size_bytes, sha256, public_token, null, null, 0, null, null, null, metadata, 1, now() - interval '2 days', now()
      from assets where id = ${upload.id}`;
    await owner`update asset_meters set assets = assets + 1 where tenant_id = ${caller.tenantId}`;
    expect(await failAbandonedUploads(db, 10, operatorOrigin())).toBe(1);
  });

  test("the role, with avatars' files: prepares them, reads previews, finds needed files", async () => {
    await owner`delete from jobs`;
    const caller = await seedCaller();
    const { id: sourceAssetId } = await seedAsset(database.db, caller.tenantId);
    const avatar = await seedAvatar(db, caller, { sourceAssetId });
    const claim = async () => {
      const job = await claimJob(db, { lease: "p", leaseSeconds: 60, slots: 1, kinds: ["prepare_avatar"] });
      if (job === null) throw new Error("no job");
      return job;
    };
    const result = readyResult(1);
    const job = await claim();
    expect((await startPreparation(db, job)).kind).toBe("started");
    expect(await finishPreparation(db, job, result, operatorOrigin())).toBe("finished");
    expect((await findPreview(db, result.previewToken ?? ""))?.id).toBe(avatar.id);
    expect((await prepareAvatar(db, avatar.id, 2, newJobId(), caller, originOf(caller), claimOf("p"))).kind).toBe(
      "written",
    );
    const change = { modelId: "y", sourceAssetId: (await seedAsset(database.db, caller.tenantId)).id };
    expect((await updateAvatar(db, avatar.id, change, inStatus("ready"), caller, originOf(caller))).kind).toBe(
      "written",
    );
    expect(await knownPreparations(db, [{ ...avatar, generation: 3 }])).toHaveLength(1);
    const failure = { error: "x", delaySeconds: 0, maxAttempts: 1 };
    expect(await retryJob(db, await claim(), failure, operatorOrigin())).toBe("exhausted");
    const pending = await seedAsset(database.db, caller.tenantId, "live", "image", "processing");
    await updateAvatar(db, avatar.id, { sourceAssetId: pending.id }, inStatus("ready"), caller, originOf(caller));
    expect((await startPreparation(db, await claim())).kind).toBe("waiting");
    expect((await deleteAsset(db, pending.id, { versions: null }, caller, originOf(caller))).kind).toBe("in_use");
    await updateAvatar(db, avatar.id, { status: "deleted" }, inStatus("ready"), caller, originOf(caller));
    expect(await owner`select from jobs where target_id = ${avatar.id}`).toHaveLength(0);
  });

  test("the role, sweeping: removes what is over", async () => {
    const caller = await seedCaller();
    await insertAvatar(db, avatarOf(caller), null, caller, originOf(caller), claimOf("old"));
    await owner`update idempotency_claims set created_at = now() - interval '25 hours' where tenant_id = ${caller.tenantId}`;
    await insertAvatar(db, avatarOf(caller), null, caller, originOf(caller), claimOf("old"));
    await owner`update idempotency_claims set created_at = now() - interval '25 hours' where tenant_id = ${caller.tenantId}`;
    await owner`insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, retired_at, created_at)
      values ('abcdefghijklmnop', ${caller.tenantId}, ${caller.id}, ${new Uint8Array(32)}, now() - interval '8 days', now())`;
    await owner`insert into pending_changes values (${caller.tenantId}, ${caller.id}, now() - interval '1 hour')`;
    expect(await sweepIdempotencyKeys(db)).toBe(1);
    expect(await sweepCredentials(db)).toBe(1);
    expect(await sweepPendingChanges(db)).toBe(1);
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
    "update calls set room_name = 'other'",
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
  ])("the role, forbidden: %s", async (statement) => {
    expect(["42501", "42939"]).toContain((await codeOf(statement)) as string);
  });

  test.each(["credit_accounts", "api_key_meters"])(
    "the role, its own pg_class, a refund in %s: refused",
    async (table) => {
      await owner.unsafe(`grant temporary on database ${new URL(database.url).pathname.slice(1)} to ${NAME}`);
      const fake =
        "create temp table pg_class as select oid, usesysid relowner from pg_class, pg_user where usename = user";
      expect(await codeOf(`${fake}; update ${table} set settled = settled - 1 where settled > 0`)).toBe("42501");
    },
  );

  test("the role, changing a function: forbidden", async () => {
    const [row] = await owner<{ schema: string }[]>`
      select nspname as schema from pg_namespace where nspname ~ '^rta_[0-9a-f]{12}$'`;
    expect(await codeOf(`drop schema ${row?.schema} cascade`)).toBe("42501");
    expect(await codeOf(`create function ${row?.schema}.x() returns integer language sql as 'select 1'`)).toBe("42501");
    expect(await codeOf(`drop function ${row?.schema}.all_written()`)).toBe("42501");
  });
});
