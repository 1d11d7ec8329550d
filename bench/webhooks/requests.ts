/**
 * What events cost the writes over HTTP: the service, beside the same service whose functions have no emission, on a database of its
 * own on the same server, in turns.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { connect } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { FUNCTION_FILES } from "@realtime-avatar/db/generated/function-files";
import { migrate } from "@realtime-avatar/db/migrate";
import postgres from "postgres";
import { apiRequest } from "../contestants.ts";
import { rangeOf, ratiosOf } from "../credits/goals.ts";
import { LEASE_SECONDS, seedLine } from "../credits/world.ts";
import type { Database } from "../database.ts";
import { cpuOfFamily, median } from "../machine.ts";
import { loadOnce, print } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startService } from "../processes.ts";
import { number, table } from "../report.ts";
import { seedEndpoint, withoutEmission } from "./functions.ts";

/** Another database of the server, whose functions have no emission. */
const createWithout = async (url: string): Promise<string> => {
  const admin = postgres(url, { max: 1 });
  await admin.unsafe("create database without_emission template template0");
  await admin.end();
  const own = Object.assign(new URL(url), { pathname: "/without_emission" }).href;
  await migrate(own);
  const client = postgres(own, { max: 1 });
  for (const text of FUNCTION_FILES.filter((file) => withoutEmission(file) !== file)) {
    const replaced = withoutEmission(text).replace("create function", "create or replace function");
    await client.unsafe(replaced.replaceAll("rta.", `${FUNCTIONS_SCHEMA}.`));
  }
  await client.end();
  return own;
};

const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };
const SESSION = { maxSessionSeconds: 1, metadata: { user_id: "u-17" } };
const LOADS = [
  { name: "POST /avatars", path: "/avatars", body: AVATAR },
  { name: "POST /avatars, Idempotency-Key", path: "/avatars", body: AVATAR, isClaimed: true },
  { name: "POST /usage/sessions", path: "/usage/sessions", body: SESSION },
];
const VARIANTS = ["without emission", "no endpoint", "one endpoint"] as const;

/** How much more each takes, of ratios of rates. */
const more = (ratios: readonly number[]): string =>
  rangeOf(
    ratios.map((ratio) => 100 * (ratio - 1)),
    (value) => `${value.toFixed(1)} %`,
  );

/** Loads each variant in turns, with `connections`, and prints rates, processor time, and ratios. */
export const measureRequests = async (
  database: Database,
  { rounds, seconds, connections, only }: Pick<Options, "rounds" | "seconds" | "connections" | "only">,
): Promise<void> => {
  const url = await createWithout(database.url);
  buildService();
  const lease = { SESSION_START_SECONDS: `${LEASE_SECONDS}` };
  const services = {
    old: await startService(database.folder, "old", url, lease),
    own: await startService(database.folder, "own", database.url, lease),
  };
  const pools: Db[] = [];
  const seed = async (databaseUrl: string, hasEndpoint: boolean) => {
    const db = connect(databaseUrl, { deadlineMs: 60_000, connections: 1 });
    pools.push(db);
    const { apiKey, caller } = await seedLine(db, 0);
    if (hasEndpoint) await seedEndpoint(db, caller);
    return { apiKey, db };
  };
  const worlds = {
    "without emission": { ...(await seed(url, false)), server: services.old },
    "no endpoint": { ...(await seed(database.url, false)), server: services.own },
    "one endpoint": { ...(await seed(database.url, true)), server: services.own },
  };
  const rows: string[][] = [];
  for (const { name, path, body, isClaimed = false } of LOADS.filter((load) => load.name.includes(only))) {
    for (const count of connections) {
      const rates = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
      const cpus = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
      for (let round = -1; round < rounds; round++) {
        for (const turn of [0, 1, 2]) {
          const variant = VARIANTS[(round + 1 + turn) % 3] as (typeof VARIANTS)[number];
          const { apiKey, server, db } = worlds[variant];
          // In the first round the tables of events were empty.
          await db.run("vacuum analyze", []);
          await db.run("checkpoint", []);
          const request = apiRequest(apiKey, "POST", path, body);
          const cpu = async () => (await cpuOfFamily(database.pid)) + (await cpuOfFamily(server.pid));
          const before = await cpu();
          const load = await loadOnce(
            { database, options: { seconds } },
            { name, server, request, isClaimed },
            count,
            seconds,
          );
          if (round < 0) continue;
          rates.get(variant)?.push(load.rate);
          cpus.get(variant)?.push(((await cpu()) - before) / load.count);
        }
      }
      const [base = [], none = [], one = []] = VARIANTS.map((variant) => rates.get(variant) ?? []);
      const [cpuBase = [], cpuNone = [], cpuOne = []] = VARIANTS.map((variant) => cpus.get(variant) ?? []);
      rows.push([
        name,
        `${count}`,
        ...[base, none, one].map((values) => number(median(values))),
        ...[more(ratiosOf(base, none)), more(ratiosOf(base, one))],
        [cpuBase, cpuNone, cpuOne].map((values) => (1e6 * median(values)).toFixed(0)).join(" / "),
        ...[more(ratiosOf(cpuNone, cpuBase)), more(ratiosOf(cpuOne, cpuBase))],
      ]);
      print(rows.at(-1)?.join("  ") ?? "");
    }
  }
  for (const db of pools) await db.close();
  for (const service of Object.values(services)) await service.end();
  print(
    table(
      [
        "a second",
        "connections",
        ...VARIANTS,
        "time of one more: no endpoint",
        "one endpoint",
        "processor time of service and database, us",
        "no endpoint",
        "one endpoint",
      ],
      rows,
    ),
  );
};
