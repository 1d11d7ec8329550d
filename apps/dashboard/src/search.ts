/** The parameters in the addresses of the pages. Unknown and malformed ones are dropped. */

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
  /** The call that the page of usage shows instead of its tabs. */
  call?: string;
  endpoint?: string;
  delivery?: string;
  /** The open tab of the page of usage; without it, the overview. */
  tab?: "calls" | "ledger";
  /** Number of days of the charts and of the calls. */
  days?: 7 | 90;
  /** Whether revoked and expired keys are shown. */
  all?: true;
  /** A part of the name or the id of listed items. */
  filter?: string;
  /** Whether the page opens the dialog that creates its objects. */
  create?: true;
  /** The range of days of the creation. */
  since?: string;
  until?: string;
  /** On the sign-in page: whether the session has ended other than by a sign-out. */
  ended?: true;
  /** On the sign-in page: the page after the sign-in. */
  to?: ReturnPath;
  /** The filters of the audit trail. */
  action?: string;
  target?: string;
  actor?: string;
  /** The status filter of keys, avatars and calls. With `target` and `event`: the filters of deliveries. */
  status?: string;
  event?: string;
  /** On the sign-in page: the tenant, and the failure of a sign-in at the provider. */
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
    // The router parses a number in the address as a number.
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
