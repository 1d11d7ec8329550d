/** Runs the command line as a process, on a database of its own for each test file. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertAvatar } from "@realtime-avatar/db/statements/avatars";
import { findCredential } from "@realtime-avatar/db/statements/callers";
import { newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import type { Environment } from "@realtime-avatar/domain/environment";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { bun, runToEnd } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";

export const PROGRAM = "apps/cli/src/main.ts";

export const UNKNOWN = "key_01h455vb4pex5vsknk084sn02q";
export const UNKNOWN_AVATAR = "ava_01h455vb4pex5vsknk084sn02q";

/** Runs the command line with these environment variables. */
export const run = (variables: Record<string, string>, ...args: string[]) => runToEnd(bun(PROGRAM, ...args), variables);

/** Creates an avatar in an environment, and returns its id. */
export const seedAvatar = async (db: Db, tenantId: TenantId, environment: Environment): Promise<string> => {
  const { secret } = await seedKey(db, tenantId, { environment, scopes: ["*"] });
  const found = await findCredential(db, secret.keyId);
  if (!found) throw new Error("no caller");
  const origin = { ...operatorOrigin(), actor: found.caller };
  const of = { id: newId("ava", origin.now, random), tenantId, environment, defaultModelId: "m", now: origin.now };
  await insertAvatar(db, newAvatar({ displayName: "a\u0007", sourceKind: "image" }, of), null, found.caller, origin);
  return of.id;
};

/** Gives a test file a database with one tenant, and commands on it. */
export const cliTests = () => {
  let database: TestDatabase;
  let tenantId: TenantId;
  // No test asserts a duration: a slow disk must not fail one.
  setDefaultTimeout(60_000);
  beforeAll(async () => {
    database = await testDatabase();
    tenantId = await seedTenant(database.db);
  });
  afterAll(() => database.close());

  const cli = (...args: string[]) => run({ DATABASE_URL: database.url }, ...args);
  return {
    get db() {
      return database.db;
    },
    get tenantId() {
      return tenantId;
    },
    get variables() {
      return { DATABASE_URL: database.url };
    },
    cli,
    /** The standard output as exactly one JSON value. Expects exit code 0 and nothing on standard error. */
    json: async (...args: string[]) => {
      const { code, stdout, stderr } = await cli(...args, "--json");
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    },
  };
};
