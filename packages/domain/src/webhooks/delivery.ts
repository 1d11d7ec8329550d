/** What is decided about deliveries. */
import { parseDateTime } from "../date-time.ts";
import { validationFailed } from "../problem.ts";
import { DELIVERY_DAYS, type RecoverDeliveries } from "./schemas.ts";

const DAY_MS = 86_400_000;

/** From when deliveries are sent again. Throws the problem `validation_failed` when deliveries of that time are no longer kept. */
export const recoveryStart = ({ since }: RecoverDeliveries, checkedAt: Date): Date => {
  const start = parseDateTime(since);
  if (start !== null && start.getTime() >= checkedAt.getTime() - DELIVERY_DAYS * DAY_MS) return start;
  const detail = `Must be at most ${DELIVERY_DAYS} days ago.`;
  throw validationFailed([{ pointer: "#/since", code: "out_of_range", detail }]);
};
