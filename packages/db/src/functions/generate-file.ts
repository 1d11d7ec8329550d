/** `bun run functions`: writes `generated.ts`, from a new embedded database. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../open.ts";
import { generate } from "./generate.ts";

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-functions-"));
try {
  const config = { databaseUrl: null, dataDirectory: folder, deadlineMs: 5000, connections: 1, prepare: true };
  const { db, close } = await openDatabase(config);
  await Bun.write(join(import.meta.dir, "generated.ts"), await generate((text, values) => db.run(text, values)));
  await close();
} finally {
  await rm(folder, { recursive: true });
}
