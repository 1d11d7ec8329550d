import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { generate } from "./generate.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test("generated/functions.ts is what `bun run functions` writes", async () => {
  const command = ["node_modules/.bin/biome", "format", "--stdin-file-path=packages/db/generated/functions.ts"];
  const { db } = database;
  const text = await generate((query, values) => db.run(query, values));
  const biome = Bun.spawn(command, { cwd: REPOSITORY, stdin: new Blob([text]), stdout: "pipe" });
  expect(await new Response(biome.stdout).text()).toBe(
    await Bun.file(join(import.meta.dir, "../../generated/functions.ts")).text(),
  );
});
