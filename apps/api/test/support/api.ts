/** The application of tests: on a real server and a real database, with its log. */

import { afterAll, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { recordUses } from "@realtime-avatar/db/api-keys/usage";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { recordPeopleSeen } from "@realtime-avatar/db/people/seen";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { ApiKeyId, TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import { createLog } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { openStorage } from "@realtime-avatar/storage/open";
import { Secret } from "@realtime-avatar/storage/secret";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type TestDatabase, type TestDatabaseOptions, testDatabase } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { createUses, type Uses } from "../../src/api-keys/key-usage.ts";
import { createApp } from "../../src/app.ts";
import { createSpool } from "../../src/assets/spool.ts";
import type { AppOptions } from "../../src/dependencies.ts";
import { createResponseBytes } from "../../src/http/limits/response-bytes.ts";

/** A received response. Its body is parsed if it is JSON. */
export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read the members of the body
  body: any;
};

/** A request id that the service generates (RFC 9562 §5.7). */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export type TestApi = {
  database: TestDatabase;
  app: ReturnType<typeof createApp>;
  url: string;
  tenantId: TenantId;
  /** Every line logged so far. */
  log: string[];
  uses: Uses<ApiKeyId>;
  seen: Uses<UserId | UserSessionId>;
  files: Awaited<ReturnType<typeof testStorage>>;
  /** Creates a key of the tenant; returns its full secret. */
  key(request?: Partial<CreateApiKey>): Promise<string>;
  /** Sends a request. A body that is neither text nor bytes is sent as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
};

export type CallOptions = { key?: string; body?: unknown; headers?: Record<string, string> };

export const readAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : null };
};

/** Sends requests to the service at this URL. */
export const callAt =
  (url: string): TestApi["call"] =>
  async (method, path, options = {}) =>
    readAnswer(await fetch(url + path, requestInit(method, options)));

/**
 * Each request comes from another client, unless the test says otherwise, so that limits by client are not reached by
 * chance.
 */
let clients = 0;
const nextClient = (): string => {
  clients++;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
};

export const requestInit = (method: string, { key, body, headers }: CallOptions): RequestInit => {
  const isRaw = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
  return {
    method,
    headers: {
      "x-forwarded-for": nextClient(),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  };
};

/** The configuration of a test, without limits. A request can name its client address, like a proxy. */
export const TEST_CONFIG: AppOptions["config"] = {
  agents: { livekitHosts: ["*.livekit.cloud"], name: null },
  avatarWorkerSecret: null,
  livekit: null,
  conversationPriceMicrosPerSecond: 1_000_000,
  creditPriceMicrosPerSecond: 1_000_000,
  dailyTokens: null,
  defaultAvatarModelId: "model-of-the-test",
  maxActiveKeysPerTenant: 10_000,
  maxCallSeconds: 1800,
  maxRunningVideosPerTenant: 1_000_000,
  callRetentionDays: 30,
  maxAssetBytesPerTenant: 10 ** 15,
  maxAssetsPerTenant: 10_000,
  oidc: null,
  rateLimit: null,
  sessionLeaseSeconds: 60,
  sessionStartSeconds: 120,
  speech: FLITE_SETTINGS,
  tenantRateLimit: null,
  trustedProxyHops: 1,
  uploadOrigins: null,
};

/** Most tests run without a worker, so they do not wait for one. */
export const TEST_WEBHOOKS: AppOptions["webhooks"] = {
  sealingKey: new Uint8Array(32),
  allowHttpLocalhost: false,
  testWaitMs: 0,
};

/** A store of files on disk, and a spool, in a folder that is deleted with the process. */
export const testStorage = async (origin: () => string) => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const storage = await openStorage(
    { kind: "disk", directory: join(folder, "assets"), signingSecret: null },
    { origin },
  );
  return { folder, storage, spool: createSpool(join(folder, "uploads")), assetOrigin: origin };
};

/** The public URL in tests. */
export const PUBLIC_URL = "https://avatars.test";

/** The storage of applications whose tests use no files. */
const noStorage = new Proxy({} as Storage, {
  get: (_, name) => {
    throw new Error(`this test has no storage: ${String(name)}`);
  },
});

/** The application for tests. `given`: replaces defaults. */
export const createTestApp = (db: Db, given: Partial<AppOptions> = {}) =>
  createApp({
    databases: oneDatabase(db),
    clock: () => new Date(),
    random,
    config: TEST_CONFIG,
    log: createLog("silent"),
    noteUse: () => {},
    noteSeen: () => {},
    publicUrl: () => PUBLIC_URL,
    sessionSecret: new Secret("the secret of the tests, which signs challenges"),
    webhooks: TEST_WEBHOOKS,
    peerAddress: () => null,
    redis: null,
    responseBytes: createResponseBytes(),
    storage: noStorage,
    spool: createSpool("/nonexistent"),
    assetOrigin: () => "http://assets.test",
    isEnding: () => false,
    metrics: null,
    tracing: null,
    ...given,
  });

/**
 * Calls a new application on a database, like another replica. Its rate limits start at 0. In the shared application,
 * clients of different tests can share a counter: a process has 16,384 counters (`http/limits/rate-limit.ts`).
 */
export const callAnew = (db: Db, given: Partial<AppOptions> = {}): TestApi["call"] => {
  const app = createTestApp(db, given);
  return async (method, path, options = {}) =>
    readAnswer(await app.handle(new Request(`http://localhost${path}`, requestInit(method, options))));
};

/** More credits than any test spends, in credit micros. */
export const AMPLE_CREDITS = 1e15;

/**
 * Starts the API for a test file, while the file loads. It is stopped after the tests. Tests do not assert times, so
 * that a slow disk does not fail one. `openFiles`: opens the store and the spool, for the origin of the API. `given`:
 * as for `createTestApp`.
 */
export const startApi = async (
  openFiles: typeof testStorage = testStorage,
  given: Partial<AppOptions> = {},
  ofDatabase: TestDatabaseOptions | TestDatabase = {},
): Promise<TestApi> => {
  setDefaultTimeout(120_000);
  const database = "db" in ofDatabase ? ofDatabase : await testDatabase(ofDatabase);
  const { db } = database;
  const log: string[] = [];
  const logger = createLog("trace", { write: (line) => void log.push(line) });
  const uses = createUses(given.databases ?? oneDatabase(db), logger, recordUses);
  const seen = createUses(given.databases ?? oneDatabase(db), logger, recordPeopleSeen);
  const files = await openFiles(() => server.url.origin);
  const app = createTestApp(db, { log: logger, noteUse: uses.note, noteSeen: seen.note, ...files, ...given });
  const server = serve(
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
    { keepAliveMs: 60_000, requestMs: 60_000 },
    app.fetch,
  );
  const url = server.url.href.replace(/\/$/, "");
  afterAll(async () => {
    await server.stop(true);
    await database.close();
  });
  const tenantId = await seedTenant(db, { live: AMPLE_CREDITS });
  return {
    database,
    app,
    url,
    tenantId,
    log,
    uses,
    seen,
    files,
    key: async (request = { environment: "live", scopes: ["*", "usage:write"] }) =>
      (await seedKey(db, tenantId, request)).secret.reveal(),
    call: callAt(url),
  };
};

/** The number of rows of each table, to show that a request wrote nothing. */
export const rowCounts = async ({ db }: TestDatabase): Promise<Record<string, unknown>[]> => [
  ...(await db.client`
    select (select count(*) from api_keys) as keys, (select count(*) from api_key_credentials) as credentials,
      (select count(*) from avatars) as avatars, (select count(*) from audit_events) as events,
      (select count(*) from usage_sessions) as sessions, (select count(*) from credit_entries) as entries,
      (select count(*) from idempotency_claims) as claims`),
];
