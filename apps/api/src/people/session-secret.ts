/** The secret that signs the challenges of passkeys. */
import type { Logger } from "@realtime-avatar/runtime/log";
import { openStoredSecret } from "@realtime-avatar/runtime/stored-secret";
import type { Secret } from "@realtime-avatar/storage/secret";
import type { ApiConfig } from "../config.ts";

/**
 * The secret of this process. Replicas with separate data directories need `SESSION_SECRET`: otherwise each accepts
 * only its own challenges.
 */
export const openSessionSecret = (
  { sessionSecret, database }: Pick<ApiConfig, "sessionSecret" | "database">,
  log: Logger,
): Promise<Secret> =>
  openStoredSecret(
    sessionSecret,
    {
      dataDirectory: database.dataDirectory,
      name: "session-secret",
      warning: "DATA_DIR cannot be written: set SESSION_SECRET, or people cannot sign in with several replicas",
    },
    log,
  );
