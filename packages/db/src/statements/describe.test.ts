import { expect, test } from "bun:test";
import { join } from "node:path";
import { testDatabase } from "@realtime-avatar/testing/database";
import { describeStatements } from "./describe.ts";

const GENERATED = join(import.meta.dir, "../../generated");

/** Ignores white space and the changes of a formatter. */
const compact = (text: string): string => text.replaceAll(/[\s;]+/g, "");

test("the listing of statements, compared with the output of bun run statements: equal", async () => {
  const database = await testDatabase();
  const { statements, described } = await describeStatements(database.db.client);
  await database.close();
  expect(await Bun.file(join(GENERATED, "statements.sql")).text()).toBe(statements);
  expect(compact(await Bun.file(join(GENERATED, "described.ts")).text())).toBe(compact(described));
});
