/** `/api/v1/passkeys`: the passkeys of the caller. */

import type { PersonCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import {
  deletePasskey,
  findPasskeysOf,
  insertPasskey,
  listPasskeys,
  MAX_PASSKEYS,
  type PasskeyOutcome,
  updatePasskey,
} from "@realtime-avatar/db/people/passkeys";
import { isId, newId } from "@realtime-avatar/domain/id";
import { pageText, readPage } from "@realtime-avatar/domain/page";
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
import { checkVersion, notFound, Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../../dependencies.ts";
import { authentication } from "../../http/authenticate.ts";
import { readBody, readOptionalBody } from "../../http/body.ts";
import { type Expectation, entityTag, readIfMatch } from "../../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../../http/idempotency.ts";
import { invalidPasskey } from "../../http/people/passkeys.ts";
import { personOf, requirePasskey } from "../../http/people/person.ts";
import { NO_PARAMETERS, readQuery } from "../../http/query.ts";
import { type ResponseHead, sendJson, sendResource } from "../../http/response.ts";
import { operations } from "../../openapi/operation.ts";

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
      "Deletes a passkey of the caller, and ends the other sessions that it has opened. What is the last way to sign in cannot be deleted.",
    success: { status: 200, description: "The passkey as it was.", schema: Passkey },
    problems: ["passkey_required", "last_passkey"],
  },
});

const PASSKEY = { schema: Passkey, toText: JSON.stringify };
const OPTIONS = { schema: PublicKeyOptions, toText: JSON.stringify };
const LINK = { schema: PasskeyInvitation, toText: JSON.stringify };

const useOf = ({ sessionId }: PersonCaller) => ({ purpose: "new_passkey" as const, subject: sessionId });
const sendPasskey = (passkey: PasskeyRecord, set: ResponseHead): string =>
  sendResource(PASSKEY, presentPasskey(passkey), passkey, set);

/** The passkey of a change that was written. Throws the problem that says why it was not. */
const written = (
  outcome: PasskeyOutcome,
  { matches }: Expectation,
): { kind: "written"; passkey: PasskeyRecord } | { kind: "stale" } => {
  switch (outcome.kind) {
    case "not_found":
      throw notFound();
    case "unchanged":
      checkVersion(outcome.passkey, matches);
      throw notFound();
    case "last_passkey":
      throw new Problem("last_passkey", "The person could not sign in without the passkey.");
    case "written":
      return { kind: "written", passkey: outcome.passkey };
    case "stale":
      return outcome;
  }
};

/** Registers the passkey that the browser of the caller has created. */
const planPasskey =
  (db: Db, { passkeys }: Dependencies, { credential, name }: CreatePasskey): MakePlan<Passkey> =>
  async (caller, origin) => {
    const person = requirePasskey(personOf(caller));
    const { challenge, ...created } = await passkeys.verifyRegistration(credential, useOf(person));
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
      response: { status: 201, location, etag: entityTag(passkey), body: presentPasskey(passkey) },
      write: async (claim) => {
        const outcome = await insertPasskey(db, passkey, challenge, person, origin, claim);
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
  };

/** Creates the link with which the caller registers a passkey on another device. */
const planLink =
  (db: Db, { publicUrl }: Dependencies): MakePlan<PasskeyInvitation> =>
  (caller, origin) => {
    const person = requirePasskey(personOf(caller));
    const { tenantId, id, user, checkedAt } = person;
    const fields = { tenantId, email: user.email, role: user.role, userId: id, createdBy: id };
    const created = newInvitation(fields, { now: checkedAt, random: origin.random });
    const { invitation, token } = created;
    return {
      response: {
        status: 201,
        location: `/api/v1/invitations/${invitation.id}`,
        etag: "",
        body: { url: invitationUrl(publicUrl(), token), expiresAt: invitation.expiresAt.toISOString() },
      },
      write: async (claim) => {
        const outcome = await insertInvitation(db, created, person, origin, claim);
        switch (outcome.kind) {
          // The user was removed after the look-up. The next attempt says so.
          case "already_member":
          case "not_found":
            return { kind: "stale" };
          default:
            return outcome;
        }
      },
    };
  };

export const passkeyRoutes = (dependencies: Dependencies) => {
  const { responseBytes, passkeys, oidc } = dependencies;
  return new Elysia({ name: "passkeys", prefix: "/api/v1/passkeys" })
    .use(authentication(dependencies))
    .post(
      "/invitations",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readOptionalBody(request, requestContext, Nothing);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, LINK, body, planLink(db, dependencies));
      },
      { scope: "person", detail: OPERATIONS.createPasskeyInvitation },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(PASSKEY_LIST, readQuery(request, PASSKEY_LIST.query));
        const text = pageText(PASSKEY_LIST, page, await listPasskeys(db, personOf(caller), page));
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "person", detail: OPERATIONS.listPasskeys },
    )
    .post(
      "/options",
      async ({ caller, db, request, set, requestContext }) => {
        checkIdempotencyKey(request);
        await readOptionalBody(request, requestContext, Nothing);
        requirePasskey(caller);
        const person = personOf(caller);
        const existing = await findPasskeysOf(db, person.tenantId, person.id);
        const publicKey = await passkeys.registrationOptions(person.user, existing, useOf(person));
        return sendJson(OPTIONS, { publicKey }, set);
      },
      { scope: "person", detail: OPERATIONS.beginPasskey },
    )
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreatePasskey);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, PASSKEY, body, planPasskey(db, dependencies, body));
      },
      { scope: "person", detail: OPERATIONS.createPasskey },
    )
    .patch(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set, requestContext }) => {
        const expectation = readIfMatch(request);
        const { name } = await readBody(request, requestContext, UpdatePasskey, expectation.errors);
        const { passkey } = await writeAsCaller(async (caller, origin) => {
          if (!isId("psk", id)) throw notFound();
          return written(await updatePasskey(db, id, name, expectation, personOf(caller), origin), expectation);
        });
        return sendPasskey(passkey, set);
      },
      { scope: "person", detail: OPERATIONS.updatePasskey },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set }) => {
        const expectation = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, expectation.errors);
        const { passkey } = await writeAsCaller(async (caller, origin) => {
          if (!isId("psk", id)) throw notFound();
          const by = requirePasskey(personOf(caller));
          const accepted = { ...expectation, issuer: oidc?.issuer ?? null };
          return written(await deletePasskey(db, id, accepted, by, origin), expectation);
        });
        return sendPasskey(passkey, set);
      },
      { scope: "person", detail: OPERATIONS.deletePasskey },
    );
};
