/** Each fault of `bun run test:mutations` fits the functions as they are now. */
import { expect, test } from "bun:test";
import { CREATE_FUNCTIONS } from "@realtime-avatar/db/functions/schema";
import { CALL_MUTATIONS } from "@realtime-avatar/testing/calls/mutations";
import { CREDIT_MUTATIONS, faultyFunctions } from "@realtime-avatar/testing/credits/mutations";
import { PEOPLE_MUTATIONS } from "@realtime-avatar/testing/people/mutations";
import { DELIVERY_MUTATIONS } from "@realtime-avatar/testing/webhooks/delivery-mutations";
import { EVENT_MUTATIONS } from "@realtime-avatar/testing/webhooks/mutations";

test.each(
  Object.keys({
    ...CREDIT_MUTATIONS,
    ...CALL_MUTATIONS,
    ...PEOPLE_MUTATIONS,
    ...EVENT_MUTATIONS,
    ...DELIVERY_MUTATIONS,
  }),
)("the fault %s, put in: changes the functions", (name) => {
  expect(faultyFunctions(name)).not.toBe(CREATE_FUNCTIONS);
});
