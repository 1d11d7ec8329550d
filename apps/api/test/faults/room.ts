/** Faults of a server without free resources: disk space, or connections. */
import { describe, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { client } from "@realtime-avatar/testing/database";
import { canMountDisk, mountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { possible, runFault } from "./support/scene.ts";
import { startServer } from "./support/server.ts";

const fillDisk = async (disk: string): Promise<void> => {
  const settings = { max_wal_size: "32MB", min_wal_size: "32MB" };
  const small = await startServer({ data: join(disk, "data"), settings });
  const ballast = join(disk, "ballast");
  await runFault(
    "disk full",
    async ({ load, databaseUrl }) => {
      await Bun.$`dd if=/dev/zero of=${ballast} bs=64k`.quiet().nothrow();
      await load.untilFailure();
      // Without room for the next segment of its log, the server stops and closes all connections.
      const sql = client(databaseUrl);
      await sql`select pg_switch_wal()`.catch(() => {});
      await Bun.sleep(1000);
      await sql.end({ timeout: 0 });
      await rm(ballast);
      if (!(await small.isRunning())) await small.start();
      const probe = client(small.url("postgres"));
      await until(async () => (await probe`select 1`.catch(() => [])).length > 0);
      await probe.end();
      load.healed();
    },
    { databaseUrl: await small.newDatabase() },
  );
  await small.close();
};

describe("a server without free resources", () => {
  test.skipIf(!possible("disk full", canMountDisk, "this user may not mount a tmpfs"))(
    "a server, its disk full: no lost or doubled row",
    async () => {
      const disk = await temporaryFolder();
      const unmount = await mountDisk(disk, "160m");
      try {
        await fillDisk(disk);
      } finally {
        unmount();
        await rm(disk, { recursive: true });
      }
    },
  );

  test("a server, without free connections: no lost or doubled row", async () => {
    const crowded = await startServer({ settings: { max_connections: "20" } });
    await runFault(
      "too many connections",
      async ({ load, databaseUrl }) => {
        const admin = client(databaseUrl);
        await admin`select 1`;
        const hogs: ReturnType<typeof client>[] = [];
        const pids: string[] = [];
        // Another client takes each connection that the service loses, until the service has no connection.
        for (let refused = 0; refused < 10; ) {
          const hog = client(databaseUrl);
          const [row] = await hog<{ pid: number }[]>`select pg_backend_pid() as pid`.catch(() => []);
          if (row) {
            refused = 0;
            hogs.push(hog);
            pids.push(String(row.pid));
          } else {
            refused++;
            await hog.end({ timeout: 0 });
            await admin`
              select pg_terminate_backend(pid) from pg_stat_activity
              where backend_type = 'client backend' and pid::text <> all(${pids}::text[]) and pid <> pg_backend_pid()`;
          }
        }
        await load.untilFailure();
        await Bun.sleep(1000);
        await Promise.all([...hogs, admin].map((one) => one.end()));
        load.healed();
      },
      { databaseUrl: await crowded.newDatabase() },
    );
    await crowded.close();
  });
});
