/** How the server executes what it is asked on the way of a request: by an index, whatever else the tables hold. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type ApiKeyRecord, issueApiKey } from "@realtime-avatar/domain/api-key";
import type { AuditAction } from "@realtime-avatar/domain/audit";
import { newAvatar } from "@realtime-avatar/domain/avatar";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { API_KEY_STATUSES } from "@realtime-avatar/domain/state";
import { connect, type Db } from "../connection/pool.ts";
import {
  operatorOrigin,
  random,
  seedKey,
  seedTenant,
  session,
  type TestDatabase,
  type TestDb,
  testDatabase,
} from "../testing.ts";
import { recordUses } from "./api-key-usage.ts";
import { findApiKey, insertApiKey, listApiKeys, revokeApiKey, rotateApiKey, updateApiKey } from "./api-keys.ts";
import { listAuditEvents } from "./audit-events.ts";
import { findAvatar, insertAvatar, listAvatars, updateAvatar } from "./avatars.ts";
import { type Caller, findCredential } from "./callers.ts";
import { findAnswer, sweepIdempotencyKeys } from "./idempotency-keys.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const ROWS = 3000;
let database: TestDatabase;
/** One connection, so that its prepared statements can be looked at. */
let db: TestDb;
let tenantId: TenantId;
let caller: Caller;
let target: ApiKeyRecord;

const claim = (idempotencyKey: string) => ({
  request: "POST /x",
  idempotencyKey,
  bodyHash: new Uint8Array(32),
  status: 201,
  location: null,
  etag: "1",
  answer: new Uint8Array(1),
  sealedFor: null,
});

/** Ids in their order, as the application makes them. */
const ids = (prefix: string) => `'${prefix}_01h455vb4p' || lpad(i::text, 16, '0')`;

beforeAll(async () => {
  database = await testDatabase();
  db = session(database.url);
  tenantId = await seedTenant(db);
  const parent = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
  const { secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] }, parent.record);
  // All of one kind, as the server sees it, so that it is tempted to read the primary key and to filter.
  target = (await seedKey(db, tenantId, { environment: "live", scopes: ["*"] })).record;
  await db.client.unsafe(`
    insert into api_keys select '${tenantId}', ${ids("key")}, lpad(i::text, 16, '0'), 'live', 'n', '{*}', null, null, null,
      '{${parent.record.id}}', 1, now() from generate_series(1, ${ROWS}) i;
    insert into api_key_credentials select lpad(i::text, 16, '0'), '${tenantId}', ${ids("key")}, sha256('x'), null, now()
      from generate_series(1, ${ROWS}) i;
    insert into api_key_pending_changes select '${tenantId}', ${ids("key")}, now() - interval '1 hour' from generate_series(1, ${ROWS}) i;
    insert into idempotency_keys select '${tenantId}', '${parent.record.id}', 'POST /x', i::text, ${ids("aud")}, sha256('x'), 201, null, '1',
      'x', null, now() from generate_series(1, ${ROWS}) i;
    insert into api_key_usage select '${tenantId}', ${ids("key")}, now() from generate_series(1, ${ROWS}) i;
    insert into avatars select '${tenantId}', ${ids("ava")}, 'live', 'n', 'image', 'm', 'draft', null, null, null, 0, '{}', '{}', 1, now(), now()
      from generate_series(1, ${ROWS}) i;
    insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
      select '${tenantId}', ${ids("aud")}, 'live', '${parent.record.id}', '${parent.record.keyId}', 'avatar.created',
      case when i % 2 = 0 then '${parent.record.id}' else '${target.id}' end, 'r', now() from generate_series(1, ${ROWS}) i;
    analyze`);
  const found = await findCredential(db, secret.keyId);
  if (!found) throw new Error("no caller");
  caller = found.caller;
});
afterAll(async () => {
  await db.close();
  await database.close();
});

/**
 * Runs `work`, and gives the generic plan of each statement that it has prepared: the one that the server comes to use,
 * whatever the values.
 */
const plansOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const { client } = db;
  await client.unsafe("deallocate all");
  const fresh = session(database.url);
  const before = db;
  db = fresh;
  try {
    await work();
    const prepared = await fresh.client<{ name: string; count: number }[]>`
      select name, cardinality(parameter_types) as count from pg_prepared_statements
      where statement not like '%pg_prepared_statements%'`;
    const plans: string[] = [];
    await fresh.client.unsafe("set plan_cache_mode = force_generic_plan");
    for (const { name, count } of prepared) {
      const values = Array(count).fill("null").join(", ");
      const rows = await fresh.client.unsafe(`explain execute "${name}"${count > 0 ? `(${values})` : ""}`);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
    }
    return plans;
  } finally {
    db = before;
    await fresh.close();
  }
};

const page = { filters: {}, before: null, limit: 50 };
type Case = [string, () => Promise<unknown>, string[]];

/** Every choice of filters of each list, and the index in whose order it is read. */
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
    () => listAvatars(db, caller, { ...page, filters }),
    [Object.keys(filters).length === 0 ? "avatars_newest_index" : "avatars_list_index"],
  ],
);
const eventLists = (["live", "test"] as const).flatMap((environment) =>
  [undefined, "api_key.revoked", "avatar.created"].flatMap((action) =>
    [false, true].flatMap((hasTarget) =>
      [false, true].map((hasActor): Case => {
        const byAction = action === "api_key.revoked" ? "audit_events_action_index" : null;
        const byEnvironment = environment === "test" ? "audit_events_test_index" : "audit_events_tenant_id_id_pk";
        const byOther = hasTarget ? "audit_events_target_id_index" : hasActor && "audit_events_actor_key_id_index";
        return [
          `listing events in ${environment}, action ${action}, target ${hasTarget}, actor ${hasActor}`,
          () => {
            const filters = {
              ...(action && { action: action as AuditAction }),
              ...(hasTarget && { targetId: target.id }),
              ...(hasActor && { actorKeyId: caller.keyId }),
            };
            return listAuditEvents(db, { tenantId, environment }, { ...page, filters });
          },
          [byOther || byAction || byEnvironment],
        ];
      }),
    ),
  ),
);

const cases: Case[] = [
  [
    "a look-up",
    () => findCredential(db, caller.credentialKeyId, target.id),
    ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk", "api_key_pending_changes_tenant_id_api_key_id_pk"],
  ],
  ["reading a key", () => findApiKey(db, tenantId, target.id), ["api_keys_tenant_id_id_pk"]],
  ...keyLists,
  ["reading an avatar", () => findAvatar(db, caller, newId("ava", new Date(), random)), ["avatars_tenant_id_id_pk"]],
  ...avatarLists,
  ...eventLists,
  [
    "creating an avatar",
    () => {
      const now = new Date();
      const of = { id: newId("ava", now, random), tenantId, environment: "live", defaultModelId: "m", now } as const;
      return insertAvatar(db, newAvatar({ displayName: "x", sourceKind: "image" }, of), caller, operatorOrigin());
    },
    [],
  ],
  [
    "creating a key",
    async () => {
      const { record, secret } = await seedKey(database.db, tenantId);
      return insertApiKey(
        db,
        { record: { ...record, id: newId("key", new Date(), random) }, secret, maxActiveKeys: 10_000 },
        caller,
        operatorOrigin(),
      ).catch(
        // The credential is there already: its statement was prepared all the same.
        () => {},
      );
    },
    [],
  ],
  [
    "creating an avatar once",
    () => {
      const now = new Date();
      const of = { id: newId("ava", now, random), tenantId, environment: "live", defaultModelId: "m", now } as const;
      const avatar = newAvatar({ displayName: "x", sourceKind: "image" }, of);
      return insertAvatar(db, avatar, caller, operatorOrigin(), claim("k"));
    },
    ["idempotency_keys_tenant_id_api_key_id_request_idempotency_key_p"],
  ],
  [
    "finding an answer",
    () => findAnswer(db, caller, { request: "POST /x", idempotencyKey: "1" }),
    ["idempotency_keys_tenant_id_api_key_id_request_idempotency_key_p"],
  ],
  [
    "changing an avatar",
    () =>
      updateAvatar(
        db,
        newId("ava", new Date(), random),
        { displayName: "y" },
        { versions: null, statuses: ["draft"] },
        caller,
        operatorOrigin(),
      ),
    ["avatars_tenant_id_id_pk"],
  ],
  [
    "changing a key",
    () =>
      updateApiKey(
        db,
        { target, record: { ...target, version: 9 }, changedFields: [] },
        { ...caller, version: 99 },
        operatorOrigin(),
      ),
    ["api_keys_tenant_id_id_pk"],
  ],
  [
    "rotating a key",
    async () => {
      const { secret } = await seedKey(database.db, tenantId);
      const stale = { ...caller, version: 99 };
      return rotateApiKey(db, { target, record: target, secret, overlapSeconds: 0 }, stale, operatorOrigin());
    },
    ["api_key_credentials_api_key_id_index"],
  ],
  [
    "revoking a key",
    () => revokeApiKey(db, target, { version: null }, { ...caller, version: 99 }, operatorOrigin()),
    ["api_keys_tenant_id_id_pk"],
  ],
  [
    "noting a use",
    () => recordUses(db, [{ tenantId, apiKeyId: target.id, usedAt: new Date() }]),
    ["api_key_usage_tenant_id_api_key_id_pk"],
  ],
];

test.each([...keyLists, ...eventLists])(
  "%s reads in the order of the index, and no more than it looks at",
  async (_, work) => {
    const [plan = ""] = await plansOf(work);
    // A sort would read all that there is before the limit.
    expect(plan).not.toContain("Sort");
    expect(plan).toContain("Limit");
  },
);

describe("one statement, by its index", () => {
  test.each(cases)("%s", async (_, work, indexes) => {
    const plans = await plansOf(work);
    expect(plans).toHaveLength(1);
    const [plan = ""] = plans;
    expect(plan).not.toContain("Seq Scan");
    for (const index of indexes) expect(plan).toContain(index);
    // Each index is entered by the tenant, but for the look-up of a credential and the sweep, which come before any.
    for (const [, index = "", condition] of plan.matchAll(/using (\w+) on .*\n +Index Cond: (.*)/g)) {
      const isBefore = index === "api_key_credentials_pkey" || index === "idempotency_keys_created_at_index";
      if (!isBefore) expect(condition).toContain("tenant_id");
    }
  });
});

const create = (pool: Db, idempotencyKey: string | null) => {
  const now = new Date();
  const of = { id: newId("ava", now, random), tenantId, environment: "live", defaultModelId: "m", now } as const;
  const avatar = newAvatar({ displayName: "x", sourceKind: "image" }, of);
  return insertAvatar(pool, avatar, caller, operatorOrigin(), idempotencyKey === null ? null : claim(idempotencyKey));
};

describe("what is gathered", () => {
  /** The generic plans of the statements for several at once. */
  const plansOfMany = async (work: (pool: Db) => Promise<unknown>[]): Promise<string[]> => {
    // One connection: what it has prepared can be looked at through the pool itself.
    const pool = connect(database.url, { connections: 1 });
    await Promise.all(work(pool));
    const prepared = await pool.run<{ name: string; count: number }>(
      `select name, cardinality(parameter_types) as count from pg_prepared_statements where statement like '%ordinality%'`,
      [],
    );
    await pool.run("set plan_cache_mode = force_generic_plan", []);
    const plans: string[] = [];
    for (const { name, count } of prepared) {
      const values = Array(count).fill("null").join(", ");
      const rows = await pool.run<{ "QUERY PLAN": string }>(`explain execute "${name}"(${values})`, []);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
    }
    await pool.close();
    return plans;
  };

  test("look-ups go by the same indexes", async () => {
    const keyIds = [1, 2, 3, 4, 5, 6].map((index) => String(index).padStart(16, "0"));
    const plans = await plansOfMany((pool) => keyIds.map((keyId) => findCredential(pool, keyId)));
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("Seq Scan");
    for (const index of ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk"]) expect(plans[0]).toContain(index);
  });

  test.each([
    ["creates", () => null, []],
    ["creates that are claimed", (index: number) => `key ${index}`, ["idempotency_keys_tenant_id_api_key_id_request"]],
  ] as const)("%s go by the same indexes", async (_, keyOf, indexes) => {
    const plans = await plansOfMany((pool) => Array.from({ length: 6 }, (_, index) => create(pool, keyOf(index))));
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("Seq Scan");
    for (const index of ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk", ...indexes]) {
      expect(plans[0]).toContain(index);
    }
  });

  test.each([false, true])("creates of keys go by the same indexes (claimed: %p)", async (isClaimed) => {
    const plans = await plansOfMany((pool) =>
      Array.from({ length: 6 }, (_, index) => {
        const { record, secret } = issueApiKey({ name: "x" }, caller, { ...caller, now: new Date(), random });
        return insertApiKey(
          pool,
          { record, secret, maxActiveKeys: 10_000 },
          caller,
          operatorOrigin(),
          isClaimed ? claim(`of a key ${index}`) : null,
        );
      }),
    );
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("Seq Scan");
    for (const index of ["api_key_credentials_pkey", "api_keys_tenant_id_id_pk"]) expect(plans[0]).toContain(index);
  });

  test.each([
    ["avatars", "avatars_newest_index", (pool: Db, limit: number) => listAvatars(pool, caller, { ...page, limit })],
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
  ] as const)("different pages of %s go by the same index", async (_, index, list) => {
    const plans = await plansOfMany((pool) => [1, 2, 3, 4, 5, 6].map((limit) => list(pool, limit)));
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("Seq Scan");
    expect(plans[0]).toContain(index);
  });

  test("reads by id go by the same index", async () => {
    const ids = Array.from({ length: 6 }, () => newId("ava", new Date(), random));
    const plans = await plansOfMany((pool) => ids.map((id) => findAvatar(pool, caller, id)));
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("Seq Scan");
    expect(plans[0]).toContain("avatars_tenant_id_id_pk");
  });
});

test("the server plans each statement once, however large the tables are", async () => {
  const pool = connect(database.url, { connections: 1 });
  for (let round = 0; round < 8; round++) {
    await findCredential(pool, caller.credentialKeyId);
    await listAvatars(pool, caller, page);
    await create(pool, null);
    await create(pool, `round ${round}`);
    await Promise.all([1, 2, 3].map(() => create(pool, null)));
  }
  const plans = await pool.run<{ custom: number; generic: number }>(
    `select custom_plans::integer as custom, generic_plans::integer as generic from pg_prepared_statements
     where statement like '%tenant_id%'`,
    [],
  );
  await pool.close();
  expect(plans).toHaveLength(5);
  for (const { custom, generic } of plans) expect([custom, generic]).toEqual([0, expect.any(Number)]);
});

test("the sweep goes by its indexes, however many claims are over", async () => {
  await db.client.unsafe(`
    insert into idempotency_keys select '${tenantId}', 'key_swept', 'POST /x', i::text, ${ids("aud")}, sha256('x'), 201, null, '1', 'x',
      null, now() - interval '2 days' * (i % 4 = 0)::integer from generate_series(1, 40000) i;
    analyze idempotency_keys`);
  const plans: string[] = [];
  const explaining = {
    ...db,
    run: async (text: string) => {
      const rows = await db.client.unsafe(`explain ${text}`);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
      return [];
    },
  } as Db;
  expect(await sweepIdempotencyKeys(explaining)).toBe(0);
  expect(plans).toHaveLength(1);
  expect(plans[0]).not.toContain("Seq Scan");
  expect(plans[0]).toContain("idempotency_keys_created_at_index");
  expect(plans[0]).toContain("Tid Scan");
});

describe("the locks of a change", () => {
  test("come in the order of the records, and then the credential", async () => {
    const [plan = ""] = await plansOf(() =>
      revokeApiKey(db, target, { version: null }, { ...caller, version: 99 }, operatorOrigin()),
    );
    // Each step reads what the one before has locked, in a condition that is judged before its own first row.
    const steps = plan.split(/\n(?= +CTE )/).map((step) => step.trim().split("\n"));
    const conditionOf = (name: string): string =>
      steps.find(([head]) => head === `CTE ${name}`)?.find((line) => line.includes("One-Time Filter")) ?? "none";
    expect(conditionOf("target")).toContain("One-Time Filter");
    expect(conditionOf("newer")).toContain("One-Time Filter");
    expect(conditionOf("shown")).toContain("One-Time Filter");
  });
});
