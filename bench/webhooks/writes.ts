/**
 * The cost of events for a create over HTTP. The variants are services with separate databases on one server. They are
 * measured in turns, so that a slow machine slows all of them. The first one writes no events.
 */
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { FUNCTION_FILES } from "@realtime-avatar/db/generated/function-files";
import { migrate } from "@realtime-avatar/db/migrate";
import postgres from "postgres";
import { attempt } from "../cannot-measure.ts";
import { apiRequest } from "../contestants.ts";
import { divideRates, formatRange } from "../credits/goals.ts";
import { seedLine } from "../credits/world.ts";
import type { Database } from "../database.ts";
import { cpuOfFamily, median, type Process } from "../machine.ts";
import { loadOnce } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startService } from "../processes.ts";
import { number, table } from "../report.ts";
import { endpointAt, type Receiver, startOwn } from "./world.ts";

const VARIANTS = ["no events", "no endpoint", "one endpoint", "one, and its sender runs"] as const;
type Variant = (typeof VARIANTS)[number];
type World = { apiKey: string; db: Db; server: Process };

/** Replaces the function that writes the events of a create by one that writes none. */
const removeEvents = async (url: string): Promise<void> => {
  const text = FUNCTION_FILES.find((file) => file.includes("create function rta.insert_audit_events(")) ?? "";
  const without = text.replace(/^ {2}if p_are_events then\n[\s\S]*^ {2}end if;\n/m, "");
  if (without.includes("rta.emit_events(")) throw new Error("insert_audit_events writes events");
  const client = postgres(url, { max: 1 });
  await client.unsafe(
    without.replace("create function", "create or replace function").replaceAll("rta.", `${FUNCTIONS_SCHEMA}.`),
  );
  await client.end();
};

const startWorld = async ({ url, db: admin, folder }: Database, receiver: Receiver, at: number): Promise<World> => {
  const name = `webhooks_${at}`;
  await admin.run(`create database ${name} template template0`, []);
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await migrate(own);
  if (VARIANTS[at] === "no events") await removeEvents(own);
  const db = connect(own, { deadlineMs: 60_000, connections: 4 });
  const { apiKey, caller } = await seedLine(db, 0);
  if (VARIANTS[at]?.startsWith("one")) await endpointAt(db, receiver, caller, "/writes");
  return { apiKey, db, server: await startService(folder, name, own) };
};

const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };

/**
 * Measures creates of each variant in turns. Returns tables of the additional cost compared with the variant without
 * events.
 */
export const measureWrites = async (
  database: Database,
  receiver: Receiver,
  { rounds, seconds, connections }: Pick<Options, "rounds" | "seconds" | "connections">,
): Promise<string> => {
  buildService();
  const worlds = new Map<Variant, World>();
  for (const [at, variant] of VARIANTS.entries()) worlds.set(variant, await startWorld(database, receiver, at));
  /** Creates a second, and the processor time of each, in microseconds, of service and database. */
  const load = async (variant: Variant, count: number): Promise<[rate: number, cpu: number] | null> => {
    const { apiKey, db, server } = worlds.get(variant) as World;
    // The first round is left out, because the tables of events were empty.
    await db.run("vacuum analyze", []);
    await db.run("checkpoint", []);
    const sender = variant === "one, and its sender runs" ? startOwn(db, receiver) : null;
    const request = apiRequest(apiKey, "POST", "/avatars", AVATAR);
    const cpu = async () => (await cpuOfFamily(database.pid)) + (await cpuOfFamily(server.pid));
    const before = await cpu();
    const contestant = { name: variant, server, request };
    const loaded = await attempt(`${variant} at ${count}`, () =>
      loadOnce({ database, options: { seconds } }, contestant, count, seconds),
    );
    const after = await cpu();
    await sender?.stop();
    return loaded && [loaded.rate, (1e6 * (after - before)) / loaded.count];
  };
  const rows: string[][] = [];
  for (const count of connections) {
    const figures = new Map<Variant, [number, number][]>(VARIANTS.map((variant) => [variant, []]));
    for (let round = -1; round < (rounds ?? 1); round++) {
      for (const turn of VARIANTS.keys()) {
        const variant = VARIANTS[(round + 1 + turn) % VARIANTS.length] as Variant;
        const measured = await load(variant, count);
        if (round >= 0 && measured) figures.get(variant)?.push(measured);
      }
    }
    const all = (variant: Variant, at: 0 | 1): number[] => (figures.get(variant) ?? []).map((figure) => figure[at]);
    const more = (ratios: readonly number[]): string =>
      formatRange(
        ratios.map((ratio) => 100 * (ratio - 1)),
        (value) => `${value.toFixed(0)} %`,
      );
    for (const variant of VARIANTS) {
      const [rates, cpus] = [all(variant, 0), all(variant, 1)];
      const [slower, costlier] = [divideRates(all("no events", 0), rates), divideRates(cpus, all("no events", 1))];
      const compared = variant === "no events" ? ["", ""] : [more(slower), more(costlier)];
      rows.push([`${count}`, variant, number(median(rates)), `${number(median(cpus))} µs`, ...compared]);
    }
  }
  for (const { db, server } of worlds.values()) {
    await db.close();
    await server.end();
  }
  return table(["connections", "a create", "a second", "processor time", "slower by", "more processor time"], rows);
};
