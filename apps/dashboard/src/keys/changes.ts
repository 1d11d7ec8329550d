/**
 * Compares the permissions of a key before and after a change, before it is saved. The service uses the same
 * comparison.
 */
import type { ApiKey } from "@realtime-avatar/client";
import { permits } from "@realtime-avatar/domain/api-keys/scope";
import { counted, creditAmount, dateTime } from "../format.ts";

/** The fields of a key that can be changed. */
export type Limits = Pick<ApiKey, "spendLimitCreditMicros" | "maxConcurrentSessions" | "expiresAt">;
export type Fields = Pick<ApiKey, "name" | "scopes"> & Limits;

export type Difference = {
  field: keyof Fields;
  /** null for the name, which limits nothing. */
  direction: "wider" | "narrower" | null;
  text: string;
};

const capText = (cap: number | null): string => (cap === null ? "no cap" : creditAmount(cap));
const callsText = (limit: number | null): string => (limit === null ? "no limit" : `${limit}`);
const expiryText = (expiresAt: string | null): string => (expiresAt === null ? "never" : dateTime(expiresAt));

/** Whether a limit is higher than another; null means no limit. */
const isAbove = (a: number | null, b: number | null): boolean => b !== null && (a === null || a > b);
const timeOf = (expiresAt: string | null): number | null => (expiresAt === null ? null : new Date(expiresAt).getTime());

const list = (scopes: readonly string[]): string =>
  scopes.map((scope) => (scope === "*" ? "everything except usage:write" : scope)).join(", ");

/** The differences of `after` from `before`. */
export const compareFields = (before: Fields, after: Fields): Difference[] => {
  const differences: Difference[] = [];
  const limit = (field: keyof Limits, from: number | null, to: number | null, text: string): void => {
    if (from !== to) differences.push({ field, direction: isAbove(to, from) ? "wider" : "narrower", text });
  };
  if (before.name.trim() !== after.name) {
    differences.push({ field: "name", direction: null, text: `Name: ${before.name} → ${after.name}` });
  }
  const added = after.scopes.filter((scope) => !permits(before.scopes, scope));
  const removed = before.scopes.filter((scope) => !permits(after.scopes, scope));
  if (added.length > 0) differences.push({ field: "scopes", direction: "wider", text: `May also do: ${list(added)}` });
  if (removed.length > 0) {
    const text = removed.includes("*") ? `May only do: ${list(after.scopes)}` : `May no longer do: ${list(removed)}`;
    differences.push({ field: "scopes", direction: "narrower", text });
  }
  const [oldCap, newCap] = [before.spendLimitCreditMicros, after.spendLimitCreditMicros];
  limit("spendLimitCreditMicros", oldCap, newCap, `Spend cap: ${capText(oldCap)} → ${capText(newCap)}`);
  const [oldCalls, newCalls] = [before.maxConcurrentSessions, after.maxConcurrentSessions];
  limit("maxConcurrentSessions", oldCalls, newCalls, `Calls at once: ${callsText(oldCalls)} → ${callsText(newCalls)}`);
  const [oldExpiry, newExpiry] = [before.expiresAt, after.expiresAt];
  const expiries = `Expires: ${expiryText(oldExpiry)} → ${expiryText(newExpiry)}`;
  limit("expiresAt", timeOf(oldExpiry), timeOf(newExpiry), expiries);
  return differences;
};

/** The body of the request. Contains only the differences, so that no other field of the key is written. */
export const updateRequest = (after: Fields, differences: readonly Difference[]): Partial<Fields> =>
  Object.fromEntries(differences.map(({ field }) => [field, after[field]]));

/**
 * The limits that a key inherits from its ancestors, as far as the page knows them. If the parent is known, these are
 * the parent's limits in effect. Except the expiry, a limit applies only in its own environment. If the parent is
 * unknown, these are the limits in effect that are not the key's own.
 */
export const inheritedLimits = (key: ApiKey, parent: ApiKey | undefined): Limits => {
  const known = <Limit>(own: Limit, effective: Limit): Limit | null => (own === effective ? null : effective);
  const cap = known(key.spendLimitCreditMicros, key.effectiveSpendLimitCreditMicros);
  const calls = known(key.maxConcurrentSessions, key.effectiveMaxConcurrentSessions);
  const isSameEnvironment = parent?.environment === key.environment;
  return {
    spendLimitCreditMicros: isSameEnvironment ? parent.effectiveSpendLimitCreditMicros : cap,
    maxConcurrentSessions: isSameEnvironment ? parent.effectiveMaxConcurrentSessions : calls,
    expiresAt: parent ? parent.effectiveExpiresAt : known(key.expiresAt, key.effectiveExpiresAt),
  };
};

/** The inherited limits in effect, in words; null for limits of the key itself. */
export type Effects = { cap: string | null; calls: string | null; expiry: string | null };
export const effectText = (own: Limits, inherited: Limits): Effects => {
  const { spendLimitCreditMicros: cap, maxConcurrentSessions: calls, expiresAt } = inherited;
  return {
    cap:
      cap !== null && isAbove(own.spendLimitCreditMicros, cap)
        ? `In effect: ${creditAmount(cap)}, the cap of a key above it.`
        : null,
    calls:
      calls !== null && isAbove(own.maxConcurrentSessions, calls)
        ? `In effect: ${calls}, the limit of a key above it.`
        : null,
    expiry:
      expiresAt !== null && isAbove(timeOf(own.expiresAt), timeOf(expiresAt))
        ? `In effect: ${dateTime(expiresAt)}, when a key above it expires.`
        : null,
  };
};

/** The effect of a change of a key on its descendants. */
export const descendantsText = (count: number): string =>
  `${counted(count, "active key")} below it ${count === 1 ? "keeps its" : "keep their"} own scopes and limits. ` +
  `The limits of this key bind ${count === 1 ? "it" : "them"} as well; its scopes do not.`;
