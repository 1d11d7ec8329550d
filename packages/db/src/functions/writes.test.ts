/** The functions under waits, hostile input and hostile neighbours. The calls are those of the service. */
import { describe, expect, test } from "bun:test";
import { digestApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { session } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileExpiring, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import {
  findTestCaller,
  issuedBy,
  newClaim,
  operatorOrigin,
  plannedAvatar,
  seedKey,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import {
  createApiKeys,
  createAvatars,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
  updateAvatar,
} from "../../generated/functions.ts";
import { auditEvent } from "../audit/audit-events.ts";
import { avatarRow } from "../avatars/record.ts";
import { type Caller, findCredential } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import { FUNCTIONS_SCHEMA } from "./schema.ts";

const database = await serviceDatabase();

const newCaller = async (parent?: Caller): Promise<Caller> => {
  const tenantId = parent?.tenantId ?? (await seedTenant(database.db));
  return (await seedCaller(database.db, tenantId, { scopes: ["*"] }, parent)).caller;
};

const ROUNDS = 20;

type AvatarToCreate = { caller: Caller; key?: string };

/** Creates avatars in one call, and returns the outcome of each with its id. */
const create = async (db: Runner, creates: readonly AvatarToCreate[], wait = false) => {
  const avatars = creates.map(({ caller }) => plannedAvatar(caller));
  const callers = [...new Set(creates.map(({ caller }) => caller))];
  const claims = creates.map(({ key }, at) =>
    key === undefined ? null : { ...newClaim(key), location: avatars[at]?.id ?? null },
  );
  const rows = await createAvatars(db, {
    callers,
    callerAt: creates.map(({ caller }) => callers.indexOf(caller) + 1),
    avatars: avatars.map(avatarRow),
    jobs: null,
    auditEvents: avatars.map((avatar) => auditEvent("avatar.created", avatar, operatorOrigin())),
    claims: claims.some((claim) => claim !== null) ? claims : null,
    wait,
  });
  return rows.map(({ kind, location }, at) => ({ kind, location, id: avatars[at]?.id ?? "" }));
};
const kinds = (outcomes: readonly { kind: string | null }[]) => outcomes.map(({ kind }) => kind);

/** The number of rows of a tenant in each table that a create writes. */
const counts = async ({ tenantId }: Caller) => {
  const [row] = await database.db.client<{ avatars: number; events: number; claims: number }[]>`
    select (select count(*)::integer from avatars where tenant_id = ${tenantId}) as avatars,
      (select count(*)::integer from audit_events where tenant_id = ${tenantId} and action = 'avatar.created') as events,
      (select count(*)::integer from idempotency_claims where tenant_id = ${tenantId}) as claims`;
  return { ...row };
};

const whileWaiting = <Result>(
  before: (holder: Runner) => Promise<unknown>,
  work: () => Promise<Result>,
  end: "commit" | "rollback",
  during?: () => Promise<unknown>,
): Promise<Result> => whileHeld(database, before, work, during, end);

const whileCallerExpires = <Result>(
  { id }: Caller,
  before: (holder: Runner) => Promise<unknown>,
  work: () => Promise<Result>,
  end: "commit" | "rollback",
): Promise<Result> =>
  whileExpiring(
    database,
    (at) => database.db.client.unsafe(`update api_keys set expires_at = ${at} where id = '${id}'`),
    before,
    work,
    end,
  );

describe("a claim that another request holds", () => {
  test("a held claim that is rolled back: the waiting request takes it", async () => {
    const caller = await newCaller();
    const outcomes = await whileWaiting(
      (holder) => create(holder, [{ caller, key: "a" }]),
      () => create(database.db, [{ caller, key: "a" }, { caller }]),
      "rollback",
    );
    expect(kinds(outcomes)).toEqual(["written", "written"]);
    expect(await counts(caller)).toEqual({ avatars: 2, events: 2, claims: 1 });
  });

  test("a held claim that is committed: replayed to the waiting request; the other writes of its batch are written", async () => {
    const caller = await newCaller();
    let first: Awaited<ReturnType<typeof create>> = [];
    const outcomes = await whileWaiting(
      async (holder) => {
        first = await create(holder, [{ caller, key: "b" }]);
      },
      () => create(database.db, [{ caller }, { caller, key: "c" }, { caller, key: "b" }, { caller, key: "a" }]),
      "commit",
    );
    expect(kinds(outcomes)).toEqual(["written", "written", "replayed", "written"]);
    expect(outcomes[2]?.location).toBe(first[0]?.id as string);
    expect(await counts(caller)).toEqual({ avatars: 4, events: 4, claims: 3 });
  });

  test("a request whose caller expires while it waits for a claim: takes no claim, writes nothing", async () => {
    const caller = await newCaller();
    let other = caller;
    const outcomes = await whileCallerExpires(
      caller,
      (holder) => create(holder, [{ caller, key: "a" }]),
      async () => {
        other = await newCaller();
        return create(database.db, [{ caller, key: "a" }, { caller: other, key: "a" }, { caller }]);
      },
      "rollback",
    );
    expect(kinds(outcomes)).toEqual(["stale", "written", "stale"]);
    expect(await counts(caller)).toEqual({ avatars: 0, events: 0, claims: 0 });
    expect(await counts(other)).toEqual({ avatars: 1, events: 1, claims: 1 });
  });

  test("a claim that is a day old, with eight concurrent requests: one request replaces it", async () => {
    const caller = await newCaller();
    await create(database.db, [{ caller, key: "a" }]);
    await database.db.client`update idempotency_claims set created_at = now() - interval '24 hours'`;
    const all = await Promise.all(Array.from({ length: 8 }, () => create(database.db, [{ caller, key: "a" }])));
    expect(kinds(all.flat()).toSorted()).toEqual([...Array(7).fill("replayed"), "written"]);
    expect(await counts(caller)).toEqual({ avatars: 2, events: 2, claims: 1 });
  });
});

test("two batches that claim the same keys in opposite orders: no deadlock, each key once", async () => {
  const [one, two] = [await newCaller(), await newCaller()];
  for (let round = 0; round < ROUNDS; round++) {
    const creates = Array.from(
      { length: 64 },
      (_, at): AvatarToCreate => ({ caller: at % 2 ? one : two, key: `${round} ${at}` }),
    );
    await Promise.all([create(database.db, creates), create(database.db, creates.toReversed())]);
  }
  expect(await counts(one)).toEqual({ avatars: 32 * ROUNDS, events: 32 * ROUNDS, claims: 32 * ROUNDS });
  expect(await counts(two)).toEqual({ avatars: 32 * ROUNDS, events: 32 * ROUNDS, claims: 32 * ROUNDS });
});

describe("the caller of a write", () => {
  test("a caller with two versions in one batch: stale with the older one", async () => {
    const before = await newCaller();
    await database.db.client`update api_keys set version = version + 1 where id = ${before.id}`;
    const after = await findTestCaller(database.db, before.credentialKeyId);
    const outcomes = await create(database.db, [{ caller: before }, { caller: after }, { caller: before }]);
    expect(kinds(outcomes)).toEqual(["stale", "written", "stale"]);
    expect(await counts(after)).toEqual({ avatars: 1, events: 1, claims: 0 });
  });

  test("a caller that expires while its change waits for the avatar: nothing is changed", async () => {
    const caller = await newCaller();
    const [{ id = "" } = {}] = await create(database.db, [{ caller }]);
    const update = async (displayName: string, db: Runner = database.db) => {
      const [row] = await updateAvatar(db, {
        caller,
        environment: "live",
        id,
        change: {
          ...{ modelId: null, sourceAssetId: null, defaultVoiceId: null, settings: null, metadata: null, status: null },
          fields: ["displayName"],
          displayName,
        },
        versions: null,
        statuses: ["draft"],
        rules: null,
        jobId: null,
        auditEvent: auditEvent("avatar.updated", { ...caller, id }, operatorOrigin()),
      });
      return row?.kind;
    };
    const kind = await whileCallerExpires(
      caller,
      (holder) => update("first", holder),
      () => update("second"),
      "commit",
    );
    expect(kind).toBe("stale");
    const [row] = await database.db.client`select display_name as name, version from avatars where id = ${id}`;
    expect({ ...row }).toEqual({ name: "first", version: 2 });
  });

  test("a caller that expires while its rotation waits for credentials: nothing is rotated", async () => {
    const caller = await newCaller();
    const target = await newCaller(caller);
    const [row] = await whileCallerExpires(
      caller,
      (holder) => holder.run("update api_key_credentials set is_unused = false where key_id = $1", [target.keyId]),
      () =>
        rotateApiKey(database.db, {
          ...{ caller, target, keyId: "abcdefghijklmnop", digest: new Uint8Array(32), overlapSeconds: 0, claim: null },
          auditEvent: auditEvent("api_key.rotated", target, operatorOrigin()),
        }),
      "commit",
    );
    expect(row?.kind).toBe("stale");
    expect(await findCredential(database.db, "abcdefghijklmnop")).toBeNull();
  });

  test.each(["tenantId", "id", "version", "credentialKeyId", "lineage"] as const)(
    "a caller without %s: not valid, and not treated as the operator",
    async (field) => {
      const parent = await newCaller();
      const whole = await newCaller(parent);
      // A revocation of the parent is found by the lineage.
      await database.db.client`update api_keys set revoked_at = now() where id = ${parent.id}`;
      const target = await newCaller();
      const caller = { ...whole, [field]: null } as never;
      const unrevoked = { ...(await newCaller()), [field]: null } as never;
      for (const one of [caller, unrevoked]) {
        expect(kinds(await create(database.db, [{ caller: one }], true).catch(() => [{ kind: "stale" }]))).toEqual([
          "stale",
        ]);
        const event = auditEvent("api_key.revoked", target, operatorOrigin());
        expect(
          await revokeApiKey(database.db, { caller: one, reporterKeyId: null, target, auditEvent: event }),
        ).toEqual([]);
        expect(await updateApiKey(database.db, { caller: one, target, apiKey: target, auditEvent: event })).toEqual([
          { result: false },
        ]);
        const rotation = {
          caller: one,
          target,
          keyId: "abcdefghijklmnop",
          digest: new Uint8Array(32),
          overlapSeconds: 0,
        };
        const [rotated] = await rotateApiKey(database.db, { ...rotation, auditEvent: event, claim: null });
        expect(rotated?.kind).toBe("stale");
      }
      expect((await findTestCaller(database.db, target.credentialKeyId)).version).toBe(target.version);
    },
  );
});

test("a secret that is reported for another key: revokes nothing", async () => {
  const [reporter, target] = [await newCaller(), await newCaller()];
  const event = auditEvent("api_key.reported_leaked", target, operatorOrigin());
  const revoke = (reporterKeyId: string) =>
    revokeApiKey(database.db, { caller: null, reporterKeyId, target, auditEvent: event });
  expect(await revoke(reporter.credentialKeyId)).toEqual([]);
  expect(await revoke("0000000000000000")).toEqual([]);
  expect(await revoke(target.credentialKeyId)).toHaveLength(1);
});

test("a quota, in a batch of several tenants: counted separately for each", async () => {
  const [full, free, gone] = [await newCaller(), await newCaller(), await newCaller()];
  await seedKey(database.db, full.tenantId);
  await database.db.client`update api_keys set revoked_at = now() where id = ${gone.id}`;
  const callers = [full, free, gone];
  const at = [1, 2, 3, 2];
  const issued = at.map((position) => issuedBy(callers[position - 1] as Caller, { scopes: ["*"] }));
  const rows = await createApiKeys(database.db, {
    callers,
    callerAt: at,
    apiKeys: issued.map(({ record }) => record),
    digests: issued.map(({ secret }) => digestApiKey(secret)),
    auditEvents: issued.map(({ record }) => auditEvent("api_key.created", record, operatorOrigin())),
    claims: null,
    maxActiveKeys: 2,
    wait: false,
  });
  expect(kinds(rows)).toEqual(["over_quota", "written", "stale", "written"]);
});

test.each([
  ["null accepts every version", null, "written"],
  ["an empty list accepts no version", [], "unchanged"],
  ["a list accepts its versions", ["7", "1"], "written"],
  ["text that is not a version accepts no version", ["one"], "unchanged"],
] as const)("the accepted versions of a change of an avatar: %s", async (_, versions, kind) => {
  const caller = await newCaller();
  const [{ id = "" } = {}] = await create(database.db, [{ caller }]);
  const [row] = await updateAvatar(database.db, {
    caller,
    environment: "live",
    id,
    change: {
      ...{ modelId: null, sourceAssetId: null, defaultVoiceId: null, settings: null, metadata: null, status: null },
      fields: ["displayName"],
      displayName: "x",
    },
    versions,
    statuses: ["draft"],
    rules: null,
    jobId: null,
    auditEvent: auditEvent("avatar.updated", { ...caller, id }, operatorOrigin()),
  });
  expect(row?.kind).toBe(kind);
});

describe("the names in the functions", () => {
  test("names without a search path: found", async () => {
    const caller = await newCaller();
    const db = session(database.url);
    await db.client`set search_path = ''`;
    expect(kinds(await create(db, [{ caller, key: "a" }, { caller }]))).toEqual(["written", "written"]);
    await db.close();
  });

  test("temporary tables with the same names, first in the search path: do not divert a write", async () => {
    const caller = await newCaller();
    const db = session(database.url);
    for (const table of ["avatars", "api_keys", "api_key_credentials", "audit_events", "idempotency_claims"]) {
      await db.client.unsafe(`create temporary table ${table} ()`);
    }
    expect(kinds(await create(db, [{ caller, key: "a" }]))).toEqual(["written"]);
    await db.close();
    expect(await counts(caller)).toEqual({ avatars: 1, events: 1, claims: 1 });
  });

  test("the names of claims, in every locale: sorted like their primary key", async () => {
    const rows = await database.db.client<{ name: string }[]>`
      select attribute.attname as name from pg_attribute attribute join pg_class type on type.oid = attrelid
      join pg_collation on pg_collation.oid = attcollation
      where relnamespace = to_regnamespace(${FUNCTIONS_SCHEMA}) and collname = 'C'
        and (relname, attribute.attname) in (('caller', 'tenant_id'), ('caller', 'id'), ('claim', 'request'), ('claim', 'idempotency_key'))`;
    expect(rows).toHaveLength(4);
  });
});
