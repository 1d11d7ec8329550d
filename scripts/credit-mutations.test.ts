/** Each fault of `bun run test:mutations` fits the functions as they are now. */
import { expect, test } from "bun:test";
import { CREATE_FUNCTIONS } from "@realtime-avatar/db/functions/schema";
import { faultyFunctions, MUTATIONS } from "@realtime-avatar/testing/credits/mutations";

test.each(Object.keys(MUTATIONS))("the fault %s, put in: changes the functions", (name) => {
  expect(faultyFunctions(name)).not.toBe(CREATE_FUNCTIONS);
});
