/** The backups of docs/deployment.md, made with its own commands. */
import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type EmbeddedDatabase, openEmbedded } from "@realtime-avatar/db/connection/embedded";
import { migrate } from "@realtime-avatar/db/migrate";
import type { AuditEvent } from "@realtime-avatar/domain/audit";
import { client, preparedDataDirectory, session } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { REPOSITORY, runToEnd } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { TestApi } from "../support/api.ts";
import { start, stop } from "../support/process.ts";

const document = await readFile(join(REPOSITORY, "docs/deployment.md"), "utf8");
/** The commands of the fenced block under `<!-- command: NAME -->`. */
const commandOf = (name: string): string => {
  const [, text] = document.match(new RegExp(`<!-- command: ${name} -->\n\`\`\`sh\n(.*?)\`\`\``, "s")) ?? [];
  if (text === undefined) throw new Error(`docs/deployment.md has no command "${name}"`);
  return text;
};

const folder = await fileFolder();
let server: EmbeddedDatabase | null = null;
afterAll(() => server?.close());

/** Runs the commands of the document in the folder of the test. */
const follow = async (name: string, variables: Record<string, string>): Promise<void> => {
  const { code, stderr } = await runToEnd(["sh", "-ec", `cd "$0"\n${commandOf(name)}`, folder], variables);
  expect([code, stderr]).toEqual([0, ""]);
};

const avatar = {
  displayName: "Ada 漢",
  sourceKind: "image",
  settings: { b: 1e308, a: [0.1, "\u2028"] },
  metadata: { "": { deep: [null, true] }, text: "x".repeat(5000) },
};
const once = { body: { displayName: "once", sourceKind: "video" }, headers: { "idempotency-key": "the-same" } };

/** Requests that every restored service must answer like the first one. */
const asked = async ({ call }: Pick<TestApi, "call">, key: string, id: string) => {
  const [found, self, events, list] = await Promise.all([
    call("GET", `/api/v1/avatars/${id}`, { key }),
    call("GET", "/api/v1/api-keys/self", { key }),
    call("GET", "/api/v1/audit-events?limit=100", { key }),
    call("GET", "/api/v1/avatars?limit=100", { key }),
  ]);
  const { lastUsedAt: _, ...lasting } = self.body;
  // A service without users writes a new link for the first user at each start.
  const { data, nextCursor }: { data: AuditEvent[]; nextCursor: string | null } = events.body;
  const kept = data.filter(({ action }) => action !== "invitation.created");
  return [found.status, found.text, found.headers.get("etag"), lasting, { data: kept, nextCursor }, list.text];
};

/** The folder in which Debian installs PostgreSQL, with the programs for a backup. */
const DEBIAN = "/usr/lib/postgresql";
const [newest] = existsSync(DEBIAN)
  ? (await readdir(DEBIAN))
      .filter((version) => existsSync(join(DEBIAN, version, "bin/postgres")))
      .toSorted((a, b) => Number(b) - Number(a))
  : [];
const BINARIES = newest === undefined ? null : join(DEBIAN, newest);

test.skipIf(BINARIES === null)(
  "a database, dumped while the service runs, restored: keys, replays and trail as before",
  async () => {
    const PATH = `${BINARIES}/bin:${process.env["PATH"]}`;
    server = await openEmbedded(join(folder, "server"), { binaries: BINARIES ?? "", settings: { fsync: "off" } });
    const ADMIN_URL = server.url;
    const urlOf = (name: string): string => ADMIN_URL.replace(/\/postgres$/, `/${name}`);
    const [DATABASE_URL, NEW_URL] = [urlOf("avatars"), urlOf("avatars_again")];
    const admin = client(ADMIN_URL);
    await admin`create database avatars encoding 'UTF8' locale 'C' template template0`;
    await migrate(DATABASE_URL);
    const seeds = session(DATABASE_URL);
    const { secret } = await seedKey(seeds, await seedTenant(seeds), { environment: "live", scopes: ["*"] });
    await seeds.close();
    const key = secret.reveal();

    const first = await start({ DATABASE_URL });
    const { body: made } = await first.call("POST", "/api/v1/avatars", { key, body: avatar });
    const { body: child } = await first.call("POST", "/api/v1/api-keys", {
      key,
      body: { name: "lost", scopes: ["*"] },
    });
    expect((await first.call("DELETE", `/api/v1/api-keys/${child.id}`, { key })).body.status).toBe("revoked");
    const original = await first.call("POST", "/api/v1/avatars", { key, ...once });
    expect([made.displayName, original.status]).toEqual([avatar.displayName, 201]);
    const before = await asked(first, key, made.id);
    await follow("backup", { PATH, DATABASE_URL });
    expect(await stop(first)).toBe(0);
    await admin`drop database avatars`;

    await follow("restore", { PATH, NEW_URL, ADMIN_URL });
    expect(await migrate(NEW_URL)).toBe(false);
    const second = await start({ DATABASE_URL: NEW_URL });
    expect((await second.call("GET", "/readyz")).status).toBe(200);
    expect(await asked(second, key, made.id)).toEqual(before);
    const revoked = await second.call("GET", "/api/v1/api-keys/self", { key: child.apiKey });
    expect([revoked.status, revoked.body.code]).toEqual([401, "revoked_api_key"]);
    const replayed = await second.call("POST", "/api/v1/avatars", { key, ...once });
    expect([replayed.status, replayed.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(replayed.text).toBe(original.text);
    expect((await second.call("POST", "/api/v1/avatars", { key, body: avatar })).status).toBe(201);
    const restored = client(NEW_URL);
    for (const change of [
      "update audit_events set action = 'x'",
      "delete from audit_events",
      "truncate audit_events",
    ]) {
      await expect(restored.unsafe(change)).rejects.toThrow("append-only");
    }
    await restored.end();
    expect(await stop(second)).toBe(0);
    await admin.end();
  },
);

test("the embedded data, copied while stopped: the copy serves the same keys and avatars", async () => {
  const [data, copy] = [await preparedDataDirectory(join(folder, ".data")), join(folder, ".data-copy")];
  const first = await start({ DATA_DIR: data });
  const [, key = ""] = await first.waitFor(/export API_KEY=(\S+)/);
  const { body: made } = await first.call("POST", "/api/v1/avatars", { key, body: avatar });
  const original = await first.call("POST", "/api/v1/avatars", { key, ...once });
  const before = await asked(first, key, made.id);
  expect(await stop(first)).toBe(0);
  await follow("cold copy", {});
  await rm(data, { recursive: true });

  expect((await stat(join(copy, "password"))).mode & 0o777).toBe(0o600);
  const second = await start({ DATA_DIR: copy });
  expect((await second.call("GET", "/readyz")).status).toBe(200);
  expect(await asked(second, key, made.id)).toEqual(before);
  expect((await second.call("POST", "/api/v1/avatars", { key, ...once })).text).toBe(original.text);
  expect(await stop(second)).toBe(0);
  // No second first key was created. The link for the first user is new.
  expect(second.stderr()).not.toMatch(/rta_(live|test)_/);
});
