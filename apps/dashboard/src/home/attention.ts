/** Concerns for a person: low credits; failing endpoints, calls and avatars; expiring keys. */
import type { ApiKey, Avatar, CreditBalance, WebhookEndpoint } from "@realtime-avatar/client";
import { counted, creditAmount, credits } from "../format.ts";
import type { Page, SearchChange } from "../layout/navigation.tsx";
import { DISABLED_TEXTS, endpointName } from "../webhooks/data.ts";
import { MAX_FAILED_CALLS } from "./data.ts";

export type Concern = {
  id: string;
  kind: "Credits" | "Calls" | "Endpoint" | "Key" | "Avatar";
  tone: "bad" | "warn";
  name: string;
  text: string;
  /** A time that is shown at the end of the text. */
  at: string | null;
  to: Page;
  search?: SearchChange;
};

/** The parameters of the page that lists failed calls. */
export const FAILED_CALLS: SearchChange = { tab: "calls", status: "failed", days: 7 };

const DAY_MS = 86_400_000;
/** Keys that expire within this time are listed. */
export const SOON_DAYS = 14;
/** An avatar that failed longer ago than this is not listed. */
const RECENT_DAYS = 7;
/** The page of keys lists further keys. */
const MAX_KEYS = 5;

const ofBalance = ({ availableCreditMicros: available, lowThresholdCreditMicros: low }: CreditBalance): Concern[] => {
  const isEmpty = available === 0;
  if (!isEmpty && (low === null || available >= low)) return [];
  const text = isEmpty
    ? "New calls are refused until the operator of the service adds some, by the command `credits grant`."
    : `This is less than the ${credits(low ?? 0)} that you have set.`;
  const name = isEmpty
    ? "No credits are left"
    : `${creditAmount(available)} ${available === 1_000_000 ? "is" : "are"} left`;
  return [{ id: "credits", kind: "Credits", tone: isEmpty ? "bad" : "warn", name, text, at: null, to: "/usage" }];
};

const ofCalls = (failed: number): Concern[] => {
  if (failed === 0) return [];
  const name = `${failed >= MAX_FAILED_CALLS ? `${failed} calls or more` : counted(failed, "call")} failed today`;
  return [
    {
      id: "calls",
      kind: "Calls",
      tone: "warn",
      name,
      text: failed === 1 ? "It could not begin, and cost nothing." : "They could not begin, and cost nothing.",
      at: null,
      to: "/usage",
      search: FAILED_CALLS,
    },
  ];
};

const ofEndpoint = (endpoint: WebhookEndpoint): Concern[] => {
  const { id, disabledReason, failingSince } = endpoint;
  // An endpoint that a person has disabled needs no warning.
  if (disabledReason === "requested" || (disabledReason === null && failingSince === null)) return [];
  return [
    {
      id,
      kind: "Endpoint",
      tone: disabledReason === null ? "warn" : "bad",
      name: endpointName(endpoint),
      text:
        disabledReason === null
          ? "No delivery succeeds. The first failure was"
          : `Disabled. ${DISABLED_TEXTS[disabledReason]}`,
      at: disabledReason === null ? failingSince : null,
      to: "/webhooks",
      search: { endpoint: id },
    },
  ];
};

/** The keys that expire soon, in the order of their expiry. */
export const expiringKeys = (keys: readonly ApiKey[], now: number): ApiKey[] => {
  const expiry = ({ effectiveExpiresAt: at }: ApiKey): number =>
    at === null ? Number.POSITIVE_INFINITY : Date.parse(at);
  return keys.filter((key) => expiry(key) < now + SOON_DAYS * DAY_MS).sort((a, b) => expiry(a) - expiry(b));
};

const ofKeys = (keys: readonly ApiKey[], now: number): Concern[] => {
  const expiring = expiringKeys(keys, now);
  const shown = expiring.slice(0, MAX_KEYS).map(
    ({ id, name, effectiveExpiresAt: at }): Concern => ({
      id,
      kind: "Key",
      tone: "warn",
      name,
      text: "Expires",
      at,
      to: "/keys",
      search: { key: id },
    }),
  );
  const rest = expiring.length - shown.length;
  if (rest === 0) return shown;
  const name = `${counted(rest, "more key")} ${rest === 1 ? "expires" : "expire"}`;
  return [
    ...shown,
    { id: "keys", kind: "Key", tone: "warn", name, text: `Within ${SOON_DAYS} days.`, at: null, to: "/keys" },
  ];
};

const ofAvatars = (avatars: readonly Avatar[], now: number): Concern[] =>
  avatars
    .filter(({ updatedAt }) => Date.parse(updatedAt) > now - RECENT_DAYS * DAY_MS)
    .map(({ id, displayName, error }) => ({
      id,
      kind: "Avatar",
      tone: "bad",
      name: displayName,
      text: error ?? "Its source could not be used.",
      at: null,
      to: "/avatars",
      search: { avatar: id },
    }));

export type HomeData = {
  balance: CreditBalance;
  failedCalls: number;
  endpoints: readonly WebhookEndpoint[];
  /** The active keys that were read. */
  keys: readonly ApiKey[];
  failedAvatars: readonly Avatar[];
};

/** Concerns that prevent calls come first. */
export const listConcerns = (
  { balance, failedCalls, endpoints, keys, failedAvatars }: HomeData,
  now: number,
): Concern[] => [
  ...ofBalance(balance),
  ...endpoints.flatMap(ofEndpoint),
  ...ofKeys(keys, now),
  ...ofCalls(failedCalls),
  ...ofAvatars(failedAvatars, now),
];
