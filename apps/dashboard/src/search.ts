/** The parameters of the addresses of the pages. What is unknown or malformed is dropped. */

import { type OidcFailure, RETURN_PATHS, type ReturnPath } from "@realtime-avatar/domain/people/oidc-pages";
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { failureIn } from "./sign-in/failure.ts";

export type Search = {
  environment?: "test";
  /** The object whose details are open: a key, an avatar, a video, a usage session, a webhook endpoint or a delivery. */
  key?: string;
  avatar?: string;
  video?: string;
  session?: string;
  /** The call that the page of usage shows in place of its parts. */
  call?: string;
  endpoint?: string;
  delivery?: string;
  /** The part of the page of usage that is open; without it, the overview. */
  tab?: "calls" | "ledger";
  /** The days of the charts and of the calls. */
  days?: 7 | 90;
  /** Whether revoked and expired keys are shown. */
  all?: true;
  /** A part of the name or the id of what a list shows. */
  filter?: string;
  /** Whether the page opens the dialog in which its objects are created. */
  create?: true;
  /** The first and the last day on which it was created. */
  since?: string;
  until?: string;
  /** On the sign-in page: whether a session has ended by itself or by another person. */
  ended?: true;
  /** On the sign-in page: where it leads. */
  to?: ReturnPath;
  /** The filters of the audit trail. */
  action?: string;
  target?: string;
  actor?: string;
  /** The filters of keys and avatars, and with `target` and `event` those of deliveries. Calls have a status as well. */
  status?: string;
  event?: string;
  /** On the sign-in page: the tenant, and why a sign-in at the provider has failed. */
  tenant?: string;
  problem?: OidcFailure;
};

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** A name of the API, such as an action or a status. */
const name = (value: unknown): string | undefined =>
  typeof value === "string" && /^[a-z_.]{1,64}$/.test(value) ? value : undefined;

const id = (value: unknown): string | undefined => (typeof value === "string" && ID.test(value) ? value : undefined);

const day = (value: unknown): string | undefined =>
  typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;

export const validateSearch = (search: Record<string, unknown>): Search => {
  const { environment, days, all, filter, ended, to, tab } = search;
  const valid = {
    environment: environment === "test" ? ("test" as const) : undefined,
    key: id(search["key"]),
    avatar: id(search["avatar"]),
    video: id(search["video"]),
    session: id(search["session"]),
    call: id(search["call"]),
    endpoint: id(search["endpoint"]),
    delivery: id(search["delivery"]),
    tab: tab === "calls" || tab === "ledger" ? (tab as "calls" | "ledger") : undefined,
    days: days === 7 || days === 90 ? days : undefined,
    all: all === true ? (true as const) : undefined,
    create: search["create"] === true ? (true as const) : undefined,
    to: RETURN_PATHS.find((path) => path === to),
    ended: ended === true ? (true as const) : undefined,
    // The router reads a number that is in the address as one.
    filter: ["string", "number"].includes(typeof filter)
      ? String(filter).slice(0, MAX_DISPLAY_NAME_LENGTH) || undefined
      : undefined,
    action: name(search["action"]),
    target: id(search["target"]),
    actor: id(search["actor"]),
    since: day(search["since"]),
    until: day(search["until"]),
    status: name(search["status"]),
    event: name(search["event"]),
    tenant: id(search["tenant"]),
    problem: failureIn(search["problem"]),
  };
  return Object.fromEntries(Object.entries(valid).filter(([, value]) => value !== undefined));
};
