/** The two questions that whoever runs a process asks it: does it live, and can it work? */
import type { Db } from "@realtime-avatar/db/client";
import { isMigrated } from "@realtime-avatar/db/migrate";

/** How long the database may take to answer before the process calls itself unready. */
const DEADLINE_MS = 2000;

const answer = (status: number, body: { status: string; reason?: string }): Response =>
  Response.json(body, { status, headers: { "cache-control": "no-store" } });

/** Says that the process lives; asks nobody else. */
export const live = (): Response => answer(200, { status: "ok" });

/** Says whether the process can work: the database answers, and its schema is up to date. */
export const ready = async (db: Db): Promise<Response> => {
  let timer: Timer | undefined;
  const deadline = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, null);
  });
  const migrated = await Promise.race([isMigrated(db).catch(() => null), deadline]);
  clearTimeout(timer);
  if (migrated === null) return answer(503, { status: "unavailable", reason: "database_unreachable" });
  if (!migrated) return answer(503, { status: "unavailable", reason: "migrations_pending" });
  return answer(200, { status: "ok" });
};
