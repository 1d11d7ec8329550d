/** Faults of the process itself: stopped and continued, without file descriptors, with a log that is not read. */
import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { client } from "@realtime-avatar/testing/database";
import { requestInit } from "../support/api.ts";
import { DEADLINE_MS, possible, runFault, type Scene, terminateBackends } from "./support/scene.ts";

/** Whether the service has logged an error with this code. */
const hasLogged = (log: string, code: string): boolean =>
  log.includes(`"error":{"name":"DatabaseError","code":"${code}"`);

describe("a service stopped by SIGSTOP", () => {
  const STOPPED_MS = 5000;

  test("the service, stopped beyond the deadline: holds no lock, and serves again", async () => {
    await runFault(
      "service stopped for 5 s",
      async ({ load, service, databaseUrl }) => {
        const sql = client(databaseUrl);
        process.kill(service.pid, "SIGSTOP");
        const end = performance.now() + STOPPED_MS;
        try {
          // A process that cannot continue leaves no transaction open: an exclusive lock is available.
          await sql`set lock_timeout = '3s'`;
          const creditTables = ["usage_sessions", "api_key_meters", "credit_accounts", "credit_entries"];
          for (const table of ["api_keys", "avatars", "audit_events", "idempotency_claims", ...creditTables]) {
            await sql.unsafe(`begin; lock table ${table} in access exclusive mode; rollback`);
          }
          await Bun.sleep(end - performance.now());
        } finally {
          process.kill(service.pid, "SIGCONT");
        }
        load.healed();
        await sql.end();
        await load.untilSuccesses(100);
        expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      },
      // Requests in flight wait while the process is stopped, and then have their deadline.
      { deadlineMs: STOPPED_MS + DEADLINE_MS },
    );
  });

  test("the service, stopped briefly ten times: no lost or doubled row", async () => {
    await runFault(
      "service stopped for 0.3 s, 10 times",
      async ({ load, service }) => {
        for (let round = 0; round < 10; round++) {
          process.kill(service.pid, "SIGSTOP");
          await Bun.sleep(300);
          process.kill(service.pid, "SIGCONT");
          load.healed();
          await load.untilSuccesses(20);
        }
      },
      { deadlineMs: DEADLINE_MS + 300 },
    );
  });
});

describe("a service without file descriptors", () => {
  const DESCRIPTORS = 100;
  const EXHAUSTED_MS = 1500;
  /** POSIX: sets the soft limit and the hard limit, so that the process cannot raise it. */
  const limited = ["sh", "-c", `ulimit -n ${DESCRIPTORS} && exec "$@"`, "sh"];

  test("file descriptors, used up: open connections are served, errors say why, then it recovers", async () => {
    const row = await runFault(
      "no file descriptors left",
      async ({ load, service, databaseUrl }) => {
        const idle: Socket[] = [];
        const sql = client(databaseUrl);
        try {
          for (let count = 0; count < 2 * DESCRIPTORS; count++) {
            const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
            idle.push(socket.on("error", () => {}));
          }
          await load.untilSuccesses(50);
          // The service's connections to the database are lost too. Their descriptors go to waiting clients, until none
          // is left: Bun reports a socket that cannot be created as a refused connection.
          while (!hasLogged(service.stdout(), "ECONNREFUSED")) {
            await terminateBackends(sql);
            await Bun.sleep(20);
          }
          await Bun.sleep(EXHAUSTED_MS);
          // This request waits in the backlog of the listening socket, and is served when descriptors are free.
          const waiting = fetch(`${service.url}/healthz`, { headers: { connection: "close" } });
          for (const socket of idle) socket.destroy();
          load.healed();
          expect((await waiting).status).toBe(200);
        } finally {
          for (const socket of idle) socket.destroy();
          await sql.end();
        }
        await load.untilSuccesses(100);
        expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      },
      // A caller whose connection ends meanwhile waits until another one is accepted.
      { command: limited, deadlineMs: DEADLINE_MS + EXHAUSTED_MS },
    );
    expect(row.refused).toBeGreaterThan(0);
  });
});

const hasBash = possible("a log that is not read", Bun.which("bash") !== null, "there is no bash");

describe.skipIf(!hasBash)("a log that is not read", () => {
  /** The log goes through `cat`, which can be stopped. Its pipe is full after 64 KiB. */
  const throughCat = ["bash", "-c", 'exec "$@" > >(exec cat)', "bash"];
  const FLOOD = 60_000;
  const MIB = 2 ** 20;

  /** Sends cheap requests that are logged with long request ids, about 270 bytes each. */
  const flood = async ({ service }: Scene): Promise<void> => {
    const headers = { "x-request-id": "x".repeat(128) };
    let sent = 0;
    const send = async (): Promise<void> => {
      while (sent++ < FLOOD) {
        const { status } = await fetch(`${service.url}/not-a-route`, requestInit("GET", { headers }));
        expect(status).toBe(404);
      }
    };
    await Promise.all(Array.from({ length: 16 }, send));
  };

  /** Stops the reader of the log during a flood. Returns the amount of log during the stop. */
  const stall = async (scene: Scene): Promise<number> => {
    const { load, service } = scene;
    const reader = Number(await Bun.$`ps -o pid= --ppid ${service.pid}`.quiet().text());
    const before = service.stdout().length;
    process.kill(reader, "SIGSTOP");
    try {
      await flood(scene);
      await load.untilSuccesses(100);
    } finally {
      process.kill(reader, "SIGCONT");
    }
    load.healed();
    // The reader gets the buffered lines first, then new ones. Until the buffer has room, a new line may be dropped.
    const marker = "logged-after-the-stall";
    while (!service.stdout().includes(marker)) {
      await fetch(`${service.url}/not-a-route`, { headers: { "x-request-id": marker } });
      await Bun.sleep(20);
    }
    return service.stdout().length - before;
  };

  let keptBytes = 0;

  test("a log that is not read: requests do not wait, and its lines are whole", async () => {
    await runFault(
      "log not read for 16 MiB of lines",
      async (scene) => {
        keptBytes = await stall(scene);
        for (const line of scene.service.stdout().trimEnd().split("\n")) JSON.parse(line);
      },
      { command: throughCat },
    );
  });

  test("a log that is not read: at most 8 MiB of memory", () => {
    expect(keptBytes).toBeLessThan(8 * MIB);
  });
});
