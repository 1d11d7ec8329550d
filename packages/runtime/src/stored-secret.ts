/** Secrets that the operator sets, or that the first start writes into the data directory. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createFolder, errorCode, writeOnce } from "@realtime-avatar/storage/disk/files";
import { Secret } from "@realtime-avatar/storage/secret";
import { NOT_WRITABLE } from "./config/data-directory.ts";
import { MIN_SECRET_LENGTH } from "./config.ts";
import type { Logger } from "./log.ts";

/** `configured`, or the secret in the file `name` of the data directory. Where that cannot be written: a random one, and `warning`. */
export const openStoredSecret = async (
  configured: Secret | null,
  { dataDirectory, name, warning }: { dataDirectory: string; name: string; warning: string },
  log: Pick<Logger, "warn">,
): Promise<Secret> => {
  if (configured !== null) return configured;
  try {
    return await readStoredSecret(dataDirectory, name);
  } catch (error) {
    if (!NOT_WRITABLE.includes(errorCode(error))) throw error;
    log.warn(warning);
    return new Secret(randomBytes(32).toString("base64url"));
  }
};

/** The secret in the file `name` of the data directory, which the first start writes (mode 0600) and makes durable. */
export const readStoredSecret = async (dataDirectory: string, name: string): Promise<Secret> => {
  await createFolder(dataDirectory, 0o777);
  const secret = `${randomBytes(32).toString("base64url")}\n`;
  const text = (await writeOnce(dataDirectory, join(dataDirectory, name), secret)).trim();
  if (text.length < MIN_SECRET_LENGTH) throw new Error(`The file ${name} in DATA_DIR is too short: delete it.`);
  return new Secret(text);
};
