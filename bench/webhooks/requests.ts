/**
 * What events cost the writes over HTTP, in turns: three services, each with a database of its own on one server. The functions of the
 * first have no emission; the tenant of the last has an endpoint.
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
import { cpuOfFamily, median, type Process } from "../machine.ts";
import { loadOnce } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startService } from "../processes.ts";
import { print } from "../progress.ts";
import { number, table } from "../report.ts";
import { seedEndpoint, withoutEmission } from "./functions.ts";

/** Another database of the server; without `hasEmission`, its functions have no emission. */
const createDatabase = async (url: string, name: string, hasEmission: boolean): Promise<string> => {
  const admin = postgres(url, { max: 1 });
  await admin.unsafe(`create database ${name} template template0`);
  await admin.end();
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await migrate(own);
  if (hasEmission) return own;
  const client = postgres(own, { max: 1 });
  for (const text of FUNCTION_FILES.filter((file) => withoutEmission(file) !== file)) {
    const replaced = withoutEmission(text).replace("create function", "create or replace function");
    await client.unsafe(replaced.replaceAll("rta.", `${FUNCTIONS_SCHEMA}.`));
  }
  await client.end();
  return own;
};

const ROUNDS = 3;
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
  buildService();
  const worlds = new Map<string, { apiKey: string; db: Db; server: Process }>();
  for (const variant of VARIANTS) {
    const name = variant.replace(" ", "_");
    const url = await createDatabase(database.url, name, variant !== "without emission");
    const server = await startService(database.folder, name, url, { SESSION_START_SECONDS: `${LEASE_SECONDS}` });
    const db = connect(url, { deadlineMs: 60_000, connections: 1 });
    const { apiKey, caller } = await seedLine(db, 0);
    if (variant === "one endpoint") await seedEndpoint(db, caller);
    worlds.set(variant, { apiKey, db, server });
  }
  const rows: string[][] = [];
  for (const { name, path, body, isClaimed = false } of LOADS.filter((load) => load.name.includes(only))) {
    for (const count of connections) {
      const rates = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
      const cpus = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
      for (let round = -1; round < (rounds ?? ROUNDS); round++) {
        for (const turn of [0, 1, 2]) {
          const variant = VARIANTS[(round + 1 + turn) % 3] as (typeof VARIANTS)[number];
          const { apiKey, server, db } = worlds.get(variant) as { apiKey: string; db: Db; server: Process };
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
  for (const { db, server } of worlds.values()) {
    await db.close();
    await server.end();
  }
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
