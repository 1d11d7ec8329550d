/**
 * Keys, avatars, assets, webhooks, the audit trail and people in a first version: for each request one SELECT of the
 * caller, and one statement for the work. No audit events, lineage, quotas, states, versions, jobs or events of
 * webhooks.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { type ApiKeySecret, generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { CreateRemoteAsset, CreateUpload } from "@realtime-avatar/domain/assets/schemas";
import { LIVE_MODEL_ID, listModels } from "@realtime-avatar/domain/avatars/models";
import { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { type IdPrefix, newId } from "@realtime-avatar/domain/id";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { Elysia } from "elysia";
import type postgres from "postgres";
import { csvResponse, firstPage, withKey, withPerson } from "./look-up.ts";

type Owner = { tenantId: string; environment: string };
type Body = Record<string, string>;
type Columns = Record<string, unknown>;
/** A path, its table, and the columns that a request writes. */
type Change = [method: "POST" | "PATCH" | "DELETE", path: string, table: string, columns: (body: Body) => Columns];

/** The lists, some of which are also files. A resource is at `<path>/{id}`. */
const TABLES: Record<string, string> = {
  "/api-keys": "api_keys",
  "/avatars": "avatars",
  "/assets": "assets",
  "/webhook-endpoints": "webhook_endpoints",
  "/webhook-deliveries": "webhook_deliveries",
  "/audit-events": "audit_events",
  "/credits/entries": "credit_entries",
};
const WITHOUT_READ = ["/audit-events", "/credits/entries"];
const FILES = ["/audit-events", "/credits/entries"];

const bytes = () => randomBytes(60);
const now = () => new Date();
const CHANGES: Change[] = [
  ["PATCH", "/api-keys/:id", "api_keys", ({ name }) => ({ name })],
  ["DELETE", "/api-keys/:id", "api_keys", () => ({ revoked_at: now() })],
  ["PATCH", "/avatars/:id", "avatars", ({ displayName }) => ({ display_name: displayName })],
  ["DELETE", "/avatars/:id", "avatars", () => ({ status: "deleted" })],
  ["POST", "/avatars/:id/prepare", "avatars", () => ({ status: "preprocessing" })],
  ["DELETE", "/assets/:id", "assets", () => ({ status: "deleted" })],
  ["PATCH", "/webhook-endpoints/:id", "webhook_endpoints", ({ description }) => ({ description })],
  ["POST", "/webhook-endpoints/:id/rotate-secret", "webhook_endpoints", () => ({ secret: bytes() })],
  [
    "POST",
    "/webhook-deliveries/:id/resend",
    "webhook_deliveries",
    () => ({ status: "pending", next_attempt_at: now() }),
  ],
];
const CHANGES_OF_PEOPLE: Change[] = [
  ["PATCH", "/users/:id", "users", ({ name }) => ({ name })],
  ["PATCH", "/passkeys/:id", "passkeys", ({ name }) => ({ name })],
];
/** The lists of a person, and the lists of a whole tenant. */
const OWN: Record<string, string> = {
  "/passkeys": "passkeys",
  "/identities": "user_identities",
  "/user-sessions": "user_sessions",
};
const OF_TENANT: Record<string, string> = { "/users": "users", "/invitations": "invitations" };

const newRow = (prefix: IdPrefix, { tenantId, environment }: Owner): Columns => ({
  tenant_id: tenantId,
  id: newId(prefix, now(), secureRandom),
  environment,
  created_at: now(),
});

const avatarOf = (owner: Owner, { displayName, sourceKind, settings = {}, metadata = {} }: CreateAvatar): Columns => ({
  ...newRow("ava", owner),
  ...{ display_name: displayName, source_kind: sourceKind, model_id: "m", status: "draft", settings, metadata },
  ...{ cache_version: 0, version: 1, updated_at: now() },
});

const assetOf = (owner: Owner, status: string, { remoteUrl = null }: Record<string, unknown> = {}): Columns => ({
  ...newRow("ast", owner),
  ...{ kind: "image", status, public_token: randomBytes(32).toString("hex").slice(0, 43), remote_url: remoteUrl },
  ...{ reserved_bytes: 100, metadata: {}, version: 1, updated_at: now() },
});

const credentialOf = ({ tenantId }: Owner, apiKeyId: string, secret: ApiKeySecret) => ({
  ...{ tenant_id: tenantId, api_key_id: apiKeyId, key_id: secret.keyId, created_at: now() },
  digest: new Bun.CryptoHasher("sha256").update(secret.reveal()).digest(),
});

const creates = (sql: postgres.Sql, folder: string) => {
  const insert = async (table: string, columns: Columns) => {
    await sql`insert into ${sql(table)} ${sql(columns)}`;
    return columns;
  };
  return withKey(sql)
    .post("/avatars", async ({ body, key, status }) => status(201, await insert("avatars", avatarOf(key, body))), {
      body: CreateAvatar,
    })
    .post(
      "/assets/remote",
      async ({ body, key, status }) => status(201, await insert("assets", assetOf(key, "pending_upload", body))),
      { body: CreateRemoteAsset },
    )
    .post(
      "/assets/uploads",
      async ({ key, status }) => status(201, await insert("assets", assetOf(key, "pending_upload"))),
      { body: CreateUpload },
    )
    .post("/assets", async ({ body, key, status }) => {
      const asset = assetOf(key, "uploaded");
      await Bun.write(join(folder, `${asset["id"]}`), (body as { file: Blob }).file);
      return status(201, await insert("assets", asset));
    })
    .post(
      "/api-keys",
      async ({ body: { name, scopes }, key, status }) => {
        const secret = generateApiKey("live", secureRandom);
        const id = newId("key", now(), secureRandom);
        const apiKey = { ...newRow("key", key), id, key_id: secret.keyId, lineage: [key.id], version: 1, name, scopes };
        await sql.begin(async (sql) => {
          await sql`insert into api_keys ${sql(apiKey as never)}`;
          await sql`insert into api_key_credentials ${sql(credentialOf(key, id, secret))}`;
        });
        return status(201, { ...apiKey, apiKey: secret.reveal() });
      },
      { body: CreateApiKey },
    )
    .post("/api-keys/:id/rotate", async ({ key, params: { id } }) => {
      const secret = generateApiKey("live", secureRandom);
      await sql.begin(async (sql) => {
        await sql`
          update api_key_credentials set retired_at = now()
          where tenant_id = ${key.tenantId} and api_key_id = ${id} and retired_at is null`;
        await sql`insert into api_key_credentials ${sql(credentialOf(key, id, secret))}`;
        await sql`update api_keys set key_id = ${secret.keyId} where tenant_id = ${key.tenantId} and id = ${id}`;
      });
      return { id, apiKey: secret.reveal() };
    });
};

const others = (sql: postgres.Sql) =>
  withKey(sql)
    .get("/api-keys/self", ({ key }) => key)
    .get("/models", () => ({ data: listModels(LIVE_MODEL_ID), nextCursor: null }))
    .post("/webhook-endpoints/:id/recover", async ({ body, key, params: { id } }) => {
      const rows = await sql`
        update webhook_deliveries set status = 'pending', next_attempt_at = now()
        where tenant_id = ${key.tenantId} and endpoint_id = ${id} and status in ('failed', 'canceled')
          and created_at >= ${(body as Body)["since"] ?? ""} returning id`;
      return { recovered: rows.length };
    });

const idOf = (parameters: object): string => (parameters as { id: string }).id;

const notFound = () => new Response(null, { status: 404 });

const change = async (sql: postgres.Sql, table: string, tenantId: string, id: string, columns: Columns) => {
  const [row] = await sql`
    update ${sql(table)} set ${sql(columns)} where tenant_id = ${tenantId} and id = ${id} returning *`;
  return row ?? notFound();
};

const remove = async (sql: postgres.Sql, table: string, tenantId: string, id: string) => {
  const [row] = await sql`delete from ${sql(table)} where tenant_id = ${tenantId} and id = ${id} returning *`;
  return row ?? notFound();
};

const ofKeys = (sql: postgres.Sql) => {
  const app = withKey(sql);
  for (const [path, table] of Object.entries(TABLES)) {
    const newest = ({ tenantId, environment }: Owner, limit: number) => sql`
      select * from ${sql(table)} where tenant_id = ${tenantId} and environment = ${environment}
      order by id desc limit ${limit}`;
    app.get(path, async ({ key }) => firstPage(await newest(key, 50)));
    if (FILES.includes(path))
      app.get(`${path}.csv`, async ({ key, query }) => csvResponse(await newest(key, Number(query["limit"]))));
    if (WITHOUT_READ.includes(path)) continue;
    app.get(`${path}/:id`, async ({ key: { tenantId, environment }, params: { id = "" } }) => {
      const [row] = await sql`
        select * from ${sql(table)} where tenant_id = ${tenantId} and environment = ${environment} and id = ${id}`;
      return row ?? notFound();
    });
  }
  for (const [method, path, table, columns] of CHANGES) {
    app.route(method, path, ({ body, key, params }) =>
      change(sql, table, key.tenantId, idOf(params), columns(body as Body)),
    );
  }
  return app.delete("/webhook-endpoints/:id", ({ key: { tenantId }, params: { id } }) =>
    remove(sql, "webhook_endpoints", tenantId, id),
  );
};

const ofPeople = (sql: postgres.Sql) => {
  const app = withPerson(sql);
  for (const [path, table] of Object.entries({ ...OWN, ...OF_TENANT })) {
    app.get(path, async ({ person }) => {
      const own = path in OWN ? sql`and user_id = ${person.userId}` : sql``;
      return firstPage(
        await sql`select * from ${sql(table)} where tenant_id = ${person.tenantId} ${own} order by id desc limit 50`,
      );
    });
    app.delete(`${path}/:id`, ({ person, params: { id = "" } }) => remove(sql, table, person.tenantId, id));
  }
  for (const [method, path, table, columns] of CHANGES_OF_PEOPLE) {
    app.route(method, path, ({ body, person, params }) =>
      change(sql, table, person.tenantId, idOf(params), columns(body as Body)),
    );
  }
  const readUser = async (tenantId: string, id: string) => {
    const [user] = await sql`select * from users where tenant_id = ${tenantId} and id = ${id}`;
    return user ?? notFound();
  };
  return app
    .get("/users/:id", ({ person, params: { id } }) => readUser(person.tenantId, id))
    .get("/user-sessions/current", ({ person }) => readUser(person.tenantId, person.userId))
    .post("/invitations", async ({ body, person: { tenantId, userId }, status }) => {
      const { email = "", role = "" } = body as Body;
      const invitation = {
        tenant_id: tenantId,
        id: newId("inv", now(), secureRandom),
        email,
        role,
        created_by: userId,
      };
      const row = { ...invitation, digest: randomBytes(32), created_at: now(), expires_at: now() };
      await sql`
        insert into invitations ${sql(row)}
        on conflict (tenant_id, email) do update set digest = excluded.digest, expires_at = excluded.expires_at`;
      return status(201, invitation);
    });
};

/** The routes of these resources. Files of assets are written to `folder`. */
export const resourceRoutes = (sql: postgres.Sql, folder: string) =>
  new Elysia().use(creates(sql, folder)).use(others(sql)).use(ofKeys(sql)).use(ofPeople(sql));
