/**
 * What events cost the writes, at the database: the functions, beside the same functions without emission, in turns on one connection.
 * So whatever slows the machine slows all of them. Times are those of a client, with the commit.
 */
import type { Caller } from "@realtime-avatar/db/api-keys/callers";
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import { avatarRow } from "@realtime-avatar/db/avatars/record";
import type { Runner } from "@realtime-avatar/db/connection/batch";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { releaseSession, reportUsage } from "@realtime-avatar/db/credits/usage-sessions";
import { FUNCTIONS_SCHEMA, functionsSchema } from "@realtime-avatar/db/functions/schema";
import { FUNCTION_FILES } from "@realtime-avatar/db/generated/function-files";
import { createAvatars, openUsageSessions } from "@realtime-avatar/db/generated/functions";
import { newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import postgres from "postgres";
import { LEASE_SECONDS, PRICE, seedLine, TENANTS } from "../credits/world.ts";
import type { Database } from "../database.ts";
import { median } from "../machine.ts";
import { print } from "../progress.ts";
import { table } from "../report.ts";

/** The places where a function looks whether there is anything to send, and sends it. */
const EMISSIONS =
  / *if (?:exists \(\s*select from public\.webhook_endpoints|rta\.has_endpoints|v_starts)[\s\S]*?\n *end if;\n/g;
/** Creates, opening, reports, and the ends of sessions. */
const EMITTING = ["insert_audit_events", "open_usage_sessions", "emit_sessions_started", "close_sessions"];
export const withoutEmission = (text: string): string =>
  EMITTING.some((name) => text.includes(`create function rta.${name}(`)) ? text.replaceAll(EMISSIONS, "") : text;

/** Creates the functions without emission, in a schema of their own on the same tables, and returns its name. */
const createWithout = async (url: string): Promise<string> => {
  const files = FUNCTION_FILES.map(withoutEmission);
  const changed = files.filter((text, at) => text !== FUNCTION_FILES[at]).length;
  if (changed !== EMITTING.length) throw new Error(`emission was removed from ${changed} functions`);
  const { name, create } = functionsSchema(files);
  const client = postgres(url, { max: 1 });
  await client.unsafe(create);
  await client.end();
  return name;
};

/** An endpoint for all events of a tenant, to which nothing is sent. */
export const seedEndpoint = async (db: Runner, { tenantId }: Pick<Caller, "tenantId">): Promise<void> => {
  await db.run(
    `insert into webhook_endpoints (tenant_id, id, environment, status, secret, version, created_at, updated_at)
     values ($1, $2, 'live', 'enabled', '\\x00', 1, now(), now())`,
    [tenantId, newId("whe", new Date(), random)],
  );
};

/** The callers of a batch: `callers` in turn. */
const inTurn = (callers: readonly Caller[], batch: number) => {
  const used = callers.slice(0, batch);
  return { callers: used, callerAt: Array.from({ length: batch }, (_, at) => (at % used.length) + 1), wait: false };
};

const create = async (db: Runner, callers: readonly Caller[], batch: number): Promise<void> => {
  const now = new Date();
  const turn = inTurn(callers, batch);
  const avatars = turn.callerAt.map((at) => {
    const caller = turn.callers[at - 1] as Caller;
    const context = { ...caller, id: newId("ava", now, random), defaultModelId: "m", now };
    return newAvatar({ displayName: "Ada", sourceKind: "image", metadata: { team: "support" } }, context);
  });
  const origin = operatorOrigin();
  const auditEvents = avatars.map((avatar) => auditEvent("avatar.created", avatar, origin));
  await createAvatars(db, { ...turn, avatars: avatars.map(avatarRow), jobs: null, auditEvents, claims: null });
};

const open = async (db: Runner, callers: readonly Caller[], batch: number): Promise<SessionId[]> => {
  const { now, requestId } = operatorOrigin();
  const requests = Array.from({ length: batch }, () => ({
    ...{ id: newId("ses", now, random), environment: "live" as const, avatarId: null, maxSeconds: 1, minSeconds: 1 },
    ...{ price: PRICE, startSeconds: LEASE_SECONDS, metadata: {}, entryId: newId("ent", now, random) },
    ...{ requestId, createdAt: now },
  }));
  await openUsageSessions(db, { ...inTurn(callers, batch), requests, calls: null, claims: null });
  return requests.map(({ id }) => id);
};

/** A write: what is measured, after what it needs. */
type Work = { name: string; run(db: Db, callers: readonly Caller[], sessions: SessionId[]): Promise<unknown> };
const batches = [1, 64] as const;
const report = (db: Db, [caller]: readonly Caller[], [id]: SessionId[]) =>
  reportUsage(db, id as SessionId, { used: 1, leaseSeconds: LEASE_SECONDS }, caller as Caller);
const WORKS: Work[] = [
  ...batches.map((batch) => ({
    name: `create ${batch} avatars of one tenant`,
    run: (db: Db, callers: readonly Caller[]) => create(db, callers.slice(0, 1), batch),
  })),
  { name: `create 64 avatars of ${TENANTS} tenants`, run: (db, callers) => create(db, callers, 64) },
  ...batches.map((batch) => ({
    name: `open ${batch} sessions of one tenant`,
    run: (db: Db, callers: readonly Caller[]) => open(db, callers.slice(0, 1), batch),
  })),
  { name: "first report of a session", run: report },
  { name: "second report of a session", run: report },
  {
    name: "release of a session",
    run: (db, [caller], [id]) => {
      const release = { isEngine: true, used: 2, reason: null };
      return releaseSession(db, id as SessionId, release, caller as Caller, operatorOrigin());
    },
  },
];

const VARIANTS = ["without emission", "no endpoint", "one endpoint"] as const;

/** Measures each write `times` times for each variant, in turns, and prints medians and ratios. */
export const measureFunctions = async ({ url }: Database, times: number): Promise<void> => {
  const without = await createWithout(url);
  const db = connect(url, { deadlineMs: 3_600_000, connections: 1, waiting: 1_000_000 });
  const old: Db = {
    ...db,
    run: (text, parameters, name) => db.run(text.replaceAll(FUNCTIONS_SCHEMA, without), parameters, name),
  };
  const worlds = await Promise.all(
    VARIANTS.map(async (variant) => {
      const lines = await Promise.all(Array.from({ length: TENANTS }, () => seedLine(db, 0)));
      const callers = lines.map(({ caller }) => caller);
      if (variant === "one endpoint") for (const caller of callers) await seedEndpoint(db, caller);
      return { variant, callers, db: variant === "without emission" ? old : db };
    }),
  );
  // Not while the tables are empty: the server would read them whole, until it counts their rows again.
  for (const one of worlds) for (let at = 0; at < 50; at++) await create(one.db, one.callers, TENANTS);
  await db.run("vacuum analyze", []);
  const rows: string[][] = [];
  const sessions = new Map<string, SessionId[]>(VARIANTS.map((variant) => [variant, []]));
  for (const { name, run } of WORKS) {
    const taken = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
    if (name.startsWith("first report")) {
      for (const one of worlds) {
        const opened: SessionId[] = [];
        while (opened.length < times * 1.1) opened.push(...(await open(one.db, one.callers.slice(0, 1), 64)));
        sessions.set(one.variant, opened);
      }
    }
    for (let at = -Math.floor(times / 10); at < times; at++) {
      for (const turn of [0, 1, 2]) {
        const { variant, callers, db: own } = worlds[(at + times + turn) % 3] as (typeof worlds)[0];
        const id = sessions.get(variant)?.at(at);
        const from = performance.now();
        await run(own, callers, id ? [id] : []);
        if (at >= 0) taken.get(variant)?.push(performance.now() - from);
      }
    }
    const [base = 0, none = 0, one = 0] = VARIANTS.map((variant) => median(taken.get(variant) ?? []));
    rows.push([
      name,
      ...[base, none, one].map((ms) => (ms * 1000).toFixed(0)),
      (none / base).toFixed(3),
      (one / base).toFixed(3),
    ]);
    print(rows.at(-1)?.join("  ") ?? "");
  }
  await db.close();
  print(table(["microseconds", ...VARIANTS, "no endpoint", "one endpoint"], rows));
};
