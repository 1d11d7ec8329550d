/** For tests of what happens to a request that waits for another connection to the database. */
import { session, type TestDatabase, type TestDb } from "@realtime-avatar/testing/database";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";

type Work = (holder: TestDb) => PromiseLike<unknown>;

/**
 * Sends while another connection is in a transaction in which it has done `hold`; does `meanwhile` in that transaction once
 * `send` waits for a lock, and commits. Returns what `send` does.
 */
export const whileHeld = async <Result>(
  { db, url }: TestDatabase,
  hold: Work,
  send: () => Promise<Result>,
  meanwhile: Work = async () => {},
): Promise<Result> => {
  const holder = session(url);
  try {
    await holder.client`begin`;
    await hold(holder);
    const pending = send();
    await untilBlocked(db);
    await meanwhile(holder);
    await holder.client`commit`;
    return await pending;
  } finally {
    await holder.close();
  }
};
