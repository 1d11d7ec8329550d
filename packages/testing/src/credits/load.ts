/**
 * Random histories of credits by many clients at once, on the pools of several replicas. Run as a program, it continues
 * until it is killed: `load.ts <url> <tenants as JSON> <seed>`.
 */

import { revokeApiKey, rotateApiKey, updateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  openUsageSession,
  releaseSession,
  reportUsage,
  type SessionRequest,
  sweepSessions,
} from "@realtime-avatar/db/credits/usage-sessions";
import { openUsageSessions } from "@realtime-avatar/db/generated/functions";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { seedMovement, sessionRequest } from "../credits.ts";
import type { TestDb } from "../database.ts";
import { connectTo } from "../postgres/client.ts";
import { random } from "../random-bytes.ts";
import { findTestCaller, operatorOrigin, seedKey, seedTenant } from "../seeds.ts";
import { seedEndpoint } from "../webhooks/events.ts";
import { lastNumber, type Refusal, type Trace } from "./trace.ts";

/** A tenant, and the public handles of its keys. */
export type LoadedTenant = { tenantId: TenantId; keyIds: string[] };

const MICROS = 1000;
/**
 * For each key: the position of its parent, its environment and its cap. The tree has test keys below live ones, and
 * depth 8.
 */
const TREE: readonly [number | null, Environment, number | null][] = [
  [null, "live", 9_000 * MICROS],
  [0, "live", 5_000 * MICROS],
  [0, "test", 3_000 * MICROS],
  [1, "live", null],
  [3, "live", 4_000 * MICROS],
  [4, "live", null],
  [5, "live", 3_000 * MICROS],
  [6, "live", 2_000 * MICROS],
  [7, "live", 1_500 * MICROS],
  [2, "test", 2_000 * MICROS],
  [null, "test", null],
];

/** Creates tenants with a tree of keys and some credits. Their grants are small enough to run out. */
export const seedLoad = async (db: TestDb, count: number): Promise<LoadedTenant[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const tenantId = await seedTenant(db);
      const records: Awaited<ReturnType<typeof seedKey>>["record"][] = [];
      for (const [parent, environment, cap] of TREE) {
        const request = { environment, scopes: ["*"] as ["*"], spendLimitCreditMicros: cap };
        const above = parent === null ? undefined : records[parent];
        records.push((await seedKey(db, tenantId, request, above)).record);
      }
      for (const environment of ["live", "test"] as const)
        await seedMovement(db, tenantId, { environment, amount: 3000 * MICROS });
      // Every second tenant has a webhook endpoint, so that the locks of events are tested too.
      if (at % 2 === 0)
        for (const environment of ["live", "test"] as const) await seedEndpoint(db, tenantId, { environment });
      return { tenantId, keyIds: records.map(({ keyId }) => keyId) };
    }),
  );

/** Uniform numbers below 1 from a seed (mulberry32). */
export const seededNumbers = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};

type Session = { id: SessionId; tenantId: TenantId; environment: Environment };
/** The shared state of the clients of one load. */
export type Load = {
  tenants: readonly LoadedTenant[];
  trace: Trace | null;
  sessions: Session[];
  refusals: Refusal[];
  /** The sessions that were requested with one claim. */
  claims: Map<string, SessionId[]>;
  operations: number;
  outcomes: Map<string, number>;
  /** The codes of failures. */
  failures: Map<string, number>;
};
export const newLoad = (tenants: readonly LoadedTenant[], trace: Trace | null): Load => ({
  ...{ tenants, trace, sessions: [], refusals: [], claims: new Map(), operations: 0 },
  ...{ outcomes: new Map(), failures: new Map() },
});

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

/** One client. It runs operations on `db` until `isOver`. */
export class LoadClient {
  readonly #callers = new Map<string, Caller>();
  readonly #number: () => number;

  constructor(
    readonly db: Db,
    readonly load: Load,
    seed: number,
  ) {
    this.#number = seededNumbers(seed);
  }

  #below(limit: number): number {
    return Math.floor(this.#number() * limit);
  }
  #one<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)] as Item;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.load.operations++;
      try {
        await this.#operate();
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === undefined) throw error;
        count(this.load.failures, code);
      }
    }
  }

  /** The last look-up of a caller, mostly of a valid caller. */
  async #caller(isFresh = false, keyId = this.#one(this.#one(this.load.tenants).keyIds)): Promise<Caller> {
    const known = this.#callers.get(keyId);
    if (known && known.status !== "active" && this.#number() < 0.9) return this.#caller();
    if (known && !isFresh) return known;
    const caller = await findTestCaller(this.db, keyId);
    this.#callers.set(keyId, caller);
    return caller;
  }

  #operate(): Promise<unknown> {
    const kind = this.#number();
    if (kind < 0.5) return this.#open();
    if (kind < 0.58) return this.#openBatch();
    if (kind < 0.7) return this.#report();
    if (kind < 0.9) return this.#release();
    if (kind < 0.93) return this.#expire();
    if (kind < 0.95)
      return sweepSessions(
        this.db,
        this.#number() < 0.5 ? null : this.#one(this.load.tenants).tenantId,
        operatorOrigin(),
      );
    if (kind < 0.975) return this.#move();
    if (kind < 0.99) return this.#setCap();
    return this.#number() < 0.5 ? this.#rotate() : this.#revoke();
  }

  #request(caller: Caller): SessionRequest {
    const maxSeconds = 1 + this.#below(40);
    const minSeconds = 1 + this.#below(maxSeconds);
    return sessionRequest(caller, { maxSeconds, minSeconds, price: MICROS, startSeconds: 3600 });
  }

  #claimFor({ id }: Caller, session: SessionId): Claim | null {
    if (this.#number() < 0.7) return null;
    const idempotencyKey = `${this.#below(200)}`;
    const name = `${id} ${idempotencyKey}`;
    this.load.claims.set(name, [...(this.load.claims.get(name) ?? []), session]);
    const response = { location: session, etag: "1", responseBody: new Uint8Array(1), sealedFor: null };
    return {
      request: "POST /api/v1/usage/sessions",
      idempotencyKey,
      bodyHash: new Uint8Array(32),
      status: 201,
      ...response,
    };
  }

  #note(request: SessionRequest, caller: Caller, kind: string, limitedBy?: unknown): void {
    count(this.load.outcomes, limitedBy ? `${kind} ${limitedBy}` : kind);
    if (kind === "written") {
      this.load.sessions.push({ id: request.id, tenantId: caller.tenantId, environment: caller.environment });
    }
    if (kind === "stale") this.#forget(caller);
  }

  /** The next operation looks up the caller again. A revoked caller keeps its last look-up. */
  #forget({ credentialKeyId, status }: Caller): void {
    if (status === "active") this.#callers.delete(credentialKeyId);
  }

  async #open(): Promise<void> {
    const caller = await this.#caller();
    const request = this.#request(caller);
    const claim = this.#claimFor(caller, request.id);
    const { trace } = this.load;
    const from = trace && this.#number() < 0.2 ? await lastNumber(trace) : null;
    const outcome = await openUsageSession(this.db, request, caller, claim);
    const { kind } = outcome;
    this.#note(request, caller, kind, "limitedBy" in outcome && outcome.limitedBy);
    if (trace && from !== null && (kind === "spend_limit_exceeded" || kind === "insufficient_credits")) {
      const to = await lastNumber(trace);
      const account = `${caller.tenantId} ${caller.environment}`;
      this.load.refusals.push({
        account,
        keyId: caller.id,
        kind,
        amount: request.minSeconds * request.price,
        from,
        to,
      });
    }
  }

  /** Callers of several tenants and of both environments in one call. */
  async #openBatch(): Promise<void> {
    const wanted: { caller: Caller; request: SessionRequest }[] = [];
    for (let at = this.#below(24); at >= 0; at--) {
      const caller = await this.#caller();
      wanted.push({ caller, request: this.#request(caller) });
    }
    const callers = [...new Set(wanted.map(({ caller }) => caller))];
    const rows = await openUsageSessions(this.db, {
      callers,
      callerAt: wanted.map(({ caller }) => callers.indexOf(caller) + 1),
      requests: wanted.map(({ request }) => request),
      calls: null,
      claims: null,
      wait: false,
    });
    for (const [at, { caller, request }] of wanted.entries()) {
      this.#note(request, caller, String(rows[at]?.kind), rows[at]?.limitedBy);
    }
  }

  /** A session, mostly a new one, and a caller of its tenant and environment. */
  async #sessionAndCaller() {
    const { sessions, tenants } = this.load;
    const session = sessions[Math.max(0, sessions.length - 1 - this.#below(this.#one([8, 300])))];
    const tenant = tenants.find(({ tenantId }) => tenantId === session?.tenantId);
    // The last two keys of the tree are never revoked.
    const caller =
      tenant &&
      (await this.#caller(
        false,
        this.#number() < 0.7 ? tenant.keyIds[session?.environment === "live" ? 0 : 10] : this.#one(tenant.keyIds),
      ));
    return session && caller ? { session, caller } : null;
  }

  async #report(): Promise<void> {
    const both = await this.#sessionAndCaller();
    if (!both) return;
    const usage = { used: this.#below(50 * MICROS), leaseSeconds: 3600 };
    const { kind } = await reportUsage(this.db, both.session.id, usage, both.caller);
    if (kind === "stale") this.#forget(both.caller);
    count(this.load.outcomes, `report ${kind}`);
  }

  async #release(): Promise<void> {
    const both = await this.#sessionAndCaller();
    if (!both) return;
    const used = this.#number() < 0.5 ? null : this.#below(50 * MICROS);
    const release = { isEngine: this.#number() < 0.7, used, reason: null };
    const { kind } = await releaseSession(this.db, both.session.id, release, both.caller, operatorOrigin());
    if (kind === "stale") this.#forget(both.caller);
    count(this.load.outcomes, `release ${kind}`);
  }

  /** Lets the lease of a session expire. */
  async #expire(): Promise<void> {
    const session = this.load.sessions[Math.max(0, this.load.sessions.length - 1 - this.#below(this.#one([8, 300])))];
    if (!session) return;
    await this.db.run(
      "update usage_sessions set expires_at = now() - interval '1 second' where tenant_id = $1 and id = $2 and ended_at is null",
      [session.tenantId, session.id],
    );
  }

  async #move(): Promise<void> {
    const { tenantId } = this.#one(this.load.tenants);
    const environment = this.#one(["live", "test"] as const);
    const session = this.#one(this.load.sessions);
    const kind = this.#one(["grant", "grant", "void", "adjust", "adjust"] as const);
    const of = kind === "adjust" && session ? session : { id: null, tenantId, environment };
    const amount = this.#below({ grant: 600, void: 60, adjust: 6 }[kind] * MICROS);
    const movement = { kind, environment: of.environment, amount, sessionId: of.id };
    const { kind: outcome } = await seedMovement(this.db, of.tenantId, movement);
    count(this.load.outcomes, `${kind} ${outcome}`);
  }

  async #setCap(): Promise<void> {
    const target = await this.#caller(true);
    if (target.status !== "active") return;
    const cap = this.#number() < 0.2 ? null : this.#below(12_000 * MICROS);
    const change = { target, record: { ...target, spendLimitCreditMicros: cap }, changedFields: [] };
    const root = await this.#caller(
      false,
      this.load.tenants.find(({ tenantId }) => tenantId === target.tenantId)?.keyIds[0],
    );
    count(this.load.outcomes, `cap ${(await updateApiKey(this.db, change, root, operatorOrigin())).kind}`);
    this.#forget(root);
  }

  async #rotate(): Promise<void> {
    const target = await this.#caller(true);
    if (target.status !== "active") return;
    const secret = generateApiKey(target.environment, random);
    const rotation = { target, record: { ...target, keyId: secret.keyId }, secret, overlapSeconds: 3600 };
    count(this.load.outcomes, `rotate ${(await rotateApiKey(this.db, rotation, target, operatorOrigin())).kind}`);
  }

  /** Revokes a key deep in the tree. */
  async #revoke(): Promise<void> {
    const target = await this.#caller(true, this.#one(this.load.tenants).keyIds[this.#one([8, 9])]);
    if (this.#number() < 0.9) return;
    const by = await this.#caller(
      true,
      this.load.tenants.find(({ tenantId }) => tenantId === target.tenantId)?.keyIds[0],
    );
    const { kind } = await revokeApiKey(this.db, target, { version: null }, by, operatorOrigin());
    count(this.load.outcomes, `revoke ${kind}`);
  }
}

if (import.meta.main) {
  const [url = "", tenants = "[]", seed = "0"] = process.argv.slice(2);
  const load = newLoad(JSON.parse(tenants), null);
  const db = connectTo({ url }, { connections: 4 });
  process.stdout.write("running\n");
  await Promise.all(
    Array.from({ length: 16 }, (_, at) => new LoadClient(db, load, Number(seed) + at).run(() => false)),
  );
}
