/** `bun run statements`: writes `statements.sql` and `described.ts`, from a new embedded database. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { driver } from "../connection/server/driver.ts";
import { type Host, parseHosts } from "../connection/server/hosts.ts";
import { openDatabase } from "../open.ts";
import { describeStatements } from "./describe.ts";

const GENERATED = join(import.meta.dir, "../../generated");
const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-statements-"));
try {
  const config = { databaseUrl: null, dataDirectory: folder, deadlineMs: 5000, connections: 1, prepare: true };
  const { url, close } = await openDatabase(config);
  const client = driver(url, parseHosts(url)[0] as Host);
  const { statements, described } = await describeStatements(client);
  await Bun.write(join(GENERATED, "statements.sql"), statements);
  await Bun.write(join(GENERATED, "described.ts"), described);
  await client.end();
  await close();
} finally {
  await rm(folder, { recursive: true });
}
