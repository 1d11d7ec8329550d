/** `/api/v1/identities`: the caller's accounts at an OpenID Connect provider. */
import { deleteIdentity, listIdentities } from "@realtime-avatar/db/people/identities";
import { isId } from "@realtime-avatar/domain/id";
import { presentIdentity } from "@realtime-avatar/domain/people/people";
import { IDENTITY_LIST, Identity, IdentityPage } from "@realtime-avatar/domain/people/schemas";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey, requirePerson } from "../http/person.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";

const OPERATIONS = operations({
  listIdentities: {
    summary: "List the own identities",
    description: "Lists the caller's accounts at an OpenID Connect provider, newest first.",
    query: IDENTITY_LIST.query,
    success: { status: 200, description: "A page of identities.", schema: IdentityPage },
  },
  deleteIdentity: {
    summary: "Unlink an identity",
    description:
      "Unlinks an identity of the caller, and ends the other sessions that it has opened. An identity that is the last way to sign in cannot be unlinked.",
    success: { status: 200, description: "The identity before it was unlinked.", schema: Identity },
    problems: ["passkey_required", "last_passkey"],
  },
});

const IDENTITY = { schema: Identity, toText: JSON.stringify };
/** Identities never change, so all have the same version. */
const VERSION = { version: 1 };

const DELETE_IDENTITY = {
  body: null,
  representation: IDENTITY,
  plan: ({ db, id, caller, origin, expectation: { matches }, dependencies: { oidc } }: Attempt<unknown>) => {
    if (!isId("idn", id)) throw notFound();
    const by = requirePasskey(requirePerson(caller));
    checkVersion(VERSION, matches);
    return {
      response: null,
      write: () => deleteIdentity(db, id, oidc?.issuer ?? null, by, origin),
    };
  },
  settle: (outcome: OutcomeOf<typeof deleteIdentity>): Settled<Identity> => {
    switch (outcome.kind) {
      case "not_found":
        throw notFound();
      case "last_passkey":
        throw new Problem("last_passkey", "The person could not sign in without the identity.");
      case "written":
        return writtenResource(VERSION, presentIdentity(outcome.identity));
      case "stale":
        return outcome;
    }
  },
};

export const identityRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "identities", prefix: "/api/v1/identities" })
    .use(authentication(dependencies))
    .get(
      "",
      listHandler(dependencies, IDENTITY_LIST, ({ caller, db }, page) => {
        const { tenantId, id: userId } = requirePerson(caller);
        return listIdentities(db, { tenantId, userId }, page);
      }),
      { scope: "person", detail: OPERATIONS.listIdentities },
    )
    .delete("/:id", ({ write }) => execute(write, DELETE_IDENTITY), {
      scope: "person",
      detail: OPERATIONS.deleteIdentity,
    });
