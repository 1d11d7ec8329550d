/** The rows of the benchmark of credits: the load, its number of connections, and the time of a commit. */
import type { SessionId } from "@realtime-avatar/domain/id";
import { apiRequest, type Contestant } from "../contestants.ts";
import type { Process, Request } from "../machine.ts";
import { HOT_UPDATE, SLOW_COMMIT } from "./hot-row.ts";
import { type Line, openSessions, ROWS, type World } from "./world.ts";

export type Row = Contestant & {
  connections: number;
  /** Additional time of a commit in microseconds (`commit_delay`). */
  delay: number;
};

export const HOT = "hot UPDATE, pgbench";
export const OPEN = "POST /usage/sessions";
export const OPEN_DEEP = `${OPEN}, lineage depth 8`;
export const OPEN_CLAIMED = `${OPEN}, Idempotency-Key, 64 tenants`;
export const CREATE_CLAIMED = "POST /avatars, Idempotency-Key, 64 tenants";
export const REFUSED = `${OPEN}, refused (402)`;
export const SELF = "GET /api-keys/self";
export const CHANGE = "PATCH /avatars/{id}";
export const REPORT = "POST /usage/sessions/{id}/usage";
export const RELEASE = "POST /usage/sessions/{id}/release";
export const RELEASE_MANY = `${RELEASE}, 64 tenants`;
export const firstName = (name: string): string => `first: ${name}`;

export const BALANCE = "GET /credits/balance";

/** The servers that are loaded. */
export type Servers = { service: Process; first: Process };

const SESSION = { maxSessionSeconds: 1, metadata: { user_id: "u-17" } };
const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };

const keysOf = (lines: readonly Line[]): string[] => lines.map(({ apiKey }) => apiKey);
const pathsOf = (ids: readonly SessionId[], action: string): string[] =>
  ids.map((id) => `/api/v1/usage/sessions/${id}/${action}`);

const openRows = ({ flat, deep, first, many }: World, servers: Servers): Row[] => {
  const open = ({ apiKey }: Line): Request => apiRequest(apiKey, "POST", "/usage/sessions", SESSION);
  const create = apiRequest(flat.apiKey, "POST", "/avatars", AVATAR);
  const apiKeys = keysOf(many);
  const one = (connections: number, delay: number): Row[] => [
    { name: OPEN, server: servers.service, request: open(flat), connections, delay },
    { name: firstName(OPEN), server: servers.first, request: open(first), connections, delay },
  ];
  const fast = { server: servers.service, connections: 32, delay: 0 };
  return [
    { name: HOT, script: HOT_UPDATE, connections: 32, delay: SLOW_COMMIT },
    ...one(32, SLOW_COMMIT),
    ...one(128, SLOW_COMMIT),
    { name: HOT, script: HOT_UPDATE, connections: 32, delay: 0 },
    ...one(32, 0),
    { ...fast, name: OPEN_DEEP, request: open(deep) },
    ...one(128, 0),
    { ...fast, name: `${OPEN}, 64 tenants`, request: { ...open(flat), apiKeys } },
    { ...fast, name: OPEN_CLAIMED, request: { ...open(flat), apiKeys }, isClaimed: true },
    { ...fast, name: CREATE_CLAIMED, request: { ...create, apiKeys }, isClaimed: true },
  ];
};

const refusedRows = ({ capped }: World, { service }: Servers): Row[] => {
  const fast = { server: service, connections: 32, delay: 0 };
  const refused = apiRequest(capped.apiKey, "POST", "/usage/sessions", SESSION);
  return [
    { ...fast, name: REFUSED, request: refused, isRefused: true },
    { ...fast, name: SELF, request: apiRequest(capped.apiKey, "GET", "/api-keys/self") },
  ];
};

/** Reports rotate over many sessions. Releases get fresh sessions for each load. */
const changeRows = (world: World, servers: Servers, releases: number): Row[] => {
  const { db, reader, first, many, sessions, firstSessions } = world;
  const used = { usedCreditMicros: 1_000_000 };
  const report = ({ apiKey }: Line, ids: readonly SessionId[]): Request => ({
    ...apiRequest(apiKey, "POST", "/usage/sessions", used),
    paths: pathsOf(ids, "usage"),
  });
  const release =
    (lines: readonly Line[]) =>
    async (supply: number): Promise<Request> => ({
      ...apiRequest("", "POST", "/usage/sessions", used),
      apiKeys: keysOf(lines),
      paths: pathsOf(await openSessions(db, lines, releases * supply), "release"),
      isEachPathOnce: true,
    });
  const avatars = Array.from(
    { length: ROWS },
    (_, at) => `/api/v1/avatars/ava_01h455vb4p${`${at + 1}`.padStart(16, "0")}`,
  );
  const change = apiRequest(reader.apiKey, "PATCH", "/avatars", { displayName: "Eve" });
  const fast = { connections: 32, delay: 0 };
  const slow = { connections: 32, delay: SLOW_COMMIT };
  const { service } = servers;
  return [
    ...[slow, fast].flatMap((speed): Row[] => [
      { ...speed, name: REPORT, server: service, request: report(reader, sessions) },
      { ...speed, name: firstName(REPORT), server: servers.first, request: report(first, firstSessions) },
      { ...speed, name: RELEASE, server: service, prepare: release([world.flat]) },
      { ...speed, name: firstName(RELEASE), server: servers.first, prepare: release([first]) },
      { ...speed, name: RELEASE_MANY, server: service, prepare: release(many) },
      { ...speed, name: firstName(RELEASE_MANY), server: servers.first, prepare: release(many) },
    ]),
    { ...fast, name: CHANGE, server: service, request: { ...change, paths: avatars } },
  ];
};

const readRows = ({ reader }: World, servers: Servers): Row[] => {
  const row = { request: apiRequest(reader.apiKey, "GET", "/credits/balance"), connections: 32, delay: 0 };
  return [
    { ...row, name: BALANCE, server: servers.service },
    { ...row, name: firstName(BALANCE), server: servers.first },
  ];
};

/**
 * The rows whose names contain `only`, with the limit below them. `releases`: how many requests a load of releases makes at
 * most, before it runs out and gets more.
 */
export const selectRows = (world: World, servers: Servers, releases: number, only: string): Row[] => {
  const rows = [
    ...openRows(world, servers),
    ...refusedRows(world, servers),
    ...changeRows(world, servers, releases),
    ...readRows(world, servers),
  ];
  const isNamed = ({ name }: Row): boolean => name.includes(only);
  return rows.some(isNamed) ? rows.filter((row) => isNamed(row) || row.name === HOT) : [];
};
