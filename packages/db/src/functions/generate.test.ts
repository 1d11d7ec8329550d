import { expect, test } from "bun:test";
import { join } from "node:path";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { generate } from "./generate.ts";

/** Only on one database. */
const database = await fileDatabase({ isOne: true });

test("generated/functions.ts, compared with what `bun run functions` writes: equal", async () => {
  const command = ["node_modules/.bin/biome", "format", "--stdin-file-path=packages/db/generated/functions.ts"];
  const { db } = database;
  const text = await generate((query, values) => db.run(query, values));
  const biome = Bun.spawn(command, { cwd: REPOSITORY, stdin: new Blob([text]), stdout: "pipe" });
  expect(await new Response(biome.stdout).text()).toBe(
    await Bun.file(join(import.meta.dir, "../../generated/functions.ts")).text(),
  );
});
