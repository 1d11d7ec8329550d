/** Seeds calls for the benchmark, with SQL: thousands of starts would take too long. */
import type { Caller } from "@realtime-avatar/db/api-keys/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";

/** The calls of one worker. */
export const CALLS_PER_WORKER = 4;

export type SeededCall = { id: SessionId; roomName: string; worker: string };

/**
 * Opens `count` calls that have started, of as many keys as `keys`, at workers with `CALLS_PER_WORKER` each, which are called
 * `<name>-<number>`. The hold of each lasts for a day.
 */
export const seedCalls = async (
  db: Db,
  { tenantId }: Caller,
  {
    name,
    avatarId,
    instance,
    count,
    keys,
  }: { name: string; avatarId: string; instance: string; count: number; keys: number },
): Promise<SeededCall[]> => {
  const id = (prefix: string, number = "i"): string => `'${prefix}_01h4${name}' || lpad((${number})::text, 18, '0')`;
  const key = id("key", `i % ${keys}`);
  const worker = `'${name}-' || (i / ${CALLS_PER_WORKER})`;
  const rows = `generate_series(0, ${count - 1}) i`;
  const statements = [
    `insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select '${tenantId}', ${id("key")}, '${name}' || lpad(i::text, 12, '0'), 'live', 'n', '{*}', '{}', 1, now()
      from generate_series(0, ${keys - 1}) i`,
    `insert into api_key_meters select '${tenantId}', ${id("key")}, 0, 86400 * ${Math.ceil(count / keys)}, ${Math.ceil(count / keys)}
      from generate_series(0, ${keys - 1}) i`,
    `insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata,
        created_at, started_at, expires_at, is_counted)
      select '${tenantId}', ${id("ses")}, 'live', ${key}, array[${key}], '${avatarId}', 'started', 86400, 1, '{}', now(), now(),
        now() + interval '1 day', true from ${rows}`,
    `insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
      select '${tenantId}', ${id("ses")}, '${roomPrefix(instance)}' || ${id("ses")}, 'exists', 'avatar', '{}', 1800 from ${rows}`,
    `insert into fleet.avatar_workers select distinct ${worker}, '{}'::text[], ${CALLS_PER_WORKER}, now() + interval '1 day'
      from ${rows}`,
    `insert into fleet.avatar_slots (worker_id, n, tenant_id, session_id)
      select ${worker}, i % ${CALLS_PER_WORKER} + 1, '${tenantId}', ${id("ses")} from ${rows}`,
    `update credit_accounts set reserved = reserved + 86400 * ${count}, open_sessions = open_sessions + ${count}
      where tenant_id = '${tenantId}' and environment = 'live'`,
  ];
  for (const statement of statements) await db.run(statement, []);
  await db.run("vacuum analyze", []);
  return db.run<SeededCall>(
    `select session_id as id, room_name as "roomName", worker_id as worker from calls
      join fleet.avatar_slots using (tenant_id, session_id) where worker_id like '${name}-%' order by session_id`,
    [],
  );
};
