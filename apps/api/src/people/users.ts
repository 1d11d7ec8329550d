/** `/api/v1/users` */

import { deleteUser, findUser, listUsers, type UserOutcome, updateUser } from "@realtime-avatar/db/people/users";
import { isId } from "@realtime-avatar/domain/id";
import { presentUser, type UserRecord } from "@realtime-avatar/domain/people/people";
import { checkRole } from "@realtime-avatar/domain/people/roles";
import { UpdateUser, USER_LIST, User, UserPage } from "@realtime-avatar/domain/people/schemas";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import type { Expectation } from "../http/conditional.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey, requirePerson } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";

const OPERATIONS = operations({
  listUsers: {
    summary: "List users",
    description: "Lists the people of the tenant, newest first.",
    query: USER_LIST.query,
    success: { status: 200, description: "A page of users.", schema: UserPage },
  },
  getUser: {
    summary: "Read a user",
    description: "Returns a person of the tenant.",
    success: { status: 200, description: "The user.", schema: User },
  },
  updateUser: {
    summary: "Change a user",
    description:
      "Changes the caller's name. An owner changes the name and the role of any user. A change of role takes effect on every replica before the response is sent.",
    body: UpdateUser,
    success: { status: 200, description: "The user after the request.", schema: User },
    problems: ["passkey_required", "last_owner"],
  },
  deleteUser: {
    summary: "Remove a user",
    description:
      "Removes a person with the passkeys, the sessions and the open invitations. Takes effect on every replica before the response is sent. The keys that the person created stay.",
    success: { status: 200, description: "The user before the removal.", schema: User },
    problems: ["passkey_required", "last_owner"],
  },
});

const USER = { schema: User, toText: JSON.stringify };

/** The user after a written change; null when the attempt is stale. Throws a problem when the change is refused. */
const changedUser = (outcome: UserOutcome, { matches }: Expectation): UserRecord | null => {
  switch (outcome.kind) {
    case "not_found":
      throw notFound();
    case "unchanged":
      checkVersion(outcome.user, matches);
      throw notFound();
    case "last_owner":
      throw new Problem("last_owner", "The user is the last owner of the tenant.");
    case "written":
      return outcome.user;
    case "stale":
      return null;
  }
};

const UPDATE_USER = {
  body: UpdateUser,
  representation: USER,
  plan: ({ db, id, body, caller, origin, expectation }: Attempt<UpdateUser>) => {
    const person = requirePerson(caller);
    if (id !== person.id || body.role !== undefined) checkRole(person.role, "owner");
    const by = body.role === undefined ? person : requirePasskey(person);
    if (!isId("usr", id)) throw notFound();
    return { response: null, write: () => updateUser(db, id, body, expectation, by, origin) };
  },
  settle: async (outcome: UserOutcome, { db, expectation }: Attempt<UpdateUser>): Promise<Settled<User>> => {
    const user = changedUser(outcome, expectation);
    if (user === null) return { kind: "stale" };
    const seen = await findUser(db, user.tenantId, user.id);
    return writtenResource(user, presentUser({ ...user, lastSeenAt: seen?.lastSeenAt ?? null }));
  },
};

const DELETE_USER = {
  body: null,
  representation: USER,
  plan: ({ db, id, caller, origin, expectation }: Attempt<unknown>) => {
    if (!isId("usr", id)) throw notFound();
    const by = requirePasskey(requirePerson(caller));
    return {
      response: null,
      write: () => deleteUser(db, { tenantId: by.tenantId, id }, expectation, by, origin),
    };
  },
  settle: (outcome: UserOutcome, { expectation }: Attempt<unknown>): Settled<User> => {
    const user = changedUser(outcome, expectation);
    return user === null ? { kind: "stale" } : writtenResource(user, presentUser(user));
  },
};

export const userRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "users", prefix: "/api/v1/users" })
    .use(authentication(dependencies))
    .get(
      "",
      listHandler(dependencies, USER_LIST, ({ caller, db }, page) => listUsers(db, caller, page)),
      { scope: "person", detail: OPERATIONS.listUsers },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const user = isId("usr", id) ? await findUser(db, caller.tenantId, id) : null;
        if (!user) throw notFound();
        return sendResource(USER, presentUser(user), user, set);
      },
      { scope: "person", detail: OPERATIONS.getUser },
    )
    .patch("/:id", ({ write }) => execute(write, UPDATE_USER), { scope: "person", detail: OPERATIONS.updateUser })
    .delete("/:id", ({ write }) => execute(write, DELETE_USER), { scope: "person", detail: OPERATIONS.deleteUser });
