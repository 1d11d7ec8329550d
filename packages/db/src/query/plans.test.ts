/** How the server executes the statements of a request: by an index, for any content of the tables. */
import { describe, expect, test } from "bun:test";
import { API_KEY_STATUSES } from "@realtime-avatar/domain/api-keys/status";
import type { AuditAction } from "@realtime-avatar/domain/audit";
import { type AvatarId, newId } from "@realtime-avatar/domain/id";
import type { TestDb } from "@realtime-avatar/testing/database";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { inOneBatch } from "@realtime-avatar/testing/postgres/batching";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertNamedRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  findTestCaller,
  inStatus,
  issuedBy,
  newClaim,
  operatorOrigin,
  plannedAvatar,
  seedKey,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { findApiKey, insertApiKey, revokeApiKey, rotateApiKey, updateApiKey } from "../api-keys/api-keys.ts";
import { findCreator } from "../api-keys/creator.ts";
import { listApiKeys } from "../api-keys/list.ts";
import { recordUses } from "../api-keys/usage.ts";
import { listAuditEvents } from "../audit/audit-events.ts";
import { findAvatar, insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import { listAvatars } from "../avatars/list.ts";
import { findCredential } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { findUsageSession } from "../credits/find-usage-session.ts";
import { listOpenSessions, listUsageSessions, sumUsageSessions } from "../credits/list-usage-sessions.ts";
import { findStoredResponse, sweepIdempotencyKeys } from "../idempotency/idempotency-keys.ts";

const ROWS = 3000;

const [database, small] = [await fileDatabase(), await fileDatabase()];
const smallSession = await explainedSession(small.url);
const { plans, explain, ...explained } = await explainedSession(database.url);
/** The texts of the executed statements. */
const texts = new Set<string>();
const db: TestDb = {
  ...explained.db,
  run: (text, parameters) => {
    texts.add(text);
    return explained.db.run(text, parameters);
  },
  batch: async (kind, input) => (await kind.run(db, [input]))[0] as never,
};
const tenantId = await seedTenant(db);
const parent = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
const { secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] }, parent.record);
// All rows have the same values, so that the server could prefer to read the primary key and filter.
const target = (await seedKey(db, tenantId, { environment: "live", scopes: ["*"] })).record;
await db.client.unsafe(`
  insert into tenants (tenant_id, name, created_at) select ${rowId("ten")}, 'n', now() from generate_series(1, ${ROWS}) i;
  insert into api_keys select '${tenantId}', ${rowId("key")}, lpad(i::text, 16, '0'), 'live', 'n', '{*}', null, null, null,
    '{${parent.record.id}}', 1, now() from generate_series(1, ${ROWS}) i;
  insert into api_key_credentials select lpad(i::text, 16, '0'), '${tenantId}', ${rowId("key")}, sha256('x'), null, now()
    from generate_series(1, ${ROWS}) i;
  insert into pending_changes select '${tenantId}', ${rowId("key")}, now() - interval '1 hour' from generate_series(1, ${ROWS}) i;
  insert into idempotency_claims select '${tenantId}', '${parent.record.id}', 'POST /x', i::text, ${rowId("aud")}, sha256('x'), 201, null, '1',
    'x', null, now() from generate_series(1, ${ROWS}) i;
  insert into api_key_usage select '${tenantId}', ${rowId("key")}, now() from generate_series(1, ${ROWS}) i;
  insert into credit_accounts (tenant_id, environment, granted, updated_at) select ${rowId("ten")}, 'live', 0, now()
    from generate_series(1, ${ROWS}) i;
  insert into api_key_meters select '${tenantId}', ${rowId("key")}, 0, 0 from generate_series(1, ${ROWS}) i;
  insert into usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at, ended_at, expires_at
  )
    select '${tenantId}', ${rowId("ses")}, 'live', '${parent.record.id}', '{}',
    case when i % 3 = 0 then 'reserved' else 'released' end, 1, 1, '{"user_id":"u"}', now(),
    case when i % 3 > 0 then now() end, now() + interval '1 hour' * (i % 2) from generate_series(1, ${ROWS}) i;
  insert into avatars select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'draft', null, null, null, 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
    select '${tenantId}', ${rowId("aud")}, 'live', '${parent.record.id}', '${parent.record.keyId}', 'avatar.created',
    case when i % 2 = 0 then '${parent.record.id}' else '${target.id}' end, 'r', now() from generate_series(1, ${ROWS}) i;
  insert into conversation_usage
    select ${rowId("ten")}, 'live', date '2026-01-01' + i, 1, 1, 0, 1, 1 from generate_series(1, ${ROWS}) i;
  ${insertNamedRows(tenantId, ROWS)}
  ${insertEndpointRows(ROWS)}
  analyze`);
const caller = await findTestCaller(db, secret.keyId);

await explain();

/** The plan of each statement of `work`, which must have one text. The writes of `work` are rolled back. */
const plansOf = async (work: () => Promise<unknown>): Promise<string> => {
  plans.length = 0;
  texts.clear();
  await db.client.unsafe("begin");
  await work().finally(() => db.client.unsafe("rollback"));
  expect([plans.length > 0, texts.size]).toEqual([true, 1]);
  return expectIndexed(plans);
};

const claimFor = (key: string | null) => (key === null ? null : { ...newClaim(key), request: "POST /x" });
const create = (db: Db, idempotencyKey: string | null) =>
  insertAvatar(db, plannedAvatar(caller), null, caller, operatorOrigin(), claimFor(idempotencyKey));
const createKey = (db: Db, idempotencyKey: string | null) => {
  const key = { ...issuedBy(caller), maxActiveKeys: 10_000 };
  return insertApiKey(db, key, caller, operatorOrigin(), claimFor(idempotencyKey));
};

const page = { filters: {}, before: null, limit: 50 };
const window = { from: "2026-01-01T00:00:00.000Z", to: "2026-03-01T00:00:00.000Z" };
const ORIGIN = "https://example.com";
type Case = [string, () => Promise<unknown>, string[]];

/** Every combination of filters of each list, and the index whose order it uses. */
const keyLists = ([undefined, ...API_KEY_STATUSES] as const).flatMap((status): Case[] => {
  const filters = status && { status };
  const extra = { active: [], revoked: ["api_keys_revoked_index"], expired: ["api_keys_expires_at_index"] };
  const known = status === undefined ? [] : extra[status];
  return [
    [
      `listing keys, status ${status}`,
      () => listApiKeys(db, tenantId, ["live", "test"], { ...page, filters: { ...filters } }),
      ["api_keys_tenant_id_id_pk on api_keys", ...known],
    ],
    [
      `listing keys of one environment, status ${status}`,
      () => listApiKeys(db, tenantId, ["live", "test"], { ...page, filters: { environment: "test", ...filters } }),
      ["api_keys_environment_index on api_keys", ...known],
    ],
  ];
});
const avatarFilters = [
  {},
  { status: "ready" },
  { sourceKind: "video" },
  { status: "ready", sourceKind: "video" },
] as const;
const avatarLists = avatarFilters.map(
  (filters): Case => [
    `listing avatars by ${Object.keys(filters)}`,
    () => listAvatars(db, caller, { ...page, filters }, ORIGIN),
    [Object.keys(filters).length === 0 ? "avatars_newest_index" : "avatars_list_index"],
  ],
);
const ACTOR_INDEXES = { actorKeyId: "audit_events_actor_key_id_index", actorId: "audit_events_actor_id_index" };
const eventLists = (["live", "test"] as const).flatMap((environment) =>
  [undefined, "api_key.revoked", "avatar.created"].flatMap((action) =>
    [false, true].flatMap((hasTarget) =>
      ([null, "actorKeyId", "actorId"] as const).map((actor): Case => {
        const byAction = action === "api_key.revoked" ? "audit_events_action_index" : null;
        const byEnvironment = environment === "test" ? "audit_events_test_index" : "audit_events_tenant_id_id_pk";
        const byOther = hasTarget ? "audit_events_target_id_index" : actor && ACTOR_INDEXES[actor];
        return [
          `listing events in ${environment}, action ${action}, target ${hasTarget}, actor ${actor}`,
          () => {
            const filters = {
              ...(action && { action: action as AuditAction }),
              ...(hasTarget && { targetId: target.id }),
              ...(actor && { [actor]: actor === "actorId" ? caller.id : caller.keyId }),
              ...(hasTarget && { from: window.from }),
            };
            return listAuditEvents(db, { tenantId, environment }, { ...page, filters });
          },
          [byOther || byAction || byEnvironment],
        ];
      }),
    ),
  ),
);

const sessionLists = [undefined, "u"].flatMap((endUserId) =>
  [{}, { status: "started" }, { status: "released", apiKeyId: "key_x", avatarId: "ava_x" }].map(
    (filters): Case => [
      `listing sessions of user ${endUserId} by ${Object.keys(filters)}`,
      () => {
        const all = { ...window, ...(endUserId && { endUserId }), ...(filters as { status?: "started" }) };
        return listUsageSessions(db, caller, { ...page, filters: all });
      },
      [endUserId ? "usage_sessions_end_user_index" : "usage_sessions_list_index"],
    ],
  ),
);

const cases: Case[] = [
  [
    "a look-up with headroom",
    () => findCredential(db, caller.credentialKeyId, null, undefined, "headroom"),
    ["api_key_meters_tenant_id_api_key_id_pk", "usage_sessions_tenant_sweep_index"],
  ],
  [
    "a look-up with the balance",
    () => findCredential(db, caller.credentialKeyId, null, undefined, "balance"),
    ["credit_accounts_tenant_id_environment_pk"],
  ],
  [
    "reading a session",
    () => findUsageSession(db, caller, newId("ses", new Date(), random)),
    // Either the primary key, or the index of the list, which has the same columns.
    ["Index Scan using usage_sessions_"],
  ],
  ...sessionLists,
  ["listing open sessions", () => listOpenSessions(db, caller, page), ["usage_sessions_tenant_sweep_index"]],
  [
    "summing sessions",
    () => sumUsageSessions(db, caller, { filters: { ...window, groupBy: "apiKey" }, before: null }),
    ["usage_sessions_list_index"],
  ],
  [
    "a look-up",
    () => findCredential(db, caller.credentialKeyId, target.id),
    ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk", "api_key_pending_changes_tenant_id_api_key_id_pk"],
  ],
  ["the look-up of a key's creator", () => findCreator(db, target, "live"), ["audit_events_target_id_index"]],
  ["reading a key", () => findApiKey(db, tenantId, target.id), ["api_keys_tenant_id_id_pk"]],
  ...keyLists,
  ["reading an avatar", () => findAvatar(db, caller, newId("ava", new Date(), random)), ["avatars_tenant_id_id_pk"]],
  ...avatarLists,
  ...eventLists,
  ["creating an avatar", () => create(db, null), ["api_keys_tenant_id_id_pk", "api_key_credentials_pkey"]],
  ["creating an avatar with a claim", () => create(db, "k"), ["api_keys_tenant_id_id_pk"]],
  ["a replay", () => create(db, "1"), ["idempotency_keys_tenant_id_api_key_id_request_i"]],
  ["creating a key", () => createKey(db, null), ["api_keys_active_index"]],
  [
    "finding a stored response",
    () => findStoredResponse(db, caller, { request: "POST /x", idempotencyKey: "1" }),
    ["idempotency_keys_tenant_id_api_key_id_request_i"],
  ],
  [
    "changing an avatar",
    () =>
      updateAvatar(
        db,
        `ava_01h455vb4p${"1".padStart(16, "0")}` as AvatarId,
        { displayName: "y" },
        inStatus("draft"),
        caller,
        operatorOrigin(),
      ),
    ["avatars_tenant_id_id_pk"],
  ],
  [
    "changing a key",
    () => updateApiKey(db, { target, record: { ...target, name: "y" }, changedFields: [] }, caller, operatorOrigin()),
    ["api_keys_tenant_id_id_pk"],
  ],
  [
    "rotating a key",
    () => {
      const { record, secret } = issuedBy(caller);
      const rotation = { target, record: { ...target, keyId: record.keyId }, secret, overlapSeconds: 0 };
      return rotateApiKey(db, rotation, caller, operatorOrigin());
    },
    ["api_key_credentials_api_key_id_index"],
  ],
  [
    "revoking a key",
    () => revokeApiKey(db, target, { version: null }, caller, operatorOrigin()),
    ["api_keys_tenant_id_id_pk"],
  ],
  [
    "recording a use",
    () => recordUses(db, [{ tenantId, id: target.id, usedAt: new Date() }]),
    ["api_key_usage_tenant_id_api_key_id_pk"],
  ],
];

/** Lists that are read in the order of their index. A sort would read all rows before the limit. */
const inOrder = new Set([...keyLists, ...eventLists, ...sessionLists].map(([name]) => name));

test.each(cases)("the statement for %s, explained: one statement, by its index", async (name, work, indexes) => {
  const plan = await plansOf(work);
  for (const index of indexes) expect(plan).toContain(index);
  if (!inOrder.has(name)) return;
  expect(plans[0]).not.toContain("Sort");
  expect(plans[0]).toContain("Limit");
});

describe("the index of a batch", () => {
  const plansOfMany = (work: (db: Db) => Promise<unknown>[]) => plansOf(() => Promise.all(work(inOneBatch(db))));
  const six = [1, 2, 3, 4, 5, 6];

  test("a batch of look-ups, explained: the same indexes", async () => {
    const plan = await plansOfMany((db) => six.map((index) => findCredential(db, String(index).padStart(16, "0"))));
    for (const index of ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk"]) expect(plan).toContain(index);
  });

  test.each([
    ["avatars", create],
    ["keys", createKey],
  ] as const)("a batch of creates of %s, explained: the same indexes", async (_, create) => {
    const plan = await plansOfMany((db) => six.map((index) => create(db, index > 3 ? null : `new key ${index}`)));
    for (const index of ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk"]) expect(plan).toContain(index);
    // Some of the creates are replays.
    const replays = await plansOfMany((db) => six.map((index) => create(db, `${index}`)));
    expect(replays).toContain("idempotency_keys_tenant_id_api_key_id_request_i");
  });

  test.each([
    [
      "avatars",
      "avatars_newest_index",
      (pool: Db, limit: number) => listAvatars(pool, caller, { ...page, limit }, ORIGIN),
    ],
    [
      "keys",
      "api_keys_tenant_id_id_pk on api_keys",
      (pool: Db, limit: number) => listApiKeys(pool, tenantId, ["live", "test"], { ...page, limit }),
    ],
    [
      "revoked keys",
      "api_keys_environment_index on api_keys",
      (pool: Db, limit: number) =>
        listApiKeys(pool, tenantId, ["test"], { ...page, limit, filters: { status: "revoked" } }),
    ],
    [
      "events",
      "audit_events_tenant_id_id_pk",
      (pool: Db, limit: number) => listAuditEvents(pool, caller, { ...page, limit }),
    ],
  ] as const)("a batch of pages of %s, explained: the same index", async (_, index, list) => {
    expect(await plansOfMany((db) => six.map((limit) => list(db, limit)))).toContain(index);
  });

  test("a batch of reads by id, explained: the same index", async () => {
    const plan = await plansOfMany((db) => six.map(() => findAvatar(db, caller, newId("ava", new Date(), random))));
    expect(plan).toContain("avatars_tenant_id_id_pk");
  });
});

// The server keeps such a plan while the tables grow, until they are analyzed again.
test("a plan that was made while the tables were small: reads rows by the primary key", async () => {
  const tenant = await seedTenant(small.db);
  const { record, secret } = await seedKey(small.db, tenant, { environment: "live", scopes: ["*"] });
  for (let count = 0; count < 130; count++) await seedKey(small.db, tenant, {}, record);
  await small.db.client`analyze`;
  await smallSession.explain();
  // The setting of the service's connections.
  await smallSession.db.client`set enable_seqscan = off`;
  smallSession.plans.length = 0;
  await findCredential(smallSession.db, secret.keyId, record.id);
  expect(smallSession.plans.length).toBeGreaterThan(0);
  expect(smallSession.plans.join("\n")).not.toMatch(/Seq Scan|Hash|Merge/);
});

ofOneDatabase("a statement, executed for tables of any size: planned once", async () => {
  const pool = connectTo(database, { connections: 1 });
  for (let round = 0; round < 8; round++) {
    await findCredential(pool, caller.credentialKeyId);
    await listAvatars(pool, caller, page, ORIGIN);
    await create(pool, null);
    await create(pool, `round ${round}`);
    await Promise.all([1, 2, 3].map(() => create(pool, null)));
  }
  const counts = await pool.run<{ custom: number; generic: number }>(
    `select custom_plans::integer as custom, generic_plans::integer as generic from pg_prepared_statements
     where statement not like '%pg_%'`,
    [],
  );
  await pool.close();
  // One plan for creates of all kinds and any number of them.
  expect(counts).toHaveLength(3);
  for (const { custom, generic } of counts) expect([custom, generic]).toEqual([0, expect.any(Number)]);
});

test("a connection of the service: reads by indexes, and compiles no statement", async () => {
  const pool = connectTo(database, { connections: 1 });
  const settings = await pool.run(
    "select current_setting('enable_seqscan') as scans, current_setting('jit') as jit",
    [],
  );
  await pool.close();
  expect(settings).toEqual([{ scans: "off", jit: "off" }]);
});

ofOneDatabase("the sweep of claims, with any share of old ones: uses its indexes", async () => {
  await db.client.unsafe(`
    insert into idempotency_claims select '${tenantId}', 'key_swept', 'POST /x', i::text, ${rowId("aud")}, sha256('x'), 201, null, '1', 'x',
      null, now() - interval '2 days' * (i % 4 = 0)::integer from generate_series(1, 40000) i;
    analyze idempotency_claims`);
  const explanations: string[] = [];
  const explaining = {
    ...db,
    run: async (text: string) => {
      const rows = await db.client.unsafe(`explain ${text}`);
      explanations.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
      return [];
    },
  } as Db;
  expect(await sweepIdempotencyKeys(explaining)).toBe(0);
  expect(explanations).toHaveLength(1);
  expect(explanations[0]).not.toContain("Seq Scan");
  expect(explanations[0]).toContain("idempotency_keys_created_at_index");
  expect(explanations[0]).toContain("Tid Scan");
});
