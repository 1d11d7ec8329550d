/**
 * Runs the command line, with one database for each test file. It runs in the process of the tests, which takes a
 * twentieth of the processor time, or as a separate process. Each command runs as a process in at least one test.
 */
import { expect } from "bun:test";
import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import type { Environment } from "@realtime-avatar/domain/environment";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { bun, processEnvironment, runToEnd } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";

export const PROGRAM = "apps/cli/src/main.ts";

export const UNKNOWN = "key_01h455vb4pex5vsknk084sn02q";
export const UNKNOWN_TENANT = "ten_01h455vb4pex5vsknk084sn02q";
export const UNKNOWN_SESSION = "ses_01h455vb4pex5vsknk084sn02q";
export const UNKNOWN_AVATAR = "ava_01h455vb4pex5vsknk084sn02q";

type Result = { code: number; stdout: string; stderr: string };

/** Runs the command line as a process, with these environment variables. */
export const runProcess = (variables: Record<string, string>, ...args: string[]): Promise<Result> =>
  runToEnd(bun(PROGRAM, ...args), variables);

/** Replaces members of an object. Returns a function that restores them. */
const replace = <Target extends object>(target: Target, members: Partial<Target>): (() => void) => {
  const before = Object.fromEntries(Object.keys(members).map((name) => [name, target[name as keyof Target]]));
  Object.assign(target, members);
  return () => void Object.assign(target, before);
};

/** Replaces the environment, name by name, because fetch reads some of it. Returns a function that restores it. */
const replaceEnvironment = (variables: Record<string, string>): (() => void) => {
  const set = (values: NodeJS.ProcessEnv): void => {
    for (const name of Object.keys(process.env)) if (!(name in values)) delete process.env[name];
    Object.assign(process.env, values);
  };
  const before = { ...process.env };
  set(variables);
  return () => set(before);
};

let runs = 0;

/** Evaluates `main.ts` again with the given arguments and environment, and captures its output. */
const evaluate = async (variables: Record<string, string>, args: readonly string[]): Promise<Result> => {
  const result = { code: 0, stdout: "", stderr: "" };
  const writer = (name: "stdout" | "stderr", end: string) => (text: unknown) => {
    result[name] += `${text}${end}`;
    return true;
  };
  const restore = [
    replaceEnvironment(processEnvironment(variables)),
    replace(process, { argv: [process.execPath, PROGRAM, ...args] }),
    replace(console, { log: writer("stdout", "\n"), error: writer("stderr", "\n") }),
    replace(process.stdout, { write: writer("stdout", "") }),
    replace(process.stderr, { write: writer("stderr", "") }),
  ];
  process.exitCode = 0;
  try {
    // With another query, Bun evaluates the file as a new module, which shares its imports.
    await (await import(`../src/main.ts?run=${++runs}`)).ended;
    result.code = Number(process.exitCode);
  } finally {
    // The exit code of the tests must not change.
    process.exitCode = 0;
    for (const each of restore) each();
  }
  return result;
};

let last: Promise<unknown> = Promise.resolve();

/** Runs the command line in this process. Runs are sequential, because they share the state of the process. */
export const run = (variables: Record<string, string>, ...args: string[]): Promise<Result> => {
  const result = last.then(() => evaluate(variables, args));
  last = result.catch(() => {});
  return result;
};

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

type Run = (...args: string[]) => Promise<Result>;

/** The standard output as exactly one JSON value. Expects exit code 0 and nothing on standard error. */
const jsonOf =
  (command: Run) =>
  async (...args: string[]) => {
    const { code, stdout, stderr } = await command(...args, "--json");
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };

/** Gives a test file a database with one tenant, and commands on it. */
export const cliTests = async () => {
  const { db, variables: served, serviceUrl } = await fileDatabase({ isServed: true });
  // On a busy machine, connecting takes long.
  const variables = { ...served, REQUEST_TIMEOUT_MS: "60000" };
  const cli: Run = (...args) => run(variables, ...args);
  const cliProcess: Run = (...args) => runProcess(variables, ...args);
  const tenantId = await seedTenant(db);
  const json = { json: jsonOf(cli), jsonProcess: jsonOf(cliProcess) };
  return { db, tenantId, variables, serviceUrl, cli, cliProcess, ...json };
};
