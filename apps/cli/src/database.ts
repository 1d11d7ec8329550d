/** The database of a command. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { type OpenDatabase, openDatabase } from "@realtime-avatar/db/open";
import { newRequestId } from "@realtime-avatar/domain/id";
import { readCommonConfig } from "@realtime-avatar/runtime/config";
import { checkDataDirectory } from "@realtime-avatar/runtime/config/data-directory";
import { warnOfMisspeltSettings } from "@realtime-avatar/runtime/config/settings";
import { secureRandom as random } from "@realtime-avatar/runtime/random";

/** Runs `work` with an open database. Throws when migrations are pending and `needsSchema` is true. */
export const withDatabase = async (
  work: (database: OpenDatabase) => Promise<void>,
  needsSchema = true,
): Promise<void> => {
  warnOfMisspeltSettings(process.env);
  const config = readCommonConfig(process.env);
  if (config.database.databaseUrl === null) await checkDataDirectory(config);
  const database = await openDatabase(config.database, { notify: (message) => console.error(message) });
  try {
    if (needsSchema && !(await isMigrated(database.db))) {
      throw new Error(
        "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).",
      );
    }
    await work(database);
  } finally {
    await database.close();
  }
};

/** The origin of a write by the operator, for the audit trail. */
export const operatorOrigin = (): Origin & { actor: null } => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};
