/** `/api/v1/invitations` */

import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  acceptInvitation,
  deleteInvitation,
  findInvitation,
  insertInvitation,
  listInvitations,
  type StoredInvitation,
} from "@realtime-avatar/db/people/invitations";
import { findPasskeys } from "@realtime-avatar/db/people/passkeys";
import { isId, newId, type UserId } from "@realtime-avatar/domain/id";
import {
  invitationUrl,
  newInvitation,
  newUserSession,
  presentInvitation,
  type UserRecord,
} from "@realtime-avatar/domain/people/people";
import {
  AcceptInvitation,
  CreateInvitation,
  CurrentSession,
  INVITATION_LIST,
  Invitation,
  InvitationOptions,
  InvitationOptionsRequest,
  InvitationPage,
  InvitationWithUrl,
} from "@realtime-avatar/domain/people/schemas";
import { parseToken, type SessionToken, verifyToken } from "@realtime-avatar/domain/people/tokens";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey, requirePerson } from "../http/person.ts";
import { runWrite } from "../http/problem.ts";
import { type RequestContext, requestOrigin, withRequestContext } from "../http/request-context.ts";
import { sendJson } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";
import { createAnonymousCheck, readUserAgent, sendNewSession, shownProvider } from "./sign-in.ts";
import { invalidPasskey } from "./webauthn.ts";

const OPERATIONS = operations({
  beginInvitation: {
    summary: "Get options to accept an invitation",
    description:
      "Returns the purpose of an invitation's link, and the options to create a passkey. Requires no credentials. The link stays valid.",
    body: InvitationOptionsRequest,
    success: { status: 200, description: "The invitation, and the options.", schema: InvitationOptions },
    problems: ["rate_limited", "foreign_origin", "invalid_invitation"],
  },
  acceptInvitation: {
    summary: "Accept an invitation",
    description:
      "Registers the passkey that the browser has created, and signs in. The link is spent. A link for a new user creates the user with this name. A link for a further passkey of a user gives the passkey this name.",
    body: AcceptInvitation,
    success: { status: 201, description: "The session. `Set-Cookie` contains its cookie.", schema: CurrentSession },
    problems: [
      "rate_limited",
      "foreign_origin",
      "invalid_invitation",
      "invalid_passkey",
      "already_member",
      "quota_exceeded",
    ],
    setsCookie: true,
  },
  listInvitations: {
    summary: "List invitations",
    description: "Lists the open invitations of new users, newest first.",
    query: INVITATION_LIST.query,
    success: { status: 200, description: "A page of invitations.", schema: InvitationPage },
  },
  createInvitation: {
    summary: "Invite a person",
    description:
      "Creates a link with which a person joins the tenant with this role. Only this response contains it. It can be used once, and is valid for 30 minutes unless `lifetimeSeconds` says otherwise. The service sends no mail. Another invitation for the same address replaces it.",
    body: CreateInvitation,
    success: { status: 201, description: "The invitation, with its link.", schema: InvitationWithUrl },
    problems: ["passkey_required", "already_member"],
  },
  deleteInvitation: {
    summary: "Withdraw an invitation",
    description: "Makes the link of an invitation invalid.",
    success: { status: 200, description: "The invitation before it was withdrawn.", schema: Invitation },
  },
});

const INVITATION = { schema: Invitation, toText: JSON.stringify };
const WITH_URL = { schema: InvitationWithUrl, toText: JSON.stringify };
const OPTIONS = { schema: InvitationOptions, toText: JSON.stringify };

/** Invitations never change, so all have the same version. */
const VERSION = { version: 1 };
const FIRST_PASSKEY_NAME = "First passkey";

/**
 * The invitation of a token, and its database. Throws the problem `invalid_invitation`, with the same text for every
 * reason.
 */
export const findValidInvitation = async (
  { databases }: Dependencies,
  text: string,
  context: RequestContext,
): Promise<{ invitation: StoredInvitation; db: Db }> => {
  const token = parseToken("invitation", text);
  if (!token) throw invalidInvitation();
  const db = databases.ofTenant(token.tenantId).until(context);
  const invitation = await findInvitation(db, token);
  if (!invitation || !verifyToken(token, invitation.digest) || !invitation.isValid) throw invalidInvitation();
  return { invitation, db };
};

const invalidInvitation = (): Problem =>
  new Problem(
    "invalid_invitation",
    "The link is not valid: it was used, withdrawn or has expired. Ask for another one.",
  );

/**
 * The user of an invitation: an existing user, or the user that the invitation creates, whose id is derived from the
 * invitation's id.
 */
export const invitedUserId = ({ id, userId }: StoredInvitation): UserId => userId ?? `usr_${id.slice(4)}`;

const useOf = ({ id }: StoredInvitation) => ({ purpose: "registration" as const, subject: id });

/** Registers the passkey and signs in. Throws a problem when it cannot. */
const accept = async (
  dependencies: Dependencies,
  { token, name, credential }: AcceptInvitation,
  request: Request,
  context: RequestContext,
): Promise<SessionToken> => {
  const { invitation, db } = await findValidInvitation(dependencies, token, context);
  const { challenge, ...created } = await dependencies.passkeys.verifyRegistration(credential, useOf(invitation));
  const origin = requestOrigin(dependencies, null, context);
  const { now, random } = origin;
  const { tenantId, email, role } = invitation;
  const userId = invitedUserId(invitation);
  const isNew = invitation.userId === null;
  const user: UserRecord = { tenantId, id: userId, email, name, role, version: 1, createdAt: now, lastSeenAt: null };
  const passkey = {
    ...created,
    tenantId,
    id: newId("psk", now, random),
    userId,
    name: isNew ? FIRST_PASSKEY_NAME : name,
    version: 1,
    createdAt: now,
    lastUsedAt: now,
  };
  const signedIn = newUserSession(
    { tenantId, userId, passkeyId: passkey.id, userAgent: readUserAgent(request) },
    { now, random },
  );
  const acceptance = { ...signedIn, user: isNew ? user : null, passkey, challenge };
  const { kind } = await runWrite(() => acceptInvitation(db, invitation, acceptance, origin));
  switch (kind) {
    case "written":
      return signedIn.token;
    case "invalid_invitation":
      throw invalidInvitation();
    case "already_member":
      throw new Problem("already_member", "A user of the tenant has the email address of the invitation.");
    case "over_quota":
      throw new Problem("quota_exceeded", "The person has the maximum number of passkeys.");
    case "taken":
    case "refused":
      throw invalidPasskey();
  }
};

/** The routes without credentials, which have the token of a link. */
export const invitationAcceptanceRoutes = (dependencies: Dependencies) => {
  const check = createAnonymousCheck(dependencies);
  return new Elysia({ name: "invitation-acceptance", prefix: "/api/v1/invitations" })
    .use(withRequestContext)
    .post(
      "/options",
      async ({ request, set, requestContext }) => {
        await check(request);
        const { token } = await readBody(request, requestContext, InvitationOptionsRequest);
        const { invitation, db } = await findValidInvitation(dependencies, token, requestContext);
        const { tenantId, tenantName, email, role } = invitation;
        const existing = invitation.userId ? await findPasskeys(db, tenantId, invitation.userId) : [];
        const user = { tenantId, id: invitedUserId(invitation), email, name: email };
        const publicKey = await dependencies.passkeys.registrationOptions(user, existing, useOf(invitation));
        const tenant = { id: tenantId, name: tenantName };
        const shown = { tenant, email, role, isNewUser: invitation.userId === null, publicKey };
        return sendJson(OPTIONS, { ...shown, oidc: shownProvider(dependencies) }, set);
      },
      { detail: OPERATIONS.beginInvitation },
    )
    .post(
      "/acceptance",
      async ({ request, set, requestContext }) => {
        await check(request);
        const body = await readBody(request, requestContext, AcceptInvitation);
        const token = await accept(dependencies, body, request, requestContext);
        return sendNewSession(dependencies, token, requestContext, set);
      },
      { detail: OPERATIONS.acceptInvitation },
    );
};

const CREATE_INVITATION = {
  body: CreateInvitation,
  representation: WITH_URL,
  plan: ({
    db,
    body: { email, role, lifetimeSeconds },
    caller,
    origin,
    dependencies: { publicUrl },
  }: Attempt<CreateInvitation>) => {
    const person = requirePasskey(requirePerson(caller));
    const fields = { tenantId: person.tenantId, email, role, lifetimeSeconds, userId: null, createdBy: person.id };
    const created = newInvitation(fields, { now: person.checkedAt, random: origin.random });
    const { invitation, token } = created;
    const body = { ...presentInvitation(invitation), url: invitationUrl(publicUrl(), token) };
    return {
      response: { location: `/api/v1/invitations/${invitation.id}`, ...VERSION, body },
      write: (claim: Claim | null) => insertInvitation(db, created, person, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertInvitation>) => {
    switch (outcome.kind) {
      case "already_member":
        throw new Problem("already_member", "A user of the tenant has this email address.");
      // The caller belongs to the tenant.
      case "not_found":
        throw new Error("the tenant of the caller does not exist");
      default:
        return outcome;
    }
  },
};

const DELETE_INVITATION = {
  body: null,
  representation: INVITATION,
  plan: ({ db, id, caller, origin, expectation: { matches } }: Attempt<unknown>) => {
    if (!isId("inv", id)) throw notFound();
    checkVersion(VERSION, matches);
    return {
      response: null,
      write: () => deleteInvitation(db, id, requirePerson(caller), origin),
    };
  },
  settle: (outcome: OutcomeOf<typeof deleteInvitation>): Settled<Invitation> => {
    if (outcome.kind === "not_found") throw notFound();
    return outcome.kind === "stale" ? outcome : writtenResource(VERSION, presentInvitation(outcome.invitation));
  },
};

export const invitationRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "invitations", prefix: "/api/v1/invitations" })
    .use(authentication(dependencies))
    .get(
      "",
      listHandler(dependencies, INVITATION_LIST, ({ caller, db }, page) => listInvitations(db, caller, page)),
      { scope: "person", detail: OPERATIONS.listInvitations },
    )
    .post("", ({ write }) => execute(write, CREATE_INVITATION), {
      scope: "person",
      detail: OPERATIONS.createInvitation,
    })
    .delete("/:id", ({ write }) => execute(write, DELETE_INVITATION), {
      scope: "person",
      detail: OPERATIONS.deleteInvitation,
    });
