/** Avatars in the database. */
import type { AvatarRecord } from "@realtime-avatar/domain/avatar";
import { sql } from "drizzle-orm";
import { auditValues, insertAuditEvent, type Origin } from "./audit.ts";
import { CALLER, type Caller, callerValues } from "./callers.ts";
import { type Db, insertFrom, placeholders, rowValues, statement } from "./client.ts";
import { avatars } from "./schema.ts";

const insert = statement(sql`
  with ${CALLER},
  avatar as (${insertFrom(avatars, placeholders(avatars, "avatar"), sql`caller`)} returning tenant_id),
  audit as (${insertAuditEvent(sql`avatar`)})
  select from avatar`);

/**
 * Writes a new avatar and its audit event. `false`, with nothing written, when the caller is no longer what it was.
 * One statement.
 */
export const insertAvatar = async (db: Db, avatar: AvatarRecord, caller: Caller, origin: Origin): Promise<boolean> => {
  const rows = await insert(db, {
    ...callerValues(caller),
    ...rowValues("avatar", avatar),
    ...auditValues("avatar.created", avatar, origin),
  });
  return rows.length === 1;
};
