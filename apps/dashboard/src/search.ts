/** The parameters of the addresses of the pages. What is unknown or malformed is dropped. */

import { type OidcFailure, RETURN_PATHS, type ReturnPath } from "@realtime-avatar/domain/people/oidc-pages";
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { failureIn } from "./sign-in/failure.ts";

export type Search = {
  environment?: "test";
  /** The object whose details are open: a key, an avatar or a usage session. */
  key?: string;
  avatar?: string;
  session?: string;
  /** The days of the charts. */
  days?: 7 | 90;
  /** Whether revoked and expired keys are shown. */
  all?: true;
  /** A part of the name or the id of what a list shows. */
  filter?: string;
  /** On the sign-in page: whether a session has ended by itself or by another person. */
  ended?: true;
  /** On the sign-in page: where it leads. */
  to?: ReturnPath;
  /** The filters of the audit trail. */
  action?: string;
  target?: string;
  /** On the sign-in page: the tenant, and why a sign-in at the provider has failed. */
  tenant?: string;
  problem?: OidcFailure;
};

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

const id = (value: unknown): string | undefined => (typeof value === "string" && ID.test(value) ? value : undefined);

export const validateSearch = (search: Record<string, unknown>): Search => {
  const { environment, days, all, action, filter, ended, to } = search;
  const valid = {
    environment: environment === "test" ? ("test" as const) : undefined,
    key: id(search["key"]),
    avatar: id(search["avatar"]),
    session: id(search["session"]),
    days: days === 7 || days === 90 ? days : undefined,
    all: all === true ? (true as const) : undefined,
    to: RETURN_PATHS.find((path) => path === to),
    ended: ended === true ? (true as const) : undefined,
    // The router reads a number that is in the address as one.
    filter: ["string", "number"].includes(typeof filter)
      ? String(filter).slice(0, MAX_DISPLAY_NAME_LENGTH) || undefined
      : undefined,
    action: typeof action === "string" && /^[a-z_.]{1,64}$/.test(action) ? action : undefined,
    target: id(search["target"]),
    tenant: id(search["tenant"]),
    problem: failureIn(search["problem"]),
  };
  return Object.fromEntries(Object.entries(valid).filter(([, value]) => value !== undefined));
};
