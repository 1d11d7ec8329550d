/** `/api/v1/webhook-endpoints` */

import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateEndpointSecret,
  updateEndpoint,
} from "@realtime-avatar/db/webhooks/endpoints";
import { isId, newId, type WebhookEndpointId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import {
  newWebhookEndpoint,
  normalizeSelection,
  presentWebhookEndpoint,
  presentWebhookEndpointWithSecret,
  rotatedEndpoint,
  type WebhookEndpointRecord,
} from "@realtime-avatar/domain/webhooks/endpoint";
import {
  CreateWebhookEndpoint,
  MAX_ENDPOINTS,
  NoFields,
  UpdateWebhookEndpoint,
  WEBHOOK_ENDPOINT_LIST,
  WebhookEndpoint,
  WebhookEndpointPage,
  WebhookEndpointWithSecret,
} from "@realtime-avatar/domain/webhooks/schemas";
import { sealWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { newWebhookSecret } from "@realtime-avatar/domain/webhooks/signature";
import { webhookUrlErrors } from "@realtime-avatar/domain/webhooks/url";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";

const OPERATIONS = operations({
  createWebhookEndpoint: {
    summary: "Add a webhook endpoint",
    description:
      "Adds a URL that receives the events of the environment of the calling key. Only this response contains the secret that verifies them. A person who adds one in the live environment uses the passkey.",
    body: CreateWebhookEndpoint,
    success: { status: 201, description: "The endpoint, with its secret.", schema: WebhookEndpointWithSecret },
    problems: ["quota_exceeded"],
  },
  listWebhookEndpoints: {
    summary: "List webhook endpoints",
    description: "Lists the endpoints in the environment of the calling key, newest first.",
    query: WEBHOOK_ENDPOINT_LIST.query,
    success: { status: 200, description: "A page of endpoints.", schema: WebhookEndpointPage },
  },
  getWebhookEndpoint: {
    summary: "Read a webhook endpoint",
    description: "Returns an endpoint without its secret.",
    success: { status: 200, description: "The endpoint.", schema: WebhookEndpoint },
  },
  updateWebhookEndpoint: {
    summary: "Change a webhook endpoint",
    description:
      "Changes the given fields; `events` is replaced as a whole. The change applies to the next attempt of each delivery. Pending deliveries are canceled if the endpoint is disabled or no longer selects the event. With `status: enabled`, a disabled endpoint gets the events from then on. A person who changes the `url` in the live environment uses the passkey.",
    body: UpdateWebhookEndpoint,
    success: { status: 200, description: "The endpoint after the request.", schema: WebhookEndpoint },
    problems: ["passkey_required"],
  },
  deleteWebhookEndpoint: {
    summary: "Delete a webhook endpoint",
    description:
      "Deletes the endpoint and its secrets. Pending deliveries are canceled. Its deliveries can still be read.",
    success: { status: 200, description: "The endpoint in its last state.", schema: WebhookEndpoint },
  },
  rotateWebhookSecret: {
    summary: "Rotate the secret of a webhook endpoint",
    description:
      "Gives the endpoint a new secret. Only this response contains it. For 24 hours, each delivery is signed with both secrets, so that a receiver can change its secret at any time. During that time, the secret cannot be rotated again.",
    body: NoFields,
    isBodyOptional: true,
    success: { status: 200, description: "The endpoint, with its new secret.", schema: WebhookEndpointWithSecret },
    problems: ["rotation_in_progress"],
  },
});

const ENDPOINT = { schema: WebhookEndpoint, toText: JSON.stringify };
const WITH_SECRET = { schema: WebhookEndpointWithSecret, toText: JSON.stringify };

/** The id in the path. Throws the problem `not_found` when it is malformed. */
const endpointIdOf = (id: string): WebhookEndpointId => {
  if (!isId("whe", id)) throw notFound();
  return id;
};

/** The errors of the URL of a body, which depend on the configuration. */
const urlErrors =
  ({ webhooks }: Dependencies) =>
  ({ url }: { url?: string | null }) =>
    url ? webhookUrlErrors(url, webhooks.allowHttpLocalhost) : [];

const createEndpoint = (dependencies: Dependencies) => ({
  body: CreateWebhookEndpoint,
  errorsOf: urlErrors(dependencies),
  representation: WITH_SECRET,
  plan: ({ db, body, caller, origin: { now, random }, origin }: Attempt<CreateWebhookEndpoint>) => {
    const { tenantId, environment } = caller;
    const id = newId("whe", now, random);
    const secret = newWebhookSecret(random);
    const sealed = sealWebhookSecret(secret, id, dependencies.webhooks.sealingKey, random);
    const endpoint = newWebhookEndpoint(body, { id, tenantId, environment, secret: sealed, now });
    const by = environment === "live" ? requirePasskey(caller) : caller;
    const shown = presentWebhookEndpointWithSecret(endpoint, secret);
    return {
      response: { location: `/api/v1/webhook-endpoints/${id}`, version: endpoint.version, body: shown },
      write: (claim: Claim | null) => insertEndpoint(db, endpoint, by, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertEndpoint>) => {
    if (outcome.kind !== "quota_exceeded") return outcome;
    throw new Problem("quota_exceeded", `The tenant has ${MAX_ENDPOINTS} webhook endpoints, the maximum.`);
  },
});

/** The endpoint after a change or a deletion. Throws a problem when it was refused. */
const settleChange = (
  outcome: OutcomeOf<typeof updateEndpoint>,
  { expectation: { matches } }: Attempt<unknown>,
): Settled<WebhookEndpoint> => {
  switch (outcome.kind) {
    case "unchanged":
      checkVersion(outcome.endpoint, matches);
      return { kind: "stale" };
    case "written":
      return writtenResource(outcome.endpoint, presentWebhookEndpoint(outcome.endpoint));
    case "not_found":
      throw notFound();
    case "stale":
      return outcome;
  }
};

const updateOperation = (dependencies: Dependencies) => ({
  body: UpdateWebhookEndpoint,
  errorsOf: urlErrors(dependencies),
  representation: ENDPOINT,
  plan: ({ db, id, body, caller, origin, expectation: { versions } }: Attempt<UpdateWebhookEndpoint>) => {
    const by = body.url !== undefined && caller.environment === "live" ? requirePasskey(caller) : caller;
    const changes = body.events === undefined ? body : { ...body, events: normalizeSelection(body.events) };
    return {
      response: null,
      write: () => updateEndpoint(db, endpointIdOf(id), changes, { versions }, by, origin),
    };
  },
  settle: settleChange,
});

const DELETE_ENDPOINT = {
  body: null,
  representation: ENDPOINT,
  plan: ({ db, id, caller, origin, expectation: { versions } }: Attempt<unknown>) => ({
    response: null,
    write: () => deleteEndpoint(db, endpointIdOf(id), { versions }, caller, origin),
  }),
  settle: settleChange,
};

type RotateAttempt = Attempt<object, WebhookEndpointRecord | null>;

/**
 * The response is stored sealed, so it is made before the write. The write refuses if the endpoint has changed
 * meanwhile.
 */
const ROTATE_SECRET = {
  body: NoFields,
  isBodyOptional: true,
  representation: WITH_SECRET,
  lookUp: ({ id, db, caller }: RotateAttempt) => findEndpoint(db, caller, endpointIdOf(id)),
  plan: (
    { db, caller, origin: { now, random }, origin, dependencies: { webhooks } }: RotateAttempt,
    basis: WebhookEndpointRecord | null,
  ) => {
    if (basis === null) throw notFound();
    const secret = newWebhookSecret(random);
    const sealed = sealWebhookSecret(secret, basis.id, webhooks.sealingKey, random);
    const endpoint = rotatedEndpoint(basis, sealed, { now, checkedAt: caller.checkedAt });
    return {
      response: { version: endpoint.version, body: presentWebhookEndpointWithSecret(endpoint, secret) },
      write: (claim: Claim | null) => rotateEndpointSecret(db, endpoint, requirePasskey(caller), origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof rotateEndpointSecret>) => {
    if (outcome.kind === "not_found") throw notFound();
    return outcome;
  },
};

export const webhookEndpointRoutes = (dependencies: Dependencies) => {
  const create = createEndpoint(dependencies);
  const update = updateOperation(dependencies);
  return new Elysia({ name: "webhook-endpoints", prefix: "/api/v1/webhook-endpoints" })
    .use(authentication(dependencies))
    .post("", ({ write }) => execute(write, create), { scope: "*", detail: OPERATIONS.createWebhookEndpoint })
    .get(
      "",
      listHandler(dependencies, WEBHOOK_ENDPOINT_LIST, ({ caller, db }, page) => listEndpoints(db, caller, page)),
      { scope: "*", detail: OPERATIONS.listWebhookEndpoints },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const endpoint = await findEndpoint(db, caller, endpointIdOf(id));
        if (!endpoint) throw notFound();
        return sendResource(ENDPOINT, presentWebhookEndpoint(endpoint), endpoint, set);
      },
      { scope: "*", detail: OPERATIONS.getWebhookEndpoint },
    )
    .patch("/:id", ({ write }) => execute(write, update), { scope: "*", detail: OPERATIONS.updateWebhookEndpoint })
    .delete("/:id", ({ write }) => execute(write, DELETE_ENDPOINT), {
      scope: "*",
      detail: OPERATIONS.deleteWebhookEndpoint,
    })
    .post("/:id/rotate-secret", ({ write }) => execute(write, ROTATE_SECRET), {
      scope: "*",
      detail: OPERATIONS.rotateWebhookSecret,
    });
};
