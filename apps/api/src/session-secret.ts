/** The secret that signs the challenges of passkeys. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MIN_SECRET_LENGTH } from "@realtime-avatar/runtime/config";
import type { Logger } from "@realtime-avatar/runtime/log";
import { codeOf, writeOnce } from "@realtime-avatar/storage/disk/files";
import { Secret } from "@realtime-avatar/storage/secret";
import type { ApiConfig } from "./config.ts";

const FILE_NAME = "session-secret";

/** The errors of a data directory that cannot be written, which a service with a database and a store of its own may have. */
const NOT_WRITABLE = new Set<string | null>(["EACCES", "EPERM", "EROFS", "ENOSPC"]);

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
 * The secret in the data directory, which the first start writes (mode 0600). Replicas with data directories of their own need
 * `SESSION_SECRET` instead.
 */
export const readSessionSecret = async (dataDirectory: string): Promise<Secret> => {
  await mkdir(dataDirectory, { recursive: true });
  const secret = `${randomBytes(32).toString("base64url")}\n`;
  const text = (await writeOnce(dataDirectory, join(dataDirectory, FILE_NAME), secret)).trim();
  if (text.length < MIN_SECRET_LENGTH) throw new Error(`The file ${FILE_NAME} in DATA_DIR is too short: delete it.`);
  return new Secret(text);
};
