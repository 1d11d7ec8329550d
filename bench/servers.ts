/**
 * The servers with which the benchmark compares the service. `bun bench/servers.ts above`: the smallest route that
 * validates the same body and responds, without a database. `first`: a simple implementation with one SELECT for the key and
 * one INSERT for the avatar. `lists`: the same for lists, with one SELECT for the key and one for the page. `credits`: see
 * credits/first.ts. `sink`: receives and discards traces. `livekit`: stands in for a LiveKit server that takes no time: it has rooms, and verifies
 * nothing. Each prints its address.
 */
import { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { newId } from "@realtime-avatar/domain/id";
import { Elysia } from "elysia";
import postgres from "postgres";
import { firstCredits } from "./credits/first.ts";
import { pageOf, withKey } from "./look-up.ts";

const random = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));
const [name = "", databaseUrl = ""] = process.argv.slice(2);

const above = () =>
  new Elysia().post(
    "/api/v1/avatars",
    ({ body, set }) => {
      set.status = 201;
      return { id: newId("ava", new Date(), random), ...body };
    },
    { body: CreateAvatar },
  );

const first = () => {
  const sql = postgres(databaseUrl);
  return withKey(sql).post(
    "/api/v1/avatars",
    async ({ body, key, set }) => {
      const now = new Date();
      const avatar = {
        tenant_id: key.tenantId,
        id: newId("ava", now, random),
        environment: key.environment,
        display_name: body.displayName,
        source_kind: body.sourceKind,
        model_id: body.modelId ?? "m",
        status: "draft",
        settings: sql.json((body.settings ?? {}) as never),
        metadata: sql.json((body.metadata ?? {}) as never),
        cache_version: 0,
        version: 1,
        created_at: now,
        updated_at: now,
      };
      await sql`insert into avatars ${sql(avatar)}`;
      set.status = 201;
      return avatar;
    },
    { body: CreateAvatar },
  );
};

const lists = () => {
  const sql = postgres(databaseUrl);
  return withKey(sql)
    .get("/api/v1/avatars", async ({ key }) =>
      pageOf(
        await sql`
        select id, tenant_id as "tenantId", environment, display_name as "displayName", source_kind as "sourceKind",
          model_id as "modelId", status, source_asset_id as "sourceAssetId", default_voice_id as "defaultVoiceId",
          cache_manifest_id as "cacheManifestId", cache_version as "cacheVersion", settings, metadata,
          created_at as "createdAt", updated_at as "updatedAt"
        from avatars
        where tenant_id = ${key.tenantId} and environment = ${key.environment} and status <> 'deleted'
        order by id desc limit 50`,
      ),
    )
    .get("/api/v1/api-keys", async ({ key }) =>
      pageOf(
        await sql`
        select id, key_id as "keyId", api_keys.tenant_id as "tenantId", name, environment,
          'rta_' || environment || '_' || key_id || '_****' as "redactedKey", scopes,
          case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end as status,
          spend_limit_credit_micros as "spendLimitCreditMicros", expires_at as "expiresAt",
          last_used_at as "lastUsedAt", created_at as "createdAt"
        from api_keys
        left join api_key_usage on api_key_usage.tenant_id = api_keys.tenant_id and api_key_id = id
        where api_keys.tenant_id = ${key.tenantId}
        order by id desc limit 50`,
      ),
    )
    .get("/api/v1/audit-events", async ({ key }) =>
      pageOf(
        await sql`
        select id, tenant_id as "tenantId", environment, action, target_id as "targetId",
          changed_fields as "changedFields", actor_id as "actorId", actor_key_id as "actorKeyId",
          request_id as "requestId", created_at as "createdAt"
        from audit_events where tenant_id = ${key.tenantId} and environment = ${key.environment}
        order by id desc limit 50`,
      ),
    );
};

const sink = () => ({
  fetch: async (request: Request): Promise<Response> => {
    await request.bytes();
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  },
});

const livekit = () => {
  const rooms = new Set<string>();
  return {
    fetch: async (request: Request): Promise<Response> => {
      const { name = "", room = "" } = (await request.json()) as { name?: string; room?: string };
      if (request.url.endsWith("/CreateRoom")) rooms.add(name);
      if (request.url.endsWith("/DeleteRoom")) rooms.delete(room);
      if (request.url.endsWith("/ListRooms")) return Response.json({ rooms: [...rooms].map((name) => ({ name })) });
      return Response.json({ name });
    },
  };
};

const SERVERS: Record<string, () => { fetch(request: Request): Response | Promise<Response> }> = {
  above,
  first,
  lists,
  credits: () => firstCredits(databaseUrl),
  sink,
  livekit,
};
const app = SERVERS[name]?.();
if (!app) throw new Error("Usage: bun bench/servers.ts above|first|lists|credits|sink|livekit [databaseUrl]");
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", development: false, fetch: app.fetch });
process.stdout.write(`"url":"${server.url.href.replace(/\/$/, "")}"\n`);
