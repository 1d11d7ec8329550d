/**
 * Webhooks while workers and PostgreSQL are killed at random: changes of avatars, some of them rolled back, beside two
 * workers that send to a receiver that sometimes fails. Afterwards each event of a committed change has arrived at
 * least once at each endpoint (0 lost). No event of an uncommitted change has arrived (0 invented). Each event has one
 * body, and ordered endpoints got their events in order. `LONG=1` makes 20,000 changes.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { insertAvatar, updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { BatchKind } from "@realtime-avatar/db/connection/batch";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import type { AvatarId } from "@realtime-avatar/domain/id";
import { client } from "@realtime-avatar/testing/database";
import { fixture } from "@realtime-avatar/testing/fixture";
import { startCluster } from "@realtime-avatar/testing/postgres/cluster";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { inStatus, plannedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { seedSealedEndpoint } from "../src/webhooks/world.testing.ts";

const isLong = process.env["LONG"] === "1";
const CHANGES = isLong ? 20_000 : 100;
const [TENANTS, WRITERS, WORKERS] = [3, 6, 2];

// Only processes are killed, so the operating system keeps their written data.
const cluster = await fixture(startCluster({ settings: { fsync: "off", max_connections: "100" } }));
const url = await cluster.newDatabase();
const chance = (part: number): boolean => Math.random() < part;

/** The requests that the receiver has received. */
const receipts = {
  /** The bodies of each event. */
  bodies: new Map<string, Set<string>>(),
  /** The endpoints that have accepted each event. */
  accepted: new Map<string, Set<string>>(),
  /** The last sequence of each target that an endpoint has accepted. */
  last: new Map<string, number>(),
  outOfOrder: [] as string[],
  requests: 0,
};
const addTo = (map: Map<string, Set<string>>, key: string, value: string): void => {
  map.set(key, (map.get(key) ?? new Set()).add(value));
};

const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const [body, path] = [Buffer.concat(chunks).toString("utf8"), request.url ?? ""];
    const eventId = String(request.headers["webhook-id"]);
    const { data } = JSON.parse(body);
    receipts.requests++;
    addTo(receipts.bodies, eventId, body);
    if (path.startsWith("/ordered")) {
      const last = receipts.last.get(`${path} ${data.id}`) ?? 0;
      // The event repeats the last accepted one, or is the next one. So none was skipped, and none arrives after a
      // later one.
      if (data.sequence !== last && data.sequence !== last + 1) {
        receipts.outOfOrder.push(`${path} ${data.id}: ${data.sequence} after ${last}`);
      }
    }
    const outcome = Math.random();
    if (outcome < 0.02) return void response.writeHead(500).end();
    // Some requests get no response until the sender ends them.
    if (outcome < 0.025) return;
    addTo(receipts.accepted, eventId, path);
    receipts.last.set(`${path} ${data.id}`, data.sequence);
    response.writeHead(204).end();
  });
});
await new Promise<void>((resolve) => receiver.listen(0, "localhost", resolve));
await fixture({
  close: async () => {
    receiver.closeAllConnections();
    receiver.close();
  },
});
const { port } = receiver.address() as AddressInfo;
setDefaultTimeout(3_600_000);
const DRAINED_MS = 600_000;

const seedTenants = async () => {
  const db = Object.assign(connect(url), { client: client(url) });
  const callers = await Promise.all(Array.from({ length: TENANTS }, () => seedCaller(db)));
  const endpoints = callers.flatMap((caller, at) => [
    { caller, url: `http://localhost:${port}/ordered/${at}`, ordered: true },
    { caller, url: `http://localhost:${port}/any/${at}`, ordered: false },
  ]);
  for (const { caller, ...fields } of endpoints) {
    await seedSealedEndpoint(db, caller, { ...fields, events: ["avatar.*"] });
  }
  await Promise.all([db.client.end(), db.close()]);
  return callers;
};

/** The history of the writers. */
const history = { changes: 0, written: 0, rolledBack: [] as string[], divided: 0, unknown: 0 };

/** A create whose statement fails after its function has run, so it is rolled back. */
const rollBack = async (db: Db, caller: Caller): Promise<void> => {
  const failing = {
    run: (text: string, parameters: readonly unknown[]) =>
      db.run(`select 1 / (0 * count(*)) from (${text}) written`, parameters, "rolled_back"),
  };
  const batch = async (kind: BatchKind<unknown, unknown>, input: unknown) =>
    (await kind.run(failing as Db, [input]))[0];
  const avatar = plannedAvatar(caller);
  history.rolledBack.push(avatar.id);
  const code = await insertAvatar(
    { ...failing, batch } as unknown as Db,
    avatar,
    null,
    caller,
    seedOrigin(caller),
  ).then(
    () => "written",
    (error: { code?: string }) => error.code,
  );
  if (code === "written") throw new Error("it was not rolled back");
  if (code === "22012") history.divided++;
};

/**
 * Changes avatars until the number of changes suffices. No change is repeated; unknown outcomes are read from the audit
 * trail at the end.
 */
const write = async (db: Db, callers: readonly Caller[]): Promise<void> => {
  const avatars: { caller: Caller; id: AvatarId }[] = [];
  while (history.changes < CHANGES) {
    history.changes++;
    const caller = callers[Math.floor(Math.random() * callers.length)] as Caller;
    const known = avatars[Math.floor(Math.random() * avatars.length)];
    try {
      if (chance(0.05)) {
        await rollBack(db, caller);
      } else if (!known || chance(0.1)) {
        const avatar = plannedAvatar(caller);
        const { kind } = await insertAvatar(db, avatar, null, caller, seedOrigin(caller));
        if (kind === "written") avatars.push({ caller, id: avatar.id });
        history.written++;
      } else {
        const changes = { displayName: `${Math.random()}` };
        await updateAvatar(db, known.id, changes, inStatus("draft"), known.caller, seedOrigin(known.caller));
        history.written++;
      }
    } catch {
      history.unknown++;
      await Bun.sleep(50);
    }
  }
};

type Part = { kill(): Promise<void>; start(): Promise<void> };
const senderPart = (): Part => {
  let running: RunningProcess;
  return {
    start: async () => {
      running = startProcess(bun("apps/worker/test/support/sender.ts"), { DATABASE_URL: url });
      await running.waitFor(/"msg":"started"/);
    },
    kill: async () => {
      running.kill("SIGKILL");
      await running.exited;
    },
  };
};

/** Kills one part after another at random moments, each at least once, until `isDone`. Returns the number of kills. */
const killAtRandom = async (parts: readonly Part[], isDone: () => boolean): Promise<number> => {
  let kills = 0;
  for (; kills < parts.length || !isDone(); kills++) {
    await Bun.sleep(300 + (isLong ? 3000 : 700) * Math.random());
    const part = parts[kills % parts.length] as Part;
    await part.kill();
    await part.start();
  }
  return kills;
};

/** Lets the pauses between attempts pass until no delivery is pending. Returns the final contents of the database. */
const drain = async () => {
  const sql = client(url);
  const pending = () => sql`select * from webhook_deliveries where status = 'pending' limit 10`;
  const isDrained = async (): Promise<boolean> => {
    await sql`
      update webhook_deliveries set next_attempt_at = now()
      where status = 'pending' and lease is null and next_attempt_at > now()`;
    return (await pending()).length === 0;
  };
  await until(isDrained, { limitMs: DRAINED_MS, pollMs: 200, state: pending });
  const events = await sql<{ id: string; name: string; tenantId: string }[]>`
    select id, type || ' ' || target_id as name, tenant_id as "tenantId" from webhook_events`;
  const audited = await sql<{ name: string }[]>`
    select action || ' ' || target_id as name from audit_events where action like 'avatar.%'`;
  const failed = await sql`select from webhook_deliveries where status <> 'delivered'`;
  await sql.end();
  return { events, audited, failed: failed.length };
};

test("workers and PostgreSQL, killed while avatars change: 0 lost, 0 invented, 0 out of order", async () => {
  const callers = await seedTenants();
  const senders = Array.from({ length: WORKERS }, senderPart);
  await Promise.all(senders.map((part) => part.start()));
  const db = connect(url, { connections: WRITERS, deadlineMs: 5000 });
  const writing = Promise.all(Array.from({ length: WRITERS }, () => write(db, callers)));
  let isWritten = false;
  const parts = [...senders, { kill: cluster.kill, start: cluster.start }];
  const killing = killAtRandom(parts, () => isWritten);
  await writing;
  isWritten = true;
  const kills = await killing;
  const { events, audited, failed } = await drain();
  await Promise.all(senders.map((part) => part.kill()));
  await db.close();

  const names = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name).sort();
  // An event for each change of the audit trail, and no other.
  expect(names(events)).toEqual(names(audited));
  expect(audited.length).toBeGreaterThanOrEqual(history.written);
  const tenants = callers.map(({ tenantId }) => tenantId as string);
  const lost = events.filter(({ id, tenantId }) => {
    const at = tenants.indexOf(tenantId);
    const accepted = receipts.accepted.get(id);
    return !accepted?.has(`/ordered/${at}`) || !accepted.has(`/any/${at}`) || accepted.size !== 2;
  });
  const known = new Set(events.map(({ id }) => id));
  const invented = [...receipts.bodies.keys()].filter((id) => !known.has(id));
  const changed = [...receipts.bodies.values()].filter((bodies) => bodies.size > 1);
  if (isLong) {
    const counts = {
      ...history,
      rolledBack: history.rolledBack.length,
      events: events.length,
      requests: receipts.requests,
    };
    process.stdout.write(`${JSON.stringify({ ...counts, kills })}\n`);
  }
  expect({ lost, invented, changed, outOfOrder: receipts.outOfOrder, failed }).toEqual({
    lost: [],
    invented: [],
    changed: [],
    outOfOrder: [],
    failed: 0,
  });
  const sent = [...receipts.bodies.values()].flatMap((bodies) => [...bodies]).join("\n");
  expect(history.divided).toBeGreaterThan(0);
  expect(history.rolledBack.filter((id) => sent.includes(id))).toEqual([]);
});
