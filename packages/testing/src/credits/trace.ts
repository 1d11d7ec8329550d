/**
 * The order of the movements of credits, and the invariants at each moment. A sequence numbers each entry and each
 * change of a cap. An entry gets its number while its account is locked until the commit, and a cap while its key is
 * locked. So the numbers of one account, and those of a key and of the holds that it limits, are in the order of the
 * commits.
 */
import type { EntryKind } from "@realtime-avatar/domain/credits/entry";
import type postgres from "postgres";
import type { TestDatabase, TestDb } from "../database.ts";
import { client } from "../postgres/client.ts";

/** Where the numbers are stored: on the server of the tables. `db`: the tables. */
export type Trace = { db: TestDb; own: postgres.Sql };

/** Settings by which a session reads and changes the parts of a shard on its node, without other nodes. */
const ON_NODE = `set citus.enable_ddl_propagation = off; set citus.enable_manual_changes_to_shards = on;
  set citus.override_table_visibility = off;`;

/** Adds the numbers to a database of a test. The caller ends `own`. */
export const installTrace = async ({ db, url, shard }: TestDatabase): Promise<Trace> => {
  const own = client(shard?.node ?? url);
  const tables: Record<string, string> = {};
  for (const table of ["credit_entries", "api_keys"]) {
    const [part] = shard
      ? await own<{ name: string }[]>`
          select ${table} || '_' || shardid as name from pg_dist_shard where logicalrelid = ${table}::regclass`
      : [];
    tables[table] = part?.name ?? table;
  }
  // The schemas of shards of one node are side by side in its database.
  const schema = `trace_${shard?.number ?? ""}`;
  await own.unsafe(`
    ${shard ? ON_NODE : ""}
    create schema ${schema};
    create sequence ${schema}.numbers;
    create table ${schema}.entries (seq bigint, tenant_id text, id text);
    create table ${schema}.key_changes (seq bigint, tenant_id text, api_key_id text, cap bigint, is_revoked boolean);
    create function ${schema}.trace_entry() returns trigger language plpgsql as $$
    begin
      insert into ${schema}.entries values (nextval('${schema}.numbers'), new.tenant_id, new.id);
      return null;
    end $$;
    create function ${schema}.trace_key() returns trigger language plpgsql as $$
    begin
      insert into ${schema}.key_changes values (nextval('${schema}.numbers'), new.tenant_id, new.id,
        new.spend_limit_credit_micros, new.revoked_at is not null);
      return null;
    end $$;
    create trigger trace_entry after insert on ${tables["credit_entries"]} for each row execute function ${schema}.trace_entry();
    create trigger trace_key after insert or update on ${tables["api_keys"]} for each row execute function ${schema}.trace_key();
    set search_path = ${schema}`);
  return { db, own };
};

/** The last number. */
export const lastNumber = async ({ own }: Trace): Promise<number> => {
  const [row] = await own<{ last: string }[]>`select last_value as last from numbers`;
  return Number(row?.last);
};

/** A refused request, and the last numbers before and after it. */
export type Refusal = {
  account: string;
  /** The key of the caller. */
  keyId: string;
  kind: "spend_limit_exceeded" | "insufficient_credits";
  /** The minimum hold of the request, in credit micros. */
  amount: number;
  from: number;
  to: number;
};

type Movement = {
  seq: number;
  kind: EntryKind;
  account: string;
  amount: number;
  /** The keys to which the session is charged. */
  charged: string[];
  /** The key and all its ancestors. */
  lineage: string[];
};
type Change = { seq: number; keyId: string; cap: number | null; isRevoked: boolean };
type Counters = { settled: number; reserved: number };

/** The violations, in the order of the numbers, in credit micros. */
export type Findings = {
  movements: number;
  /** Credit micros over a cap, or over the balance, at an admission. */
  over: number;
  /** Holds of a key that was revoked, or of its descendants. */
  ofRevoked: number;
  refusals: number;
  /** Refusals that no state during the request explains. */
  unexplained: Refusal[];
};

const numbers = <Row extends { seq: string }>(rows: readonly Row[]) =>
  rows.map((row) => ({ ...row, seq: Number(row.seq) }));

const readEvents = async ({ db, own }: Trace, tenantIds: readonly string[]): Promise<(Movement | Change)[]> => {
  const entries = await own<{ seq: string; id: string }[]>`
    select seq, id from entries where tenant_id = any(${tenantIds as string[]})`;
  const numberOf = new Map(entries.map(({ seq, id }) => [id, seq]));
  const movements = await db.client<(Omit<Movement, "seq" | "amount"> & { id: string; amount: string })[]>`
    select entry.id, kind, entry.tenant_id || ' ' || entry.environment as account, amount,
      coalesce(session.lineage, '{}') as charged, coalesce(key.lineage || key.id, '{}') as lineage
    from credit_entries entry
    left join usage_sessions session on session.tenant_id = entry.tenant_id and session.id = entry.session_id
    left join api_keys key on key.tenant_id = entry.tenant_id and key.id = session.api_key_id
    where entry.tenant_id = any(${tenantIds as string[]})`;
  const changes = await own<(Omit<Change, "seq" | "cap"> & { seq: string; cap: string | null })[]>`
    select seq, api_key_id as "keyId", cap, is_revoked as "isRevoked" from key_changes
    where tenant_id = any(${tenantIds as string[]})`;
  return [
    ...movements.map((row) => ({ ...row, seq: Number(numberOf.get(row.id)), amount: Number(row.amount) })),
    ...numbers(changes).map((row) => ({ ...row, cap: row.cap === null ? null : Number(row.cap) })),
  ].sort((one, other) => one.seq - other.seq);
};

const counters = (): Counters => ({ settled: 0, reserved: 0 });

class Replay {
  readonly #accounts = new Map<string, Counters & { granted: number; forfeited: number }>();
  readonly #meters = new Map<string, Counters>();
  readonly #keys = new Map<string, Change>();
  over = 0;
  ofRevoked = 0;

  #account(name: string) {
    const known = this.#accounts.get(name) ?? { ...counters(), granted: 0, forfeited: 0 };
    this.#accounts.set(name, known);
    return known;
  }
  #meter(id: string): Counters {
    const known = this.#meters.get(id) ?? counters();
    this.#meters.set(id, known);
    return known;
  }
  #available(name: string): number {
    const { granted, forfeited, settled, reserved } = this.#account(name);
    return granted - forfeited - settled - reserved;
  }
  /** The remaining amount under the cap of a key. */
  #left(id: string): number {
    const cap = this.#keys.get(id)?.cap ?? null;
    const { settled, reserved } = this.#meter(id);
    return cap === null ? Number.POSITIVE_INFINITY : cap - settled - reserved;
  }

  apply(event: Movement | Change): void {
    if (!("kind" in event)) {
      this.#keys.set(event.keyId, event);
      return;
    }
    const { kind, account, amount, charged, lineage } = event;
    const all = [this.#account(account), ...charged.map((id) => this.#meter(id))];
    if (kind === "grant") this.#account(account).granted += amount;
    if (kind === "void") this.#account(account).forfeited += amount;
    for (const one of all) {
      if (kind === "hold") one.reserved += amount;
      if (kind === "settle" || kind === "release" || kind === "expire") one.reserved -= amount;
      if (kind === "settle") one.settled += amount;
      if (kind === "adjust") one.settled -= amount;
    }
    this.over += Math.max(0, -this.#available(account));
    if (kind !== "hold") return;
    for (const id of charged) this.over += Math.max(0, -this.#left(id));
    if (lineage.some((id) => this.#keys.get(id)?.isRevoked)) this.ofRevoked++;
  }

  explains({ kind, account, keyId, amount }: Refusal, charged: ReadonlyMap<string, readonly string[]>): boolean {
    if (kind === "insufficient_credits") return this.#available(account) < amount;
    return (charged.get(keyId) ?? []).some((id) => this.#left(id) < amount);
  }
}

/** Replays the history of these tenants. */
export const replayTrace = async (
  trace: Trace,
  tenantIds: readonly string[],
  refusals: readonly Refusal[] = [],
): Promise<Findings> => {
  const lines = await trace.db.client<{ id: string; charged: string[] }[]>`
    select own.id, array_agg(charged.id) as charged from api_keys own
    join api_keys charged on charged.tenant_id = own.tenant_id and charged.environment = own.environment
      and charged.id = any (own.lineage || own.id)
    where own.tenant_id = any(${tenantIds as string[]}) group by 1`;
  const charged = new Map(lines.map(({ id, charged }) => [id, charged]));
  const events = await readEvents(trace, tenantIds);
  const waiting = refusals.toSorted((one, other) => one.from - other.from);
  let open: Refusal[] = [];
  const unexplained: Refusal[] = [];
  const replay = new Replay();
  /** The state lasts from the number of its last event to the number before `end`. */
  const checkCapsUntil = (end: number): void => {
    while (waiting[0] && waiting[0].from < end) open.push(waiting.shift() as Refusal);
    open = open.filter((refusal) => {
      if (replay.explains(refusal, charged)) return false;
      if (refusal.to >= end) return true;
      unexplained.push(refusal);
      return false;
    });
  };
  for (const event of events) {
    checkCapsUntil(event.seq);
    replay.apply(event);
  }
  checkCapsUntil(Number.POSITIVE_INFINITY);
  const { over, ofRevoked } = replay;
  return { movements: events.length, over, ofRevoked, refusals: refusals.length, unexplained };
};
