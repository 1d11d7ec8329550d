/** The rows of the tables of the benchmark. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { secureRandom } from "@realtime-avatar/runtime/random";
import type { Database } from "./database.ts";
import type { Process, Request } from "./machine.ts";
import type { Processes } from "./processes.ts";
import { createScript, insertScript } from "./scripts.ts";

/** A server with a request, or a script for pgbench. */
export type Contestant = {
  name: string;
  server?: Process;
  request?: Request;
  /** Creates the request of each load, in place of `request`. `supply`: the factor by which its supply is raised. */
  prepare?: (supply: number) => Promise<Request>;
  /** Whether every response is expected to be an error. */
  isRefused?: boolean;
  /** Whether each request has its own Idempotency-Key. */
  isClaimed?: boolean;
  script?: string;
};

export const BELOW = "below: pgbench, one-row insert";
export const OWN = "the database alone: pgbench, the service's own two statements";
export const ABOVE = "above: Elysia, no database";
export const FIRST = "first: one SELECT, one INSERT";

/** Different pages of avatars with 34 to 66 items, so that 32 concurrent requests share no page. */
const DIFFERENT_PAGES = Array.from({ length: 33 }, (_, index) => `/api/v1/avatars?limit=${34 + ((index * 16) % 33)}`);
const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };

/** A request of the API with this key. */
export const apiRequest = (apiKey: string, method: string, path: string, body: object | null = null): Request => ({
  method,
  path: `/api/v1${path}`,
  body: body === null ? null : JSON.stringify(body),
  headers: {
    authorization: `Bearer ${apiKey}`,
    ...(body === null ? {} : { "content-type": "application/json" }),
  },
});

const pgbenchContestants = async (database: Database): Promise<Contestant[]> => [
  { name: BELOW, script: insertScript(database) },
  { name: OWN, script: await createScript(database) },
];

const createContestants = (apiKey: string, { above, first, service, metered, traced }: Processes): Contestant[] => {
  const create = apiRequest(apiKey, "POST", "/avatars", AVATAR);
  return [
    { name: ABOVE, server: above, request: create },
    { name: FIRST, server: first, request: create },
    { name: "POST /avatars", server: service, request: create },
    { name: "POST /avatars, with metrics", server: metered, request: create },
    { name: "POST /avatars, with metrics and traces", server: traced, request: create },
    { name: "POST /avatars, Idempotency-Key", server: service, request: create, isClaimed: true },
  ];
};

const readContestants = (apiKey: string, avatarId: string, { service }: Processes): Contestant[] => [
  { name: "GET /avatars/{id}", server: service, request: apiRequest(apiKey, "GET", `/avatars/${avatarId}`) },
  { name: "GET /avatars", server: service, request: apiRequest(apiKey, "GET", "/avatars") },
  {
    name: "GET /avatars, pages that differ",
    server: service,
    request: { ...apiRequest(apiKey, "GET", "/avatars"), paths: DIFFERENT_PAGES },
  },
  { name: "GET /api-keys/self", server: service, request: apiRequest(apiKey, "GET", "/api-keys/self") },
];

const refusedContestants = (apiKey: string, { service }: Processes): Contestant[] => {
  const wrongChecksum = apiKey.replace(/_[^_]{16}_/, "_0000000000000000_");
  const unknown = generateApiKey("live", secureRandom).reveal();
  return [
    {
      name: "refused: bad checksum",
      server: service,
      request: apiRequest(wrongChecksum, "GET", "/api-keys/self"),
      isRefused: true,
    },
    {
      name: "refused: unknown key",
      server: service,
      request: apiRequest(unknown, "GET", "/api-keys/self"),
      isRefused: true,
    },
  ];
};

const anyAvatarId = async (db: Db): Promise<string> => {
  const [avatar] = await db.run<{ id: string }>("select id from avatars limit 1", []);
  if (!avatar) throw new Error("The database has no avatar.");
  return avatar.id;
};

/** The contestants whose names contain `only`. Without pgbench, those that need it are left out. */
export const startContestants = async (
  database: Database,
  processes: Processes,
  only: string,
): Promise<Contestant[]> => {
  const { apiKey } = database;
  return [
    ...(Bun.which("pgbench") === null ? [] : await pgbenchContestants(database)),
    ...createContestants(apiKey, processes),
    ...readContestants(apiKey, await anyAvatarId(database.db), processes),
    ...refusedContestants(apiKey, processes),
  ].filter(({ name }) => name.includes(only));
};
