/** Users: the people of a tenant. */
import type { TenantId, UserId } from "@realtime-avatar/domain/id";
import type { UserRecord } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import type { UpdateUser, User } from "@realtime-avatar/domain/people/schemas";
import { normalEmail } from "@realtime-avatar/domain/schema";
import { sql } from "drizzle-orm";
import {
  deleteUser as callDelete,
  updateUser as callUpdate,
  type DeleteUserRow,
  type UpdateUserRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import { announceWhileWaiting } from "../callers/pending-changes.ts";
import type { Db } from "../connection/pool.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { nullable, objectJson, plainJson, textJson, timeJson } from "../query/json-text.ts";
import { createList } from "../query/list.ts";
import { selectColumns, statement } from "../query/statement.ts";
import { peopleSeen, users } from "../schema/people.ts";
import { PEOPLE } from "./target.ts";

const SEEN_AT = sql`(
  select ${peopleSeen.lastSeenAt} from ${peopleSeen}
  where ${peopleSeen.tenantId} = ${users.tenantId} and ${peopleSeen.id} = ${users.id}
)`;

const select = statement<UserRecord>(
  "find_user",
  sql`
  select ${selectColumns(users)}, ${SEEN_AT} as "lastSeenAt" from ${users}
  where ${users.tenantId} = ${sql.placeholder("tenantId")} and ${users.id} = ${sql.placeholder("id")}`,
);

/** A user of the tenant; null when no user has this id. One statement. */
export const findUser = async (db: Db, tenantId: TenantId, id: UserId): Promise<UserRecord | null> => {
  const [row] = await select(db, { tenantId, id });
  return row ?? null;
};

const selectByEmail = statement<UserRecord>(
  "find_user_by_email",
  sql`
  select ${selectColumns(users)}, ${SEEN_AT} as "lastSeenAt" from ${users}
  where ${users.tenantId} = ${sql.placeholder("tenantId")} and ${users.email} = ${sql.placeholder("email")}`,
);

/** The user of the tenant with this address; null when no user has it. One statement. */
export const findUserByEmail = async (db: Db, tenantId: TenantId, email: string): Promise<UserRecord | null> => {
  const [row] = await selectByEmail(db, { tenantId, email: normalEmail(email) });
  return row ?? null;
};

const selectAny = statement<{ found: boolean }>("find_any_user", sql`select exists (select from ${users}) as "found"`);

/** Whether any tenant has a user. One statement. */
export const hasUsers = async (db: Db): Promise<boolean> => {
  const [row] = await selectAny(db, {});
  return row?.found === true;
};

/** A user as the API shows it. Only the service writes roles, so they need no escape. */
const ITEM = objectJson<User>({
  id: plainJson(users.id),
  tenantId: plainJson(users.tenantId),
  email: textJson(users.email),
  name: textJson(users.name),
  role: plainJson(users.role),
  createdAt: timeJson(users.createdAt),
  lastSeenAt: nullable(timeJson(SEEN_AT)),
});

/** The newest users of the tenant. One statement. */
export const listUsers = createList(
  "list_users",
  { table: users, id: users.id, prefix: "usr", item: ITEM },
  { tenantId: users.tenantId },
);

/** The outcome of a change of a user, with the user after the change, or before the removal. */
export type UserOutcome =
  | { kind: "written" | "unchanged" | "last_owner"; user: UserRecord }
  | { kind: "not_found" }
  | { kind: "stale" };

const outcomeOf = ({ outcome, ...user }: UpdateUserRow | DeleteUserRow): UserOutcome => {
  const kind = requireKind(outcome, ["written", "unchanged", "last_owner", "not_found", "stale"]);
  if (kind === "not_found" || kind === "stale") return { kind };
  return { kind, user: { ...user, role: user.role as Role, lastSeenAt: null } as UserRecord };
};

/**
 * Changes the name or the role of a user. `lastSeenAt` of the result is null, because it is not read. One statement.
 */
export const updateUser = async (
  db: Db,
  id: UserId,
  { name = null, role = null }: { [Field in keyof UpdateUser]?: UpdateUser[Field] | null },
  { versions }: { versions: readonly string[] | null },
  caller: PersonCaller,
  origin: Origin,
): Promise<UserOutcome> => {
  const event = auditEvent("user.updated", { ...PEOPLE, tenantId: caller.tenantId, id }, origin);
  const { tenantId } = caller;
  const update = () => callUpdate(db, { caller, id, name, role, versions, auditEvent: event });
  // A change of role also locks the owners. A change of a name locks the user and the caller.
  const [row] = await announceWhileWaiting(db, { tenantId, id: role === null ? id : tenantId }, () =>
    role !== null || caller.id === id ? update() : announceWhileWaiting(db, caller, update),
  );
  return outcomeOf(row as UpdateUserRow);
};

/** Removes a user with its passkeys and sessions. `caller` is null for the operator. One statement. */
export const deleteUser = async (
  db: Db,
  { tenantId, id }: { tenantId: TenantId; id: UserId },
  { versions }: { versions: readonly string[] | null },
  caller: PersonCaller | null,
  origin: Origin,
): Promise<UserOutcome> => {
  const event = auditEvent("user.deleted", { ...PEOPLE, tenantId, id }, origin);
  // The removal also locks the owners.
  const [row] = await announceWhileWaiting(db, { tenantId, id: tenantId }, () =>
    callDelete(db, { caller, tenantId, id, versions, auditEvent: event }),
  );
  return outcomeOf(row as DeleteUserRow);
};
