/** How long transcripts of calls are kept, which the API and the worker share. */
import { readInteger, type Variables } from "../config.ts";

/** Days from the end of a call until its transcript and recordings are deleted. The API shows nothing older. */
export const readCallRetentionDays = (variables: Variables): number =>
  readInteger(variables, "CALL_RETENTION_DAYS", 30, [1, 3650]);
