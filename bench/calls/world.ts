/** The tenants, calls and avatar workers that the benchmark of calls loads. Thousands of calls are written with SQL, not started. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";
import { LEASE_SECONDS, type Line, openSessions, seedLine, TENANTS } from "../credits/world.ts";

/** An avatar that each tenant has, with this id. */
export const AVATAR_ID = "ava_01h455vb4p0000000000000000";
/** The calls of one worker. */
export const CALLS_PER_WORKER = 4;
/** Workers with free slots. */
const WORKERS = 100;

export type World = {
  many: readonly Line[];
  /** Tenants whose keys are refused: `full` has the maximum number of open sessions, and the cap of `capped` is 0. */
  full: Line;
  capped: Line;
};

export const seedWorld = async (db: Db): Promise<World> => {
  const many: Line[] = [];
  while (many.length < TENANTS) many.push(await seedLine(db, 0));
  const [full, capped] = [await seedLine(db, 0), await seedLine(db, 0, 0)];
  await openSessions(db, [full], 1);
  await db.run("update credit_accounts set max_concurrent_sessions = 1 where tenant_id = $1", [full.caller.tenantId]);
  await db.run(
    `insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
        metadata, version, created_at, updated_at)
      select tenant_id, '${AVATAR_ID}', 'live', 'Ada', 'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now() from tenants`,
    [],
  );
  return { many, full, capped };
};

/** Leaves `count` free slots, at workers without calls. */
export const freeSlots = async (db: Db, count: number): Promise<void> => {
  for (const statement of [
    "delete from fleet.avatar_slots where worker_id like 'free-%'",
    `insert into fleet.avatar_workers
      select 'free-' || i, '{}', ${count}, now() + interval '1 day' from generate_series(1, ${WORKERS}) i on conflict do nothing`,
    `insert into fleet.avatar_slots (worker_id, n) select 'free-' || i % ${WORKERS} + 1, i / ${WORKERS} + 1
      from generate_series(1, ${count}) i`,
    "vacuum analyze fleet.avatar_slots",
    "vacuum analyze fleet.avatar_workers",
  ]) {
    await db.run(statement, []);
  }
};

export type SeededCall = { id: SessionId; roomName: string; workerId: string };
/** `name`: four characters, which are part of the ids of the sessions and keys, and of the names of the workers. */
export type Calls = { name: string; count: number; keys: number };

/** Opens calls that have started, of `keys` keys of the tenant, at workers with `CALLS_PER_WORKER` each. */
export const seedCalls = async (
  db: Db,
  { tenantId }: Line["caller"],
  instance: string,
  { name, count, keys }: Calls,
): Promise<SeededCall[]> => {
  const idOf = (prefix: string, number = "i"): string => `'${prefix}_01h4${name}' || lpad((${number})::text, 18, '0')`;
  const [key, ses, worker] = [idOf("key", `i % ${keys}`), idOf("ses"), `'${name}-' || i / ${CALLS_PER_WORKER}`];
  const rows = `generate_series(0, ${count - 1}) i`;
  const each = Math.ceil(count / keys);
  for (const statement of [
    `insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select '${tenantId}', ${key}, '${name}' || lpad(i::text, 12, '0'), 'live', 'n', '{*}', '{}', 1, now()
      from generate_series(0, ${keys - 1}) i`,
    `insert into api_key_meters select '${tenantId}', ${key}, 0, ${LEASE_SECONDS * each}, ${each}
      from generate_series(0, ${keys - 1}) i`,
    `insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata,
        created_at, started_at, expires_at, is_counted)
      select '${tenantId}', ${ses}, 'live', ${key}, array[${key}], '${AVATAR_ID}', 'started', ${LEASE_SECONDS}, 1, '{}', now(),
        now(), now() + interval '${LEASE_SECONDS} seconds', true from ${rows}`,
    `insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
      select '${tenantId}', ${ses}, '${roomPrefix(instance)}' || ${ses}, 'exists', 'avatar', '{}', 1800 from ${rows}`,
    `insert into fleet.avatar_workers
      select distinct ${worker}, '{}'::text[], ${CALLS_PER_WORKER}, now() + interval '1 day' from ${rows}`,
    `insert into fleet.avatar_slots (worker_id, n, tenant_id, session_id)
      select ${worker}, i % ${CALLS_PER_WORKER} + 1, '${tenantId}', ${ses} from ${rows}`,
    `update credit_accounts set reserved = reserved + ${LEASE_SECONDS * count}, open_sessions = open_sessions + ${count}
      where tenant_id = '${tenantId}' and environment = 'live'`,
    "vacuum analyze",
  ]) {
    await db.run(statement, []);
  }
  return db.run<SeededCall>(
    `select session_id as id, room_name as "roomName", worker_id as "workerId" from calls
      join fleet.avatar_slots using (tenant_id, session_id) where worker_id like '${name}-%' order by session_id`,
    [],
  );
};
