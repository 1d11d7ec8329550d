/** Faults of a service whose database lacks a migration. */
import { describe, expect, test } from "bun:test";
import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { bun, runToEnd } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { ask, cluster, runFault, seedRoot, startService } from "./support/scene.ts";
import { notOnCitus, ownerClient } from "./support/server.ts";

describe("a migration", () => {
  test("a migration, not yet applied: every write is refused with a known outcome", async () => {
    const row = await runFault("migration not yet applied", async ({ load, databaseUrl }) => {
      const sql = ownerClient(databaseUrl);
      await sql`alter table idempotency_claims rename to not_yet`;
      await load.untilFailure();
      await Bun.sleep(500);
      await sql`alter table not_yet rename to idempotency_claims`;
      load.healed();
      await sql.end();
    });
    expect([row.refused > 0, row.unknown]).toEqual([true, 0]);
  });

  test.skipIf(!IS_ONE_DATABASE)(
    `a migration of an empty database under a running service: ready and serving after it${notOnCitus("a service finds its databases when it starts")}`,
    async () => {
      const empty = cluster.url("never_migrated");
      const admin = client(cluster.url("postgres"));
      await admin.unsafe("create database never_migrated encoding 'UTF8' locale 'C' template template0");
      await admin.end();
      const service = await startService(empty);
      const key = generateApiKey("live", random).reveal();
      const early = await ask(service, "POST", "/api/v1/avatars", {
        key,
        body: { displayName: "x", sourceKind: "image" },
      });
      expect([early.status, early.body.code, early.headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
      const [unready, live] = [await ask(service, "GET", "/readyz"), await ask(service, "GET", "/healthz")];
      expect([unready.status, unready.body.reason, live.status]).toEqual([503, "migrations_pending", 200]);
      const { code } = await runToEnd(bun("apps/cli/src/main.ts", "migrate"), { DATABASE_URL: empty });
      expect(code).toBe(0);
      expect((await ask(service, "GET", "/readyz")).status).toBe(200);
      const late = await ask(service, "POST", "/api/v1/avatars", {
        key: await seedRoot(empty),
        body: { displayName: "x", sourceKind: "image" },
      });
      expect(late.status).toBe(201);
    },
  );
});
