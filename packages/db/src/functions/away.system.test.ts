/**
 * The functions at a node without their shard, as when the shard moves during a call. Needs Citus: see `citus.ts` of
 * testing.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN, startCitus } from "@realtime-avatar/testing/postgres/citus";
import { FUNCTION_FILES } from "../../generated/function-files.ts";

setDefaultTimeout(1_800_000);

const ROOT = join(import.meta.dir, "../../../..");
/**
 * Tests that depend on chance, on times or on the code of a constraint are omitted, because functions are slower here,
 * and the error of a copied row has no code.
 */
const LEFT_OUT =
  "{**/histories.test.ts,**/plans.test.ts,packages/db/src/*.test.ts,packages/db/src/{connection,functions,query,shards,statements}/**}";

/** The tests of functions that the tests of their subject do not call. */
const ELSEWHERE = ["apps/api/src/calls/preloads.test.ts", "apps/api/src/calls/turns.test.ts"];

/** The functions that directly read or write tables. The other functions work in the same way on every node. */
const WITH_TABLES = FUNCTION_FILES.filter((text) =>
  /\b(?:from|join|into|update)\s+(?:public|fleet)\.\w+/.test(text.replaceAll(/--.*/g, "")),
).map((text) => /^create function rta\.(\w+)/m.exec(text)?.[1] ?? "");

describe.skipIf(CITUS_BIN === undefined)("the functions, away from their shard", () => {
  test("each function: the tests of its subject call it, and pass (a new function needs such a test)", async () => {
    const coordinator = await startCitus(CITUS_BIN as string);
    const admin = client(coordinator);
    await admin.unsafe("alter system set track_functions = 'all'");
    await admin.unsafe("select pg_reload_conf()");
    const tests = Bun.spawn(
      [
        process.execPath,
        "test",
        "--timeout=300000",
        `--path-ignore-patterns=${LEFT_OUT}`,
        "packages/db/src/",
        ...ELSEWHERE,
      ],
      {
        cwd: ROOT,
        env: { ...process.env, TEST_SHARD: "away", DATABASE_URL: coordinator },
        ...({ stdout: "ignore", stderr: "pipe" } as const),
      },
    );
    const output = await new Response(tests.stderr).text();
    expect(output.match(/^\(fail\) .*/gm) ?? []).toEqual([]);
    expect(await tests.exited).toBe(0);
    const called = await admin<{ name: string }[]>`
      select distinct funcname as name from pg_stat_user_functions where schemaname ~ '^rta_.*_s[0-9]+$'`;
    const names = new Set(called.map(({ name }) => name));
    expect(WITH_TABLES.filter((name) => name !== "" && !names.has(name))).toEqual([]);
    await admin.end();
  });
});
