/** A database function cannot import, so it repeats bounds of the domain. The numbers must be equal. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { RETRY_MS } from "@realtime-avatar/domain/calls/queue";
import { CLAIM_HOURS } from "@realtime-avatar/domain/idempotency";
import { MAX_ATTEMPTS_SHOWN } from "@realtime-avatar/domain/webhooks/schemas";

const TICKET_ENDS = `- interval '${(3 * RETRY_MS) / 1000} seconds'`;
const CLAIM_ENDS = `interval '${CLAIM_HOURS} hours'`;

test.each([
  ["schema/calls.ts", TICKET_ENDS],
  ["calls/sql/end_due_calls.sql", TICKET_ENDS],
  ["calls/sql/queue_of_calls.sql", TICKET_ENDS],
  ["calls/sql/write_ticket.sql", TICKET_ENDS],
  ["credits/sql/change_outcomes.sql", CLAIM_ENDS],
  ["calls/sql/release_call.sql", CLAIM_ENDS],
  ["credits/sql/requests_to_admit.sql", CLAIM_ENDS],
  ["idempotency/sql/claim_idempotency_keys.sql", CLAIM_ENDS],
  ["credits/sql/move_credits.sql", `> ${Number.MAX_SAFE_INTEGER} - v_account.granted`],
  ["webhooks/sql/with_attempt.sql", `limit ${MAX_ATTEMPTS_SHOWN}\n`],
])("a bound of the domain, repeated in %s: the same number", async (file, bound) => {
  expect(await Bun.file(join(import.meta.dir, "..", file)).text()).toContain(bound);
});
