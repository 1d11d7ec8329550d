/** `users`: the people of a tenant, and links with which they register a passkey. */
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import { deleteUser, findUser, findUserByEmail, listUsers } from "@realtime-avatar/db/people/users";
import { isId, type UserId } from "@realtime-avatar/domain/id";
import { invitationUrl, newInvitation, presentUser } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { CreateInvitation, USER_LIST, type User } from "@realtime-avatar/domain/people/schemas";
import { validate } from "@realtime-avatar/domain/schema";
import { readPort } from "@realtime-avatar/runtime/config";
import { readPublicUrl } from "@realtime-avatar/runtime/public-url";
import type { Command } from "commander";
import { operatorOrigin, withDatabase } from "../database.ts";
import { type PageOptions, type TenantOptions, withPageOptions, withTenantOptions } from "../options.ts";
import { pageRequest, printPage } from "../pages.ts";
import { type Columns, fields, print, printable, UsageError, usageError } from "../terminal.ts";

type InviteOptions = TenantOptions & { email: string; role?: string };

/** The roles and their rights, for the help and the errors. */
const ROLES_TEXT = "viewer (reads), developer (also creates and changes) or owner (also manages people)";

/** The origin of the link, by the same rule as in the service. */
const publicUrl = (): string =>
  readPublicUrl(process.env) ?? `http://localhost:${readPort(process.env, "PORT", 3000) || 3000}`;

/**
 * Prints a link. If a user has the address, the link is for a further passkey of that user, whose role stays. Otherwise
 * it is for a new user with a role.
 */
const invite = async (options: InviteOptions): Promise<void> => {
  const { tenant: tenantId, email } = options;
  const request = { email, role: options.role ?? "viewer" };
  const errors = validate(CreateInvitation, request);
  if (errors.length > 0) throw usageError(errors);
  const url = publicUrl();
  await withDatabase(tenantId, async (db) => {
    const user = await findUserByEmail(db, tenantId, email);
    if (user === null && options.role === undefined)
      throw new UsageError(`--role: A new user needs one: ${ROLES_TEXT}.`);
    if (user !== null && options.role !== undefined && options.role !== user.role) {
      throw new UsageError(`--role: The user exists, with the role ${user.role}. The link adds a passkey.`);
    }
    const origin = operatorOrigin();
    const role = user?.role ?? (request.role as Role);
    const fields = { tenantId, email, role, userId: user?.id ?? null, createdBy: null };
    const created = newInvitation(fields, origin);
    const { kind } = await insertInvitation(db, created, null, origin);
    if (kind === "not_found") throw new Error("No tenant has this id.");
    if (kind !== "written") throw new Error("The user has changed meanwhile. Try again.");
    const link = invitationUrl(url, created.token);
    const what = user ? `a further passkey of ${printable(user.name)} (${user.id})` : `a new ${role}`;
    print(options, { url: link }, `The link for ${what}. It works once, within 30 minutes:\n  ${link}`);
  });
};

const COLUMNS: Columns<User> = {
  ID: ({ id }) => id,
  EMAIL: ({ email }) => email,
  ROLE: ({ role }) => role,
  "LAST SEEN": ({ lastSeenAt }) => lastSeenAt,
  NAME: ({ name }) => name,
};

const list = async (options: PageOptions): Promise<void> => {
  const { limit, cursor } = options;
  const request = pageRequest(USER_LIST, { limit, cursor });
  await withDatabase(options.tenant, async (db) => {
    const written = await listUsers(db, { tenantId: options.tenant }, request);
    printPage(options, { list: USER_LIST, request, written }, COLUMNS, "No users.");
  });
};

/** Parses the id of a user, or an email address. */
const parseUser = (text: string): string => {
  if (!isId("usr", text) && !text.includes("@"))
    throw new UsageError("<user>: Must be an id (usr_…) or an email address.");
  return text;
};

const remove = (text: string, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => {
    const { tenant: tenantId } = options;
    const found = isId("usr", text)
      ? await findUser(db, tenantId, text as UserId)
      : await findUserByEmail(db, tenantId, text);
    if (!found) throw new Error("The tenant has no such user.");
    const outcome = await deleteUser(db, found, { versions: null }, null, operatorOrigin());
    if (outcome.kind !== "written") throw new Error("The tenant has no such user.");
    const user = presentUser(outcome.user);
    print(options, user, `Removed ${user.id}.\n${fields(user)}`);
  });

export const addUsers = (program: Command): void => {
  const users = program.command("users").description("manage people, who sign in to the dashboard");

  withTenantOptions(users.command("invite"))
    .description(
      "print a link to register a passkey: for a new user, or for a further passkey of the user with this address",
    )
    .requiredOption("--email <address>", "email address; no mail is sent")
    .option("--role <role>", `required for a new user: ${ROLES_TEXT}`)
    .action(invite);

  withPageOptions(users.command("list")).description("list the users of a tenant, newest first").action(list);

  withTenantOptions(users.command("remove"))
    .description("remove a user (usr_… or the email address) and end the sessions; the keys of the user stay")
    .argument("<user>", "", parseUser)
    .action(remove);
};
