/** `/api/v1/webhook-deliveries`, and the operations that create deliveries: tests and recoveries. */

import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  countDeliveries,
  findDelivery,
  insertTestDelivery,
  listDeliveries,
  recoverDeliveries,
  resendDelivery,
} from "@realtime-avatar/db/webhooks/deliveries";
import { findEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { isId, type WebhookDeliveryId } from "@realtime-avatar/domain/id";
import { readPage } from "@realtime-avatar/domain/page";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { ClosedObject } from "@realtime-avatar/domain/schema";
import type { WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import { recoveredSince } from "@realtime-avatar/domain/webhooks/schedule";
import {
  NoFields,
  RecoverDeliveries,
  RecoveredDeliveries,
  WEBHOOK_DELIVERY_LIST,
  WebhookDelivery,
  WebhookDeliveryPage,
} from "@realtime-avatar/domain/webhooks/schemas";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication, type WriteRequest } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { throwWriteError } from "../http/problem.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendJson } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf } from "../http/write.ts";

const OPERATIONS = operations({
  testWebhookEndpoint: {
    summary: "Send a test event",
    description:
      "Sends the event `webhook_endpoint.test` to the endpoint, and waits at most 20 seconds for the attempt. The response is the delivery, with the response of the receiver. The delivery is still `pending` if no worker has sent it in time. All endpoints of an environment with the same host together get 60 tests and resends at once, and then one every two seconds. Further ones get 429 `rate_limited`.",
    body: NoFields,
    isBodyOptional: true,
    isUnversioned: true,
    success: { status: 200, description: "The delivery after its first attempt.", schema: WebhookDelivery },
    problems: ["invalid_transition"],
  },
  recoverWebhookDeliveries: {
    summary: "Send failed deliveries again",
    description:
      "Sends deliveries of the endpoint again, the oldest first: those that were created since then and have failed, were canceled or wait for another attempt. Each starts again with its first attempt. All endpoints of an environment with the same host together get up to 20 of them a second. After 5 failures in a row, or for a new host, a single delivery is tried, and the next one after 1, 2, 4 … minutes, at most an hour, until one succeeds. An endpoint can be recovered once a minute; earlier requests get 429 `rate_limited`.",
    body: RecoverDeliveries,
    success: {
      status: 200,
      description: "The number of deliveries that are sent again, and the time of the recovery.",
      schema: RecoveredDeliveries,
    },
    problems: ["invalid_transition"],
  },
  listWebhookDeliveries: {
    summary: "List webhook deliveries",
    description:
      "Lists the deliveries of the last 30 days in the environment of the calling key, with their attempts, newest first.",
    query: WEBHOOK_DELIVERY_LIST.query,
    success: { status: 200, description: "A page of deliveries.", schema: WebhookDeliveryPage },
  },
  getWebhookDelivery: {
    summary: "Read a webhook delivery",
    description: "Returns a delivery with its attempts and its body.",
    isUnversioned: true,
    success: { status: 200, description: "The delivery.", schema: WebhookDelivery },
  },
  resendWebhookDelivery: {
    summary: "Send a delivery again",
    description:
      "Queues the delivery in any status. It keeps its event and its body, and starts again with its first attempt. Tests and resends share a limit: see the test of an endpoint.",
    body: NoFields,
    isBodyOptional: true,
    isUnversioned: true,
    success: { status: 200, description: "The delivery after the request.", schema: WebhookDelivery },
  },
});

const DELIVERY = { schema: WebhookDelivery, toText: JSON.stringify };
/** A response that is completed by the write, or read after it. */
const COMPLETED_LATER = { schema: ClosedObject({}), toText: () => "{}" };

type EndpointAttempt<Body> = Attempt<Body, WebhookEndpointRecord | null>;

const lookUpEndpoint = async ({ id, db, caller }: EndpointAttempt<unknown>): Promise<WebhookEndpointRecord | null> =>
  isId("whe", id) ? findEndpoint(db, caller, id) : null;

/** The endpoint. Throws a problem if it is disabled. */
const enabled = (endpoint: WebhookEndpointRecord | null): WebhookEndpointRecord => {
  if (endpoint === null) throw notFound();
  if (endpoint.status === "enabled") return endpoint;
  const extras = { currentStatus: endpoint.status, allowedStatuses: ["enabled"] };
  throw new Problem("invalid_transition", "The endpoint is disabled. Enable it first.", extras);
};

/** Throws the problem of a write for an unknown delivery or endpoint, or of a write that comes too early. */
const refuse = <Outcome extends { kind: string }>(
  outcome: Outcome | { kind: "not_found" } | { kind: "rate_limited"; waitSeconds: number },
  limit: string,
): Exclude<Outcome, { kind: "not_found" | "rate_limited" }> => {
  if (outcome.kind === "not_found") throw notFound();
  if (outcome.kind === "rate_limited") {
    const { waitSeconds } = outcome as { waitSeconds: number };
    throw new Problem("rate_limited", limit, { retryable: true, retryAfterSeconds: waitSeconds });
  }
  return outcome as Exclude<Outcome, { kind: "not_found" | "rate_limited" }>;
};
const RESENT_TOO_OFTEN = "Too many tests and resends of this host.";
const RECOVERED_TOO_OFTEN = "The endpoint was recovered less than a minute ago.";

const TEST_ENDPOINT = {
  body: NoFields,
  isBodyOptional: true,
  representation: COMPLETED_LATER,
  lookUp: lookUpEndpoint,
  plan: ({ db, caller, origin }: EndpointAttempt<object>, endpoint: WebhookEndpointRecord | null) => ({
    response: { version: null, body: {} },
    write: (claim: Claim | null) => insertTestDelivery(db, enabled(endpoint).id, caller, origin, claim),
  }),
  settle: (outcome: OutcomeOf<typeof insertTestDelivery>) => {
    const settled = refuse(outcome, RESENT_TOO_OFTEN);
    return settled.kind === "written"
      ? { kind: settled.kind, responseFields: { deliveryId: settled.deliveryId } }
      : settled;
  },
};

const RECOVER = {
  body: RecoverDeliveries,
  representation: COMPLETED_LATER,
  lookUp: lookUpEndpoint,
  plan: ({ db, body, caller, origin }: EndpointAttempt<RecoverDeliveries>, endpoint: WebhookEndpointRecord | null) => ({
    response: { version: null, body: {} },
    write: (claim: Claim | null) =>
      recoverDeliveries(db, enabled(endpoint).id, recoveredSince(body.since, origin.now), caller, origin, claim),
  }),
  settle: (outcome: OutcomeOf<typeof recoverDeliveries>) => {
    const settled = refuse(outcome, RECOVERED_TOO_OFTEN);
    if (settled.kind !== "written") return settled;
    const { kind, ...responseFields } = settled;
    return { kind, responseFields };
  },
};

/** The id in the path. Throws the problem `not_found` when it is malformed. */
const deliveryIdOf = (id: string): WebhookDeliveryId => {
  if (!isId("whd", id)) throw notFound();
  return id;
};

const RESEND = {
  body: NoFields,
  isBodyOptional: true,
  representation: COMPLETED_LATER,
  plan: ({ db, id, caller, origin }: Attempt<object>) => ({
    response: { version: null, body: {} },
    write: (claim: Claim | null) => resendDelivery(db, deliveryIdOf(id), caller, origin, claim),
  }),
  settle: (outcome: OutcomeOf<typeof resendDelivery>) => refuse(outcome, RESENT_TOO_OFTEN),
};

/** The delivery that a write has created or changed. */
const readWritten = async (
  db: Db,
  id: WebhookDeliveryId,
  { caller, idempotencyKey }: WriteRequest,
): Promise<WebhookDelivery> => {
  const delivery = await findDelivery(db, caller, id).catch((error: unknown) =>
    throwWriteError(error, idempotencyKey !== null),
  );
  if (!delivery) throw notFound();
  return delivery;
};

const POLL_MS = 100;

/**
 * The delivery of a test after its attempt, or after `testWaitMs`. No database connection is held between two reads.
 */
const attempted = async (write: WriteRequest, id: WebhookDeliveryId): Promise<WebhookDelivery> => {
  const { isEnding, webhooks } = write.dependencies;
  // Each read has a new deadline, because the wait is longer than the deadline of a request.
  const db = write.db.within(write.db.deadlineMs);
  const end = performance.now() + webhooks.testWaitMs;
  for (;;) {
    const delivery = await readWritten(db, id, write);
    const isOver = performance.now() >= end || isEnding() || write.requestContext.isAborted();
    if (delivery.attempts.length > 0 || delivery.status !== "pending" || isOver) return delivery;
    await Bun.sleep(POLL_MS);
  }
};

const testEndpoint = (write: WriteRequest): Promise<string> =>
  write.dependencies.testSlots.run(write.caller.tenantId, async () => {
    const { deliveryId } = JSON.parse(await execute(write, TEST_ENDPOINT));
    return sendJson(DELIVERY, await attempted(write, deliveryId), write.set);
  });

const resend = async (write: WriteRequest): Promise<string> => {
  await execute(write, RESEND);
  return sendJson(DELIVERY, await readWritten(write.db, deliveryIdOf(write.id), write), write.set);
};

/** The routes that create deliveries of endpoints. */
export const webhookTestRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "webhook-tests", prefix: "/api/v1/webhook-endpoints" })
    .use(authentication(dependencies))
    .post("/:id/test", ({ write }) => testEndpoint(write), { scope: "*", detail: OPERATIONS.testWebhookEndpoint })
    .post("/:id/recover", ({ write }) => execute(write, RECOVER), {
      scope: "*",
      detail: OPERATIONS.recoverWebhookDeliveries,
    });

export const webhookDeliveryRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "webhook-deliveries", prefix: "/api/v1/webhook-deliveries" })
    .use(authentication(dependencies))
    .get(
      "",
      listHandler(
        dependencies,
        WEBHOOK_DELIVERY_LIST,
        ({ caller, db }, page) => listDeliveries(db, caller, page),
        readPage,
        ({ caller, db }, filters) => countDeliveries(db, caller, filters),
      ),
      { scope: "*", detail: OPERATIONS.listWebhookDeliveries },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const delivery = await findDelivery(db, caller, deliveryIdOf(id));
        if (!delivery) throw notFound();
        return sendJson(DELIVERY, delivery, set);
      },
      { scope: "*", detail: OPERATIONS.getWebhookDelivery },
    )
    .post("/:id/resend", ({ write }) => resend(write), { scope: "*", detail: OPERATIONS.resendWebhookDelivery });
