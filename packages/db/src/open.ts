/** Opens the database that the configuration names, ready for use. */
import { checkServer, connect, type Db, databaseFailure, describeError } from "./client.ts";
import { type EmbeddedOptions, openEmbedded } from "./embedded.ts";
import { migrate } from "./migrate.ts";

export type DatabaseConfig = {
  databaseUrl: string | null;
  dataDirectory: string;
  /** How long a request's statement may take, in milliseconds. */
  deadlineMs: number;
  /** Whether statements stay prepared on their connection. */
  prepare: boolean;
};

export type OpenDatabase = {
  db: Db;
  url: string;
  isEmbedded: boolean;
  /** Whether opening it has applied migrations: to an embedded database alone. */
  hasMigrated: boolean;
  close(): Promise<void>;
};

const tryConnect = (url: string, { deadlineMs, prepare }: DatabaseConfig): Db => {
  try {
    return connect(url, { deadlineMs, prepare });
  } catch {
    // The driver reads the URL at once; its own words may quote it.
    throw new Error("DATABASE_URL must be a postgres:// URL.");
  }
};

/**
 * With a `databaseUrl`, connects to that server, and leaves its schema alone. Without one, starts or joins the
 * embedded server of `dataDirectory` and brings its schema up to date. Throws when the server cannot be reached or
 * would not keep the service's word.
 */
export const openDatabase = async (config: DatabaseConfig, options: EmbeddedOptions = {}): Promise<OpenDatabase> => {
  const embedded = config.databaseUrl === null ? await openEmbedded(config.dataDirectory, options) : null;
  const url = embedded?.url ?? (config.databaseUrl as string);
  const db = tryConnect(url, config);
  const close = async (): Promise<void> => {
    await db.close();
    await embedded?.close();
  };
  try {
    const hasMigrated = embedded !== null && (await migrate(url));
    await checkServer(db);
    return { db, url, isEmbedded: embedded !== null, hasMigrated, close };
  } catch (error) {
    await close();
    if (embedded === null && databaseFailure(error)) {
      // The driver's own words hold the address; its code says enough.
      throw new Error(`Cannot connect to the database of DATABASE_URL (${describeError(error)["code"]}).`);
    }
    throw error;
  }
};
