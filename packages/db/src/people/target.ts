/** The common fields of the audit events of people. */
import { PEOPLE_ENVIRONMENT } from "@realtime-avatar/domain/people/people";

export const PEOPLE = { environment: PEOPLE_ENVIRONMENT };
