/**
 * The routes of credits in a first version: one SELECT for the key, then a transaction that locks the account. It
 * checks only the balance: no caps, no lineage, no lease. It writes no entries and has no idempotency.
 */
import { CreateUsageSession, ReleaseSession, ReportUsage } from "@realtime-avatar/domain/credits/schemas";
import { newId } from "@realtime-avatar/domain/id";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { PRICE } from "@realtime-avatar/testing/credits";
import { Elysia } from "elysia";
import type postgres from "postgres";
import { csvResponse, firstPage, withKey } from "./look-up.ts";

/** Marks rows as written by this version, so that the triggers for functions of earlier versions ignore them. */
const AS_THIS_VERSION = { is_counted: true };

const writes = (sql: postgres.Sql) =>
  withKey(sql)
    .post(
      "/usage/sessions",
      async ({ body, key, status }) => {
        const { tenantId, environment } = key;
        const amount = body.maxSessionSeconds * PRICE;
        const now = new Date();
        const session = {
          tenant_id: tenantId,
          id: newId("ses", now, secureRandom),
          environment,
          api_key_id: key.id,
          lineage: [key.id],
          status: "reserved",
          reserved: amount,
          price: PRICE,
          metadata: sql.json((body.metadata ?? {}) as never),
          created_at: now,
          expires_at: new Date(now.getTime() + 120_000),
          ...AS_THIS_VERSION,
        };
        const isOpen = await sql.begin(async (sql) => {
          const [account] = await sql`
            select granted - forfeited - settled - reserved as available from credit_accounts
            where tenant_id = ${tenantId} and environment = ${environment} for update`;
          if (Number(account?.["available"] ?? 0) < amount) return false;
          await sql`insert into usage_sessions ${sql(session)}`;
          await sql`
            update credit_accounts set reserved = reserved + ${amount}
            where tenant_id = ${tenantId} and environment = ${environment}`;
          return true;
        });
        return isOpen ? status(201, session) : status(402);
      },
      { body: CreateUsageSession },
    )
    .post(
      "/usage/sessions/:id/usage",
      async ({ body, key, params: { id }, status }) => {
        const [session] = await sql`
          update usage_sessions set status = 'started', started_at = coalesce(started_at, now()),
            used = greatest(used, ${body.usedCreditMicros}), expires_at = now() + interval '1 day'
          where tenant_id = ${key.tenantId} and id = ${id} and ended_at is null returning *`;
        return session ?? status(409);
      },
      { body: ReportUsage },
    )
    .post(
      "/usage/sessions/:id/release",
      async ({ body, key, params: { id }, status }) => {
        const { tenantId, environment } = key;
        const used = body.usedCreditMicros ?? 0;
        const released = await sql.begin(async (sql) => {
          const [open] = await sql`
            select reserved from usage_sessions where tenant_id = ${tenantId} and id = ${id} and ended_at is null for update`;
          if (!open) return null;
          await sql`
            update credit_accounts set reserved = reserved - ${open["reserved"]}, settled = settled + ${used}
            where tenant_id = ${tenantId} and environment = ${environment}`;
          const [session] = await sql`
            update usage_sessions set status = 'released', used = ${used}, ended_at = now(), is_counted = false
            where tenant_id = ${tenantId} and id = ${id} returning *`;
          return session;
        });
        return released ?? status(409);
      },
      { body: ReleaseSession },
    );

const sessionsOf = (sql: postgres.Sql, key: { tenantId: string; environment: string }, limit: number) => sql`
  select session.*, avatar.display_name from usage_sessions session
  left join avatars avatar on avatar.tenant_id = session.tenant_id and avatar.id = session.avatar_id
  where session.tenant_id = ${key.tenantId} and session.environment = ${key.environment}
    and session.created_at >= now() - interval '30 days'
  order by session.id desc limit ${limit}`;

const reads = (sql: postgres.Sql) =>
  withKey(sql)
    .get("/usage/sessions", async ({ key }) => firstPage(await sessionsOf(sql, key, 50)))
    .get("/usage/sessions.csv", async ({ key, query }) =>
      csvResponse(await sessionsOf(sql, key, Number(query["limit"]))),
    )
    .get("/usage/sessions/:id", async ({ key, params: { id }, status }) => {
      const [session] = await sql`
        select session.*, avatar.display_name from usage_sessions session
        left join avatars avatar on avatar.tenant_id = session.tenant_id and avatar.id = session.avatar_id
        where session.tenant_id = ${key.tenantId} and session.environment = ${key.environment} and session.id = ${id}`;
      return session ?? status(404);
    })
    .get("/usage/summary", async ({ key }) => {
      const data = await sql`
        select date_trunc('day', created_at) as day, api_key_id, count(*), sum(used) as used from usage_sessions
        where tenant_id = ${key.tenantId} and environment = ${key.environment} and created_at >= now() - interval '30 days'
        group by 1, 2 order by 1 desc`;
      return { data };
    })
    .get("/credits/balance", async ({ key, status }) => {
      const [account] = await sql`
        select * from credit_accounts where tenant_id = ${key.tenantId} and environment = ${key.environment}`;
      return account ?? status(404);
    })
    .patch("/credits/balance", async ({ body, key, status }) => {
      const { lowThresholdCreditMicros } = body as { lowThresholdCreditMicros: number };
      const [account] = await sql`
        update credit_accounts set low_threshold = ${lowThresholdCreditMicros}
        where tenant_id = ${key.tenantId} and environment = ${key.environment} returning *`;
      return account ?? status(404);
    });

/** The routes of credits. */
export const creditRoutes = (sql: postgres.Sql) => new Elysia().use(writes(sql)).use(reads(sql));
