/**
 * The routes of calls in a first version: one SELECT for the key, a transaction that takes credits and a slot, then the
 * room.
 */
import { randomBytes } from "node:crypto";
import type { StartCall } from "@realtime-avatar/domain/calls/schemas";
import { newId } from "@realtime-avatar/domain/id";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { Secret } from "@realtime-avatar/storage/secret";
import { PRICE } from "@realtime-avatar/testing/credits";
import type postgres from "postgres";
import { withKey } from "./look-up.ts";

export const callRoutes = (sql: postgres.Sql, livekitUrl: string) => {
  const livekit = (call: string, body: object) =>
    fetch(`${livekitUrl}/${call}`, { method: "POST", body: JSON.stringify(body) });
  const config = { url: livekitUrl, apiKey: "bench", apiSecret: new Secret(randomBytes(32).toString("hex")) };
  return withKey(sql)
    .post("/realtime/livekit/session", async ({ body, key, status }) => {
      const { tenantId, environment } = key;
      const { avatar_id: avatarId, max_session_seconds: seconds = 60 } = body as StartCall;
      const id = newId("ses", new Date(), secureRandom);
      const reserved = seconds * PRICE;
      const session = {
        tenant_id: tenantId,
        id,
        environment,
        api_key_id: key.id,
        lineage: [key.id],
        avatar_id: avatarId,
      };
      const state = { status: "reserved", reserved, price: PRICE, metadata: {}, is_counted: true };
      const times = { created_at: new Date(), expires_at: new Date(Date.now() + 120_000) };
      const room = `room-${id}`;
      const isOpen = await sql.begin(async (sql) => {
        const [account] = await sql`
          select granted - forfeited - settled - reserved as available from credit_accounts
          where tenant_id = ${tenantId} and environment = ${environment} for update`;
        const [slot] = await sql`
          select worker_id, n from fleet.avatar_slots where session_id is null
          order by n, worker_id limit 1 for update skip locked`;
        if (Number(account?.["available"] ?? 0) < reserved || !slot) return false;
        await sql`insert into usage_sessions ${sql({ ...session, ...state, ...times })}`;
        await sql`
          insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
          values (${tenantId}, ${id}, ${room}, 'exists', 'avatar', '{}', ${seconds})`;
        await sql`
          update fleet.avatar_slots set tenant_id = ${tenantId}, session_id = ${id}
          where worker_id = ${slot["worker_id"]} and n = ${slot["n"]}`;
        await sql`
          update credit_accounts set reserved = reserved + ${reserved}
          where tenant_id = ${tenantId} and environment = ${environment}`;
        return true;
      });
      if (!isOpen) return status(429);
      await livekit("CreateRoom", { name: room });
      const token = await mintToken(config, {
        ...{ identity: id, kind: "standard", ttlSeconds: 120, attributes: {} },
        video: {
          roomJoin: true,
          room,
          canSubscribe: true,
          canPublish: true,
          canPublishData: true,
          canUpdateOwnMetadata: false,
        },
      });
      return { session_id: id, room_name: room, participant_token: token };
    })
    .post("/realtime/livekit/session/release", async ({ body, key: { tenantId, environment } }) => {
      const id = (body as { session_id: string }).session_id;
      await sql.begin(async (sql) => {
        const [open] = await sql`
          select reserved from usage_sessions where tenant_id = ${tenantId} and id = ${id} and ended_at is null for update`;
        if (!open) return;
        await sql`
          update credit_accounts set reserved = reserved - ${open["reserved"]}, settled = settled + ${open["reserved"]}
          where tenant_id = ${tenantId} and environment = ${environment}`;
        await sql`
          update usage_sessions set status = 'released', used = reserved, ended_at = now(), is_counted = false
          where tenant_id = ${tenantId} and id = ${id}`;
        await sql`update fleet.avatar_slots set tenant_id = null, session_id = null where session_id = ${id}`;
      });
      await livekit("DeleteRoom", { room: `room-${id}` });
      return { ok: true };
    });
};
