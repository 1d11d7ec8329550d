/** One tenant in a real database beside its model. Each operation runs on both, and returns both responses. */

import { updateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { releaseSession, reportUsage, sweepSessions } from "@realtime-avatar/db/credits/usage-sessions";
import { openUsageSessions } from "@realtime-avatar/db/generated/functions";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type AvatarId, newId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import { seedMovement, sessionRequest } from "../credits.ts";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";
import { findTestCaller, operatorOrigin, seedKey, seedTenant } from "../seeds.ts";
import { CreditModel, type ModelOpened, type ModelRequest } from "./model.ts";

export type Compared<Answer> = { stored: Answer; expected: Answer };
const AVATARS = ["ready", "draft", "deleted"] as const;

/** A request: its caller (the position of the key), and its contents. */
export type SessionToOpen = Pick<ModelRequest, "avatar" | "maxSeconds" | "minSeconds" | "price" | "claim"> & {
  key: number;
  /** Whether it uses the first look-up, which may be outdated. */
  isOld: boolean;
};

export type NewKey = {
  /** The position of its parent; null for a root. */
  parent: number | null;
  environment: Environment;
  cap: number | null;
  /** Maximum number of open sessions; null without a limit. */
  maxSessions?: number | null;
  /** False for a key as an older version of the service created it. */
  isMetered: boolean;
};

export class CreditWorld {
  readonly model = new CreditModel();
  readonly records: ApiKeyRecord[] = [];
  readonly sessions: SessionId[] = [];
  readonly #first: Caller[] = [];
  readonly #callers: Caller[] = [];
  readonly #avatars = new Map<string, AvatarId>();

  private constructor(
    readonly db: TestDb,
    readonly tenantId: TenantId,
  ) {}

  /** Creates a tenant with keys and no credits. */
  static async create(db: TestDb, keys: readonly NewKey[]): Promise<CreditWorld> {
    const world = new CreditWorld(db, await seedTenant(db));
    await db.client`
      update credit_accounts set granted = 0 where tenant_id = ${world.tenantId}`;
    await db.client.begin(async (transaction) => {
      // The grant of a new tenant is not part of the history.
      await transaction`alter table credit_entries disable trigger credit_entries_append_only`;
      await transaction`delete from credit_entries where tenant_id = ${world.tenantId}`;
      await transaction`alter table credit_entries enable trigger credit_entries_append_only`;
    });
    for (const key of keys) await world.#addKey(key);
    for (const environment of ["live", "test"] as const) {
      for (const status of AVATARS) await world.#addAvatar(environment, status);
    }
    return world;
  }

  async #addKey({ parent, environment, cap, maxSessions = null, isMetered }: NewKey) {
    const above = parent === null ? undefined : this.records[parent];
    const limits = { spendLimitCreditMicros: cap, maxConcurrentSessions: maxSessions };
    const request = { environment, scopes: ["*"] as ["*"], ...limits };
    const { record, secret } = await seedKey(this.db, this.tenantId, request, above);
    const caller = await findTestCaller(this.db, secret.keyId);
    if (!isMetered) await this.db.client`delete from api_key_meters where api_key_id = ${record.id}`;
    this.records.push(record);
    this.#first.push(caller);
    this.#callers.push(caller);
    this.model.addKey(Object.assign({}, record, { cap, maxSessions }));
  }

  async #addAvatar(environment: Environment, status: (typeof AVATARS)[number]) {
    const id = newId("ava", new Date(), random);
    await this.db.client`
      insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
        metadata, version, created_at, updated_at)
      values (${this.tenantId}, ${id}, ${environment}, 'n', 'image', 'm', ${status}, 0, '{}', '{}', 1, now(), now())`;
    this.#avatars.set(`${environment} ${status}`, id);
  }

  caller(key: number, isOld = false): Caller {
    return (isOld ? this.#first : this.#callers)[key % this.records.length] as Caller;
  }

  avatarOf({ environment }: Caller, avatar: SessionToOpen["avatar"]): AvatarId | null {
    if (avatar === null) return null;
    // For "absent": an avatar of the other environment.
    const other = environment === "live" ? "test" : "live";
    return this.#avatars.get(avatar === "absent" ? `${other} ready` : `${environment} ${avatar}`) as AvatarId;
  }

  #ask({ key, isOld, ...request }: SessionToOpen): OpenRequest {
    return { ...request, world: this, caller: this.caller(key, isOld), id: newId("ses", new Date(), random) };
  }

  /** Opens sessions in one call of the function. `wait`: see lock_caller; for a batch of one. */
  async open(toOpen: readonly SessionToOpen[], wait = false): Promise<Compared<ModelOpened>[]> {
    const claimed = new Set<string>();
    const requests = toOpen
      .map((one) => this.#ask(one))
      .filter(({ caller, claim }) => {
        const name = `${caller.id} ${claim}`;
        // A batch has each claim once, as in `batchedWrite`.
        const isRepeated = claim !== null && claimed.has(name);
        claimed.add(name);
        return !isRepeated;
      });
    const rows = await openAll(this.db, requests, wait);
    return requests.map(({ caller, ...request }, at) => {
      const { kind, limitedBy, reserved, responseFields } = rows[at] ?? {};
      const held = Number(
        reserved ?? (responseFields as { reservedCreditMicros?: number } | null)?.reservedCreditMicros ?? 0,
      );
      const stored = { kind, ...(limitedBy ? { limitedBy } : {}), ...(held ? { reserved: held } : {}) } as ModelOpened;
      if (kind === "written") this.sessions.push(request.id);
      const expected = this.model.open({ ...request, caller: { keyId: caller.id, version: caller.version } });
      return { stored, expected };
    });
  }

  /** Opens a session for each of several tenants in one call, outside of their models. Returns the kind of each outcome. */
  static async openTogether(
    db: TestDb,
    all: readonly { world: CreditWorld; toOpen: SessionToOpen }[],
  ): Promise<(string | null)[]> {
    const requests = all.map(({ world, toOpen }) => world.#ask(toOpen));
    const rows = await openAll(db, requests, false);
    return rows.map(({ kind }) => kind);
  }

  session(at: number): SessionId {
    return this.sessions[at % Math.max(1, this.sessions.length)] ?? newId("ses", new Date(), random);
  }

  async report(id: SessionId, used: number, key: number): Promise<Compared<string>> {
    return (await this.reportTogether([{ id, used, key }]))[0] as Compared<string>;
  }

  /**
   * Sends concurrent reports, which share batches, in rounds (`roundsOf`). The model gets them one by one, in the same
   * order.
   */
  async reportTogether(reports: readonly { id: SessionId; used: number; key: number }[]): Promise<Compared<string>[]> {
    const compared: Compared<string>[] = [];
    for (const round of roundsOf(reports)) {
      const outcomes = await Promise.all(
        round.map(({ id, used, key }) => reportUsage(this.db, id, { used, leaseSeconds: 3600 }, this.caller(key))),
      );
      for (const [at, outcome] of outcomes.entries()) {
        const { id, used, key } = round[at] as (typeof round)[number];
        const caller = this.caller(key);
        const expected = this.model.report(id, used, { keyId: caller.id, version: caller.version });
        if (outcome.kind !== "written") {
          compared.push({ stored: outcome.kind, expected });
          continue;
        }
        const { mustEnd, usedCreditMicros, status } = outcome.session;
        const session = this.model.sessions.get(id);
        compared.push({
          stored: `${outcome.kind} ${mustEnd} ${usedCreditMicros} ${status}`,
          expected: `${expected} ${this.model.mustEnd(id)} ${session?.used} ${session?.status}`,
        });
      }
    }
    return compared;
  }

  async release(id: SessionId, isEngine: boolean, used: number | null, key: number): Promise<Compared<string>> {
    return (await this.releaseTogether([{ id, isEngine, used, key }]))[0] as Compared<string>;
  }

  /** Sends concurrent releases: see `reportTogether`. */
  async releaseTogether(
    releases: readonly { id: SessionId; isEngine: boolean; used: number | null; key: number }[],
  ): Promise<Compared<string>[]> {
    const compared: Compared<string>[] = [];
    for (const round of roundsOf(releases)) {
      const outcomes = await Promise.all(
        round.map(({ id, isEngine, used, key }) =>
          releaseSession(this.db, id, { isEngine, used, reason: null }, this.caller(key), operatorOrigin()),
        ),
      );
      for (const [at, outcome] of outcomes.entries()) {
        const { id, isEngine, used, key } = round[at] as (typeof round)[number];
        const caller = this.caller(key);
        const expected = this.model.release(id, { isEngine, used }, { keyId: caller.id, version: caller.version });
        if (!("session" in outcome)) {
          compared.push({ stored: outcome.kind, expected });
          continue;
        }
        const stored = outcome.session;
        const session = this.model.sessions.get(id);
        compared.push({
          stored: `${outcome.kind} ${stored.usedCreditMicros} ${stored.status} ${stored.mustEnd} ${stored.closedBy}`,
          expected: `${expected} ${session?.used} ${session?.status} ${this.model.isMarked(id)} ${session?.closedBy}`,
        });
      }
    }
    return compared;
  }

  /** Lets the lease of a session expire. */
  async expire(id: SessionId): Promise<void> {
    await this.db.client`
      update usage_sessions set expires_at = now() - interval '1 second'
      where tenant_id = ${this.tenantId} and id = ${id} and ended_at is null`;
    this.model.expire(id);
  }

  async sweep(): Promise<Compared<number>> {
    return { stored: await sweepSessions(this.db, this.tenantId, operatorOrigin()), expected: this.model.sweep() };
  }

  async move(
    kind: "grant" | "void" | "adjust",
    movement: { environment: Environment; amount: number; sessionId: SessionId | null; reference: string | null },
  ): Promise<Compared<string>> {
    const { kind: stored } = await seedMovement(this.db, this.tenantId, { kind, ...movement });
    return { stored, expected: this.model.move(kind, movement) };
  }

  /** Changes the maximum number of open sessions of a key; with null, of the tenant in live. */
  async setMaxSessions(at: number | null, maxSessions: number): Promise<void> {
    if (at === null) {
      await this.db.client`
        update credit_accounts set max_concurrent_sessions = ${maxSessions}
        where tenant_id = ${this.tenantId} and environment = 'live'`;
      this.model.accounts.live.maxSessions = maxSessions;
      return;
    }
    const { id } = this.records[at % this.records.length] as ApiKeyRecord;
    await this.db.client`
      update api_keys set max_concurrent_sessions = ${maxSessions} where tenant_id = ${this.tenantId} and id = ${id}`;
    this.model.key(id).maxSessions = maxSessions;
  }

  /** Changes the cap of a key, as an ancestor would. */
  async setCap(at: number, cap: number | null): Promise<void> {
    const record = this.records[at % this.records.length] as ApiKeyRecord;
    const key = this.model.key(record.id);
    if (key.isRevoked) return;
    const target = {
      ...record,
      version: key.version,
      spendLimitCreditMicros: cap,
      maxConcurrentSessions: key.maxSessions,
    };
    await this.#update(target, { ...target });
    key.cap = cap;
    key.version++;
    await this.#lookUp(at % this.records.length);
  }

  async #update(target: ApiKeyRecord, record: ApiKeyRecord): Promise<void> {
    const changed = await updateApiKey(this.db, { target, record, changedFields: [] }, null as never, operatorOrigin());
    if (changed.kind !== "written") throw new Error("the key was not changed");
  }

  async #lookUp(at: number): Promise<void> {
    this.#callers[at] = await findTestCaller(this.db, this.records[at]?.keyId ?? "");
  }

  async revoke(at: number): Promise<void> {
    const { id } = this.records[at % this.records.length] as ApiKeyRecord;
    await this.db.client`
      update api_keys set revoked_at = now(), version = version + 1 where tenant_id = ${this.tenantId} and id = ${id}`;
    const key = this.model.key(id);
    key.isRevoked = true;
    key.version++;
  }

  /** Every counter and every entry, as stored and as in the model. */
  async counters(): Promise<Compared<unknown>> {
    const { client } = this.db;
    const accounts = await client`
      select environment, granted::float8, forfeited::float8, settled::float8, reserved::float8,
        open_sessions::float8 as "openSessions", max_concurrent_sessions::float8 as "maxSessions"
      from credit_accounts
      where tenant_id = ${this.tenantId} order by environment`;
    const meters = await client`
      select id, coalesce(settled, 0)::float8 as settled, coalesce(reserved, 0)::float8 as reserved,
        coalesce(open_sessions, 0)::float8 as "openSessions"
      from api_keys left join api_key_meters on api_key_id = id and api_key_meters.tenant_id = api_keys.tenant_id
      where api_keys.tenant_id = ${this.tenantId} order by id`;
    const entries = await client<{ line: string }[]>`
      select concat_ws(' ', kind, environment, amount, session_id, reported_by, closed_by) as line from credit_entries where tenant_id = ${this.tenantId}`;
    const { accounts: of, keys, entries: expected } = this.model;
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    return {
      stored: [[...accounts], [...meters], entries.map(({ line }) => line).sort()],
      expected: [
        [
          { environment: "live", ...of.live },
          { environment: "test", ...of.test },
        ],
        [...keys.values()]
          .sort(byId)
          .map(({ id, settled, reserved, openSessions }) => ({ id, settled, reserved, openSessions })),
        expected
          .map(({ kind, environment, amount, sessionId, reportedBy, closedBy }) =>
            [kind, environment, amount, sessionId, reportedBy, closedBy].filter((part) => part !== null).join(" "),
          )
          .sort(),
      ],
    };
  }
}

/**
 * Changes of sessions in rounds, each with every session at most once. Two changes of a session that are sent at once
 * may be reordered, because a second batch is sent while the first one is slow.
 */
const roundsOf = <One extends { id: SessionId }>(changes: readonly One[]): One[][] => {
  const rounds: One[][] = [];
  for (const change of changes) {
    const round = rounds.find((others) => !others.some(({ id }) => id === change.id));
    if (round) round.push(change);
    else rounds.push([change]);
  }
  return rounds;
};

type OpenRequest = Omit<SessionToOpen, "key" | "isOld"> & { world: CreditWorld; caller: Caller; id: SessionId };
const openAll = (db: TestDb, requests: readonly OpenRequest[], wait: boolean) => {
  const callers = [...new Map(requests.map(({ caller }) => [`${caller.id} ${caller.version}`, caller])).values()];
  return openUsageSessions(db, {
    callers,
    callerAt: requests.map(({ caller }) => callers.indexOf(caller) + 1),
    requests: requests.map(({ world, caller, avatar, claim: _, ...request }) =>
      sessionRequest(caller, { ...request, avatarId: world.avatarOf(caller, avatar), startSeconds: 3600 }),
    ),
    calls: null,
    claims: requests.some(({ claim }) => claim !== null) ? requests.map(({ claim }) => claimOf(claim)) : null,
    wait,
  });
};

const claimOf = (key: string | null) =>
  key === null
    ? null
    : {
        ...{ request: "POST /api/v1/usage/sessions", idempotencyKey: key, bodyHash: new Uint8Array(32), status: 201 },
        ...{ location: null, etag: '"1"', responseBody: new Uint8Array(1), sealedFor: null },
      };
