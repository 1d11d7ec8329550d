/** A running service for the browser, in a separate process. */
import { join } from "node:path";
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import { invitationUrl, newInvitation } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { release, startProcess } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";

export type Service = {
  /** The public URL, with a host name for which browsers support passkeys. */
  url: string;
  database: TestDatabase;
  tenantId: Awaited<ReturnType<typeof seedTenant>>;
  /** A link with which a person with this role registers. */
  invite(email: string, role: Role): Promise<string>;
  /** Expires the verification of all sessions: the next action requires the passkey again. */
  age(): Promise<unknown>;
  /** The log of the service. */
  log(): string;
  close(): Promise<void>;
};

/** Starts the service, without a worker, with a tenant that has credits for an hour of calls. */
export const startService = async (variables: Record<string, string> = {}): Promise<Service> => {
  const database = await testDatabase({ isServed: true });
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const running = startProcess(release(), {
    PORT: "0",
    ...database.variables,
    DATA_DIR: join(folder, "data"),
    WORKER: "false",
    ...variables,
  });
  const [, address = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
  const url = address.replace("127.0.0.1", "localhost");
  const { db } = database;
  const credits = 3_600_000_000;
  const tenantId = await seedTenant(db, { live: credits, test: credits });
  return {
    url,
    database,
    tenantId,
    invite: async (email, role) => {
      const { now } = operatorOrigin();
      const created = newInvitation({ tenantId, email, role, userId: null, createdBy: null }, { now, random });
      await insertInvitation(db, created, null, operatorOrigin());
      return invitationUrl(url, created.token);
    },
    age: async () => db.client`update user_sessions set verified_until = now() - interval '1 minute'`,
    log: running.stdout,
    close: async () => {
      running.kill("SIGTERM");
      await running.exited;
      await database.close();
    },
  };
};
