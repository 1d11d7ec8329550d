/** The tenants that the benchmark of the routes loads, and new rows for operations that each row permits only once. */

import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { seedPerson } from "@realtime-avatar/testing/people/seeds";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/seeds";
import { AVATAR_ID, freeSlots, seedCalls } from "../calls/world.ts";
import { type Line, openSessions, seedLine } from "../credits/world.ts";
import { insertRows, type Seeded } from "./rows.ts";

/** The number of rows of each list, and of rows over which changes rotate. */
const LISTED = 1000;
const FEW = 16;
/** More requests a second than any load that needs new rows can make. */
const FRESH_PER_SECOND = 5000;

const KINDS = ["key", "avatar", "source", "asset", "endpoint", "delivery", "event"] as const;
const PEOPLE_KINDS = ["user", "passkey", "identity", "invitation", "userSession"] as const;
type PeopleKind = (typeof PEOPLE_KINDS)[number];
/** The kinds of fresh rows. A `source` is an avatar that can be prepared. */
export type Kind = (typeof KINDS)[number] | PeopleKind;

/** The SQL for a row of each kind, with the columns without a default. */
const kindsOf = (
  line: Line,
  reader: Line,
  hooked: Line,
  endpointId: string,
): Record<Exclude<Kind, PeopleKind>, Seeded> => {
  const own = `'${line.caller.tenantId}', 'live', 1, now()`;
  const row = "tenant_id, environment, version, created_at";
  const avatar = "updated_at, display_name, source_kind, model_id, settings, metadata, cache_version, status";
  const draft = `now(), 'Ada', 'image', 'm', '{}', '{"team": "support"}', 0`;
  return {
    key: [
      "api_keys",
      "key",
      `${row}, key_id, name, scopes, lineage`,
      `${own}, right(id, 16), 'Key', '{*}', array['${line.caller.id}']`,
    ],
    avatar: ["avatars", "ava", `${row}, ${avatar}`, `${own}, ${draft}, 'draft'`],
    source: [
      "avatars",
      "ava",
      `${row}, ${avatar}, source_asset_id`,
      `${own}, ${draft}, 'failed', 'ast_01h455vb4p0000000000000001'`,
    ],
    asset: [
      "assets",
      "ast",
      `${row}, updated_at, kind, status, content_type, size_bytes, sha256, public_token, reserved_bytes, metadata`,
      `${own}, now(), 'image', 'ready', 'image/png', 1000, repeat('0', 64), repeat('a', 27) || right(id, 16), 1000, '{}'`,
    ],
    endpoint: [
      "webhook_endpoints",
      "whe",
      `${row}, updated_at, url, status, disabled_reason, secret`,
      `${own}, now(), 'https://example.com/hooks', 'disabled', 'requested', sha256(id::bytea)`,
    ],
    delivery: [
      "webhook_deliveries",
      "whd",
      "tenant_id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, created_at",
      `'${hooked.caller.tenantId}', 'live', '${endpointId}', replace(id, 'whd', 'evt'), 'avatar.updated', replace(id, 'whd', 'ava'), 1, 'delivered', now()`,
    ],
    event: [
      "audit_events",
      "aud",
      "tenant_id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at",
      `'${reader.caller.tenantId}', 'live', '${reader.caller.id}', repeat('0', 16), 'avatar.created', replace(id, 'aud', 'ava'), id, now()`,
    ],
  };
};

/** The SQL for rows of people. */
const peopleOf = (line: Line, { userId, passkeyId }: Signed): Record<PeopleKind, Seeded> => {
  const own = `'${line.caller.tenantId}', now()`;
  const row = "tenant_id, created_at";
  const [digest, email, expiresAt] = ["sha256(id::bytea)", "id || '@example.com'", "now() + interval '1 day'"];
  return {
    user: ["users", "usr", `${row}, email, name, role, version`, `${own}, ${email}, 'Eve', 'viewer', 1`],
    passkey: [
      "passkeys",
      "psk",
      `${row}, user_id, credential_id, public_key, counter, transports, is_backed_up, name, version`,
      `${own}, '${userId}', ${digest}, ${digest}, 0, '{}', true, 'Phone', 1`,
    ],
    identity: [
      "user_identities",
      "idn",
      `${row}, user_id, issuer, subject`,
      `${own}, '${userId}', 'https://login.example.com', id`,
    ],
    invitation: [
      "invitations",
      "inv",
      `${row}, digest, email, role, expires_at`,
      `${own}, ${digest}, ${email}, 'viewer', ${expiresAt}`,
    ],
    userSession: [
      "user_sessions",
      "uss",
      `${row}, user_id, passkey_id, digest, version, verified_until, expires_at`,
      `${own}, '${userId}', '${passkeyId}', ${digest}, 1, now(), ${expiresAt}`,
    ],
  };
};

/** The kinds that belong to a person, not to a tenant. */
const OF_A_PERSON = new Set<Kind>(["passkey", "identity", "userSession"]);

/** A signed-in person. The cookie is valid for both servers. */
type Signed = { userId: string; passkeyId: string; cookie: string };

export type World = {
  line: Line;
  /** A tenant with sessions, entries and audit events, to which loads add none. */
  reader: Line;
  readSessions: readonly string[];
  /** A tenant with an enabled endpoint and its deliveries. */
  hooked: Line & { endpointId: string };
  person: Signed;
  /** Rows of the lists, by kind; sessions are open. */
  listed: Record<Kind | "session", readonly string[]>;
  /** Writes rows for a load of this many seconds, and returns their ids. */
  fresh(kind: Kind, seconds: number): Promise<readonly string[]>;
  freshSessions(seconds: number): Promise<readonly string[]>;
  /** Started calls, and free slots. */
  freshCalls(seconds: number): Promise<readonly string[]>;
  freshSlots(seconds: number): Promise<void>;
};

const seedSigned = async (db: Db, { caller: { tenantId } }: Line) => {
  const { user, passkey, token } = await seedPerson(db, tenantId, "owner");
  // Longer than a run, because people would otherwise need their passkey again.
  await db.run("update user_sessions set verified_until = now() + interval '1 day'", []);
  return { userId: user.id, passkeyId: passkey.id, cookie: token.reveal() };
};

/** The rows that belong to these rows, by kind. */
const COMPANIONS: Partial<Record<Kind, readonly string[]>> = {
  key: [
    `insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, created_at)
      select right(id, 16), $1, id, sha256(id::bytea), now() from unnest($2::text[]) id`,
    "insert into api_key_meters (tenant_id, api_key_id) select $1, unnest($2::text[])",
  ],
  asset: [
    `insert into asset_meters as meter values ($1, 'live', cardinality($2::text[]), cardinality($2::text[]) * 1000)
      on conflict (tenant_id, environment) do update set assets = meter.assets + excluded.assets, bytes = meter.bytes + excluded.bytes`,
  ],
};

/** Events of the deliveries, and an avatar of each tenant that is ready for calls. */
const OTHERS = [
  `insert into webhook_events (tenant_id, id, environment, type, target_id, sequence, body, created_at)
    select tenant_id, event_id, environment, event_type, target_id, sequence, '{"type": "avatar.updated"}', created_at
    from webhook_deliveries`,
  `insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
      metadata, version, created_at, updated_at)
    select tenant_id, '${AVATAR_ID}', 'live', 'Ada', 'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now() from tenants`,
];

const seedListed = async (
  db: Db,
  line: Line,
  reader: Line,
  insert: (kind: Kind, count: number) => Promise<string[]>,
): Promise<Pick<World, "listed" | "readSessions">> => {
  const listed = {} as World["listed"];
  listed.session = await openSessions(db, [line], LISTED);
  for (const kind of [...KINDS, ...PEOPLE_KINDS])
    listed[kind] = await insert(kind, OF_A_PERSON.has(kind) ? FEW : LISTED);
  for (const statement of OTHERS) await db.run(statement, []);
  const readSessions = await openSessions(db, [reader], LISTED);
  const { tenantId, id } = reader.caller;
  await insertRows(
    db,
    [
      "credit_entries",
      "ent",
      "tenant_id, environment, kind, amount, api_key_id, session_id, request_id, created_at",
      `'${tenantId}', 'live', 'hold', 1, '${id}', '${readSessions[0]}', id, now()`,
    ],
    LISTED,
  );
  await db.run("vacuum analyze", []);
  return { listed, readSessions };
};

export const seedRoutes = async (db: Db): Promise<World> => {
  const [line, reader, hooked] = [await seedLine(db, 0), await seedLine(db, 0), await seedLine(db, 0)];
  const person = await seedSigned(db, line);
  const { id: endpointId } = await seedEndpoint(db, hooked.caller);
  const kinds = { ...kindsOf(line, reader, hooked, endpointId), ...peopleOf(line, person) };
  const insert = async (kind: Kind, count: number): Promise<string[]> => {
    const ids = await insertRows(db, kinds[kind], count);
    for (const statement of COMPANIONS[kind] ?? []) await db.run(statement, [line.caller.tenantId, ids]);
    return ids;
  };
  const lists = await seedListed(db, line, reader, insert);
  const instance = await readInstance(db);
  let calls = 0;
  const freshCalls = async (seconds: number): Promise<string[]> => {
    const name = `c${String(++calls).padStart(3, "0")}`;
    const count = FRESH_PER_SECOND * seconds;
    return (await seedCalls(db, line.caller, instance, { name, count, keys: 1 })).map(({ id }) => id);
  };
  return {
    ...{ line, reader, hooked: { ...hooked, endpointId }, person, ...lists, freshCalls },
    fresh: (kind, seconds) => insert(kind, FRESH_PER_SECOND * seconds),
    freshSessions: (seconds) => openSessions(db, [line], FRESH_PER_SECOND * seconds),
    freshSlots: (seconds) => freeSlots(db, FRESH_PER_SECOND * seconds),
  };
};
