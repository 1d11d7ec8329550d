/** `/api/v1/passkeys`: the passkeys of the caller. */

import type { PersonCaller } from "@realtime-avatar/db/callers/callers";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import {
  deletePasskey,
  findPasskeys,
  insertPasskey,
  listPasskeys,
  MAX_PASSKEYS,
  type PasskeyOutcome,
  updatePasskey,
} from "@realtime-avatar/db/people/passkeys";
import { isId, newId } from "@realtime-avatar/domain/id";
import {
  invitationUrl,
  newInvitation,
  type PasskeyRecord,
  presentPasskey,
} from "@realtime-avatar/domain/people/people";
import {
  CreatePasskey,
  Nothing,
  PASSKEY_LIST,
  Passkey,
  PasskeyInvitation,
  PasskeyPage,
  PublicKeyOptions,
  UpdatePasskey,
} from "@realtime-avatar/domain/people/schemas";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readOptionalBody } from "../http/body.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey, requirePerson } from "../http/person.ts";
import { sendJson } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";
import { invalidPasskey, type NewPasskey } from "./webauthn.ts";

const OPERATIONS = operations({
  createPasskeyInvitation: {
    summary: "Get a link for another device",
    description:
      "Creates a link with which the caller registers a passkey on another device. It is valid for 30 minutes and can be used once.",
    body: Nothing,
    isBodyOptional: true,
    success: { status: 201, description: "The link.", schema: PasskeyInvitation },
    problems: ["passkey_required"],
  },
  listPasskeys: {
    summary: "List the own passkeys",
    description: "Lists the passkeys of the caller, newest first.",
    query: PASSKEY_LIST.query,
    success: { status: 200, description: "A page of passkeys.", schema: PasskeyPage },
  },
  beginPasskey: {
    summary: "Get options to add a passkey",
    description: "Returns the options to create a further passkey of the caller.",
    createsNothing: true,
    body: Nothing,
    isBodyOptional: true,
    success: { status: 200, description: "The options.", schema: PublicKeyOptions },
    problems: ["passkey_required"],
  },
  createPasskey: {
    summary: "Add a passkey",
    description: `Registers a further passkey of the caller. A person has at most ${MAX_PASSKEYS}.`,
    body: CreatePasskey,
    success: { status: 201, description: "The passkey.", schema: Passkey },
    problems: ["passkey_required", "invalid_passkey", "quota_exceeded"],
  },
  updatePasskey: {
    summary: "Rename a passkey",
    description: "Renames a passkey of the caller.",
    body: UpdatePasskey,
    success: { status: 200, description: "The passkey after the request.", schema: Passkey },
  },
  deletePasskey: {
    summary: "Delete a passkey",
    description:
      "Deletes a passkey of the caller, and ends the other sessions that it has opened. A passkey that is the last way to sign in cannot be deleted.",
    success: { status: 200, description: "The passkey before its deletion.", schema: Passkey },
    problems: ["passkey_required", "last_passkey"],
  },
});

const PASSKEY = { schema: Passkey, toText: JSON.stringify };
const OPTIONS = { schema: PublicKeyOptions, toText: JSON.stringify };
const LINK = { schema: PasskeyInvitation, toText: JSON.stringify };

const useOf = ({ sessionId }: PersonCaller) => ({ purpose: "new_passkey" as const, subject: sessionId });

/** The passkey after a change. Throws a problem when it was not changed. */
const settleChange = (outcome: PasskeyOutcome, { expectation: { matches } }: Attempt<unknown>): Settled<Passkey> => {
  switch (outcome.kind) {
    case "not_found":
      throw notFound();
    case "unchanged":
      checkVersion(outcome.passkey, matches);
      throw notFound();
    case "last_passkey":
      throw new Problem("last_passkey", "The person could not sign in without the passkey.");
    case "written":
      return writtenResource(outcome.passkey, presentPasskey(outcome.passkey));
    case "stale":
      return outcome;
  }
};

/** Registers the passkey that the browser of the caller has created. */
const CREATE_PASSKEY = {
  body: CreatePasskey,
  representation: PASSKEY,
  lookUp: ({ body, caller, dependencies: { passkeys } }: Attempt<CreatePasskey, NewPasskey>): Promise<NewPasskey> =>
    passkeys.verifyRegistration(body.credential, useOf(requirePasskey(requirePerson(caller)))),
  plan: (
    { db, body: { name }, caller, origin }: Attempt<CreatePasskey, NewPasskey>,
    { challenge, ...created }: NewPasskey,
  ) => {
    const person = requirePasskey(requirePerson(caller));
    const passkey: PasskeyRecord = {
      ...created,
      tenantId: person.tenantId,
      id: newId("psk", origin.now, origin.random),
      userId: person.id,
      name,
      version: 1,
      createdAt: origin.now,
      lastUsedAt: null,
    };
    const location = `/api/v1/passkeys/${passkey.id}`;
    return {
      response: { location, version: passkey.version, body: presentPasskey(passkey) },
      write: (claim: Claim | null) => insertPasskey(db, passkey, challenge, person, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertPasskey>) => {
    switch (outcome.kind) {
      case "refused":
        throw invalidPasskey();
      case "over_quota":
        throw new Problem("quota_exceeded", `A person has at most ${MAX_PASSKEYS} passkeys.`);
      default:
        return outcome;
    }
  },
};

/** Creates the link with which the caller registers a passkey on another device. */
const CREATE_LINK = {
  body: Nothing,
  isBodyOptional: true,
  representation: LINK,
  plan: ({ db, caller, origin, dependencies: { publicUrl } }: Attempt<unknown>) => {
    const person = requirePasskey(requirePerson(caller));
    const { tenantId, id, user, checkedAt } = person;
    const fields = { tenantId, email: user.email, role: user.role, userId: id, createdBy: id };
    const created = newInvitation(fields, { now: checkedAt, random: origin.random });
    const { invitation, token } = created;
    const body = { url: invitationUrl(publicUrl(), token), expiresAt: invitation.expiresAt.toISOString() };
    return {
      response: { location: `/api/v1/invitations/${invitation.id}`, version: null, body },
      write: (claim: Claim | null) => insertInvitation(db, created, person, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertInvitation>): WriteOutcome => {
    switch (outcome.kind) {
      // The user was removed after the look-up. The next attempt reports it.
      case "already_member":
      case "not_found":
        return { kind: "stale" };
      default:
        return outcome;
    }
  },
};

const UPDATE_PASSKEY = {
  body: UpdatePasskey,
  representation: PASSKEY,
  plan: ({ db, id, body: { name }, caller, origin, expectation }: Attempt<UpdatePasskey>) => {
    if (!isId("psk", id)) throw notFound();
    return {
      response: null,
      write: () => updatePasskey(db, id, name, expectation, requirePerson(caller), origin),
    };
  },
  settle: settleChange,
};

const DELETE_PASSKEY = {
  body: null,
  representation: PASSKEY,
  plan: ({ db, id, caller, origin, expectation, dependencies: { oidc } }: Attempt<unknown>) => {
    if (!isId("psk", id)) throw notFound();
    const by = requirePasskey(requirePerson(caller));
    return {
      response: null,
      write: () => deletePasskey(db, id, { ...expectation, issuer: oidc?.issuer ?? null }, by, origin),
    };
  },
  settle: settleChange,
};

export const passkeyRoutes = (dependencies: Dependencies) => {
  const { passkeys } = dependencies;
  return new Elysia({ name: "passkeys", prefix: "/api/v1/passkeys" })
    .use(authentication(dependencies))
    .post("/invitations", ({ write }) => execute(write, CREATE_LINK), {
      scope: "person",
      detail: OPERATIONS.createPasskeyInvitation,
    })
    .get(
      "",
      listHandler(dependencies, PASSKEY_LIST, ({ caller, db }, page) => {
        const { tenantId, id: userId } = requirePerson(caller);
        return listPasskeys(db, { tenantId, userId }, page);
      }),
      { scope: "person", detail: OPERATIONS.listPasskeys },
    )
    .post(
      "/options",
      async ({ caller, db, request, set, requestContext }) => {
        await readOptionalBody(request, requestContext, Nothing);
        requirePasskey(caller);
        const person = requirePerson(caller);
        const existing = await findPasskeys(db, person.tenantId, person.id);
        const publicKey = await passkeys.registrationOptions(person.user, existing, useOf(person));
        return sendJson(OPTIONS, { publicKey }, set);
      },
      { scope: "person", detail: OPERATIONS.beginPasskey },
    )
    .post("", ({ write }) => execute(write, CREATE_PASSKEY), { scope: "person", detail: OPERATIONS.createPasskey })
    .patch("/:id", ({ write }) => execute(write, UPDATE_PASSKEY), {
      scope: "person",
      detail: OPERATIONS.updatePasskey,
    })
    .delete("/:id", ({ write }) => execute(write, DELETE_PASSKEY), {
      scope: "person",
      detail: OPERATIONS.deletePasskey,
    });
};
