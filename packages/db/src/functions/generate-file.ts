/** `bun run functions`: writes `generated/function-files.ts`, and then `generated/functions.ts` from a new embedded database. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateFunctionFiles } from "./files.ts";

const GENERATED = join(import.meta.dir, "../../generated");
await Bun.write(join(GENERATED, "function-files.ts"), await generateFunctionFiles());
// Imported only now, because these modules import the new file.
const { openDatabase } = await import("../open.ts");
const { generate } = await import("./generate.ts");

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-functions-"));
try {
  const config = { databaseUrl: null, dataDirectory: folder, deadlineMs: 5000, connections: 1, prepare: true };
  const { server, close } = await openDatabase(config);
  await Bun.write(join(GENERATED, "functions.ts"), await generate((text, values) => server.run(text, values)));
  await close();
} finally {
  await rm(folder, { recursive: true });
}
