/** Each fault of `bun run test:mutations` can be applied to the present functions. */
import { expect, test } from "bun:test";
import { CREATE_FUNCTIONS } from "@realtime-avatar/db/functions/schema";
import { faultyFunctions, MUTATIONS } from "@realtime-avatar/testing/credits/mutations";

test.each(Object.keys(MUTATIONS))("the fault %s, applied: changes the functions", (name) => {
  expect(faultyFunctions(name)).not.toBe(CREATE_FUNCTIONS);
});
