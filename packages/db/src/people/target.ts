/** What the audit events of people have in common. */
import { PEOPLE_ENVIRONMENT } from "@realtime-avatar/domain/people/people";

export const PEOPLE = { environment: PEOPLE_ENVIRONMENT };
