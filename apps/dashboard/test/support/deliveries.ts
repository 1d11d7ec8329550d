/** Settles deliveries like a worker, with a response that the test chooses. */
import {
  claimDeliveries,
  type DeliveryOutcome,
  finishDeliveries,
  freezeBodies,
} from "@realtime-avatar/db/webhooks/sending";
import type { DeliveryAttempt } from "@realtime-avatar/domain/webhooks/schemas";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import type { Service } from "./service.ts";

type Response = Partial<Omit<DeliveryAttempt, "at">>;

const CLAIM = { leaseSeconds: 60, limit: 100, perEndpoint: 100, perTenant: 100 };

/** Settles every due delivery. Returns their number. */
const settleDue = async ({ database: { db } }: Service, outcome: DeliveryOutcome, response: Response) => {
  const lease = crypto.randomUUID();
  const claimed = await claimDeliveries(db, { ...CLAIM, lease });
  if (claimed.length === 0) return 0;
  const bodies = claimed.map(({ tenantId, eventId, eventType: type, targetId, sequence }) => {
    const data = { id: targetId, object: type.split(".")[0], sequence, resource: { id: targetId } };
    return { tenantId, eventId, body: JSON.stringify({ id: eventId, type, data }) };
  });
  await freezeBodies(db, bodies);
  const at = new Date().toISOString();
  const attempt = { at, status: null, error: null, durationMs: 12, responseBody: null, ...response };
  const settled = claimed.map(({ tenantId, id, attemptCount }) => ({
    tenantId,
    id,
    lease,
    attemptCount,
    attempt,
    outcome,
    delayMs: 0,
    slowMs: null,
  }));
  return finishDeliveries(db, settled, operatorOrigin());
};

/** Waits for due deliveries, and settles them. */
export const settle = async (service: Service, outcome: DeliveryOutcome, response: Response): Promise<void> => {
  await until(async () => (await settleDue(service, outcome, response)) > 0);
};
