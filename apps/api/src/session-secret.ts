/** The secret that signs the challenges of passkeys. */
import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@realtime-avatar/runtime/log";
import { Secret } from "@realtime-avatar/storage/secret";
import type { ApiConfig } from "./config.ts";

const MIN_SECRET_LENGTH = 32;
const FILE_NAME = "session-secret";

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** The errors of a data directory that cannot be written, which a service with a database and a store of its own may have. */
const NOT_WRITABLE = new Set<unknown>(["EACCES", "EPERM", "EROFS", "ENOSPC"]);

/**
 * The secret of this process: that of the configuration, or the one in the data directory. Where that cannot be written, a
 * random one: then only this process accepts the challenges that it has signed.
 */
export const openSessionSecret = async (
  { sessionSecret, database }: Pick<ApiConfig, "sessionSecret" | "database">,
  log: Logger,
): Promise<Secret> => {
  if (sessionSecret !== null) return sessionSecret;
  try {
    return await readSessionSecret(database.dataDirectory);
  } catch (error) {
    if (!NOT_WRITABLE.has(codeOf(error))) throw error;
    log.warn(
      "DATA_DIR cannot be written: set SESSION_SECRET, or people cannot sign in when there are several replicas",
    );
    return new Secret(randomBytes(32).toString("base64url"));
  }
};

/**
 * The secret in the data directory, which the first start writes (mode 0600). Processes that start together agree: `link`
 * fails where another was first. Replicas with data directories of their own need `SESSION_SECRET` instead.
 */
export const readSessionSecret = async (dataDirectory: string): Promise<Secret> => {
  const path = join(dataDirectory, FILE_NAME);
  const found = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (found === null) await writeSecret(dataDirectory, path);
  const text = (found ?? (await readFile(path, "utf8"))).trim();
  if (text.length < MIN_SECRET_LENGTH) throw new Error(`The file ${FILE_NAME} in DATA_DIR is too short: delete it.`);
  return new Secret(text);
};

const writeSecret = async (dataDirectory: string, path: string): Promise<void> => {
  await mkdir(dataDirectory, { recursive: true });
  const temporary = join(dataDirectory, `${FILE_NAME}-${randomBytes(8).toString("hex")}`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(`${randomBytes(32).toString("base64url")}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
};
