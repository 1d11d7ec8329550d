/** The fields of a key, which are the same for a new key and for a change. */

import type { ApiKey } from "@realtime-avatar/client";
import { MAX_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useId } from "react";
import { TextField } from "../components/field.tsx";
import { Prose } from "../components/prose.tsx";
import { parseCredits } from "../format.ts";
import type { Effects, Fields } from "./changes.ts";
import { type Expiry, ExpiryField, expiryAt } from "./expiry-field.tsx";
import { isInAll, offeredScopes, SCOPE_TEXTS, type Scope } from "./scopes.ts";

/** The values of the form. */
export type Values = { name: string; scopes: readonly Scope[]; cap: string; calls: string; expiry: Expiry };

/** The fields that show errors of the service. */
export const SHOWN_FIELDS: readonly (keyof Fields)[] = [
  "name",
  "scopes",
  "spendLimitCreditMicros",
  "expiresAt",
  "maxConcurrentSessions",
];

const isNoAmount = (cap: string): boolean => cap.trim() !== "" && parseCredits(cap) === null;
const NO_AMOUNT = "Must be a number such as 12.5, with at most 6 digits after the point, up to 9,000,000,000.";

/** The number of digits of the largest number that the service accepts. */
const isNoLimit = (calls: string): boolean =>
  calls.trim() !== "" && !(/^[1-9]\d{0,15}$/.test(calls.trim()) && Number.isSafeInteger(Number(calls)));
const NO_LIMIT = "Must be a whole number, 1 or more.";

/** The fields of the form; null while one of them is malformed. `presentExpiry`: the key's current expiry. */
export const parseFields = (
  { name, scopes, cap, calls, expiry }: Values,
  presentExpiry: string | null,
): Fields | null => {
  const expiresAt = expiryAt(expiry, presentExpiry);
  if (scopes.length === 0 || isNoAmount(cap) || isNoLimit(calls) || expiresAt === undefined) return null;
  return {
    name: name.trim(),
    scopes: scopes.filter((scope) => !(scopes.includes("*") && isInAll(scope))),
    spendLimitCreditMicros: parseCredits(cap),
    maxConcurrentSessions: calls.trim() === "" ? null : Number(calls),
    expiresAt,
  };
};

const ScopeFields = ({
  value,
  present,
  onChange,
  error,
}: {
  value: readonly Scope[];
  present: readonly Scope[];
  onChange: (scopes: Scope[]) => void;
  error?: string | undefined;
}) => {
  const id = useId();
  const offered = offeredScopes(present);
  const isFixed = (scope: Scope) => value.includes("*") && isInAll(scope);
  const toggle = (scope: Scope, isOn: boolean) =>
    onChange(offered.filter((each) => (each === scope ? isOn : value.includes(each))));
  return (
    <fieldset className="mb-4">
      <legend className="mb-1 text-sm font-medium">What the key may do</legend>
      <div className="grid gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-2">
        {offered.map((scope) => (
          <label
            key={scope}
            className="flex cursor-pointer items-start gap-3 bg-surface px-3 py-2 sm:last:odd:col-span-2"
          >
            <input
              type="checkbox"
              className="mt-1 size-4 shrink-0 accent-fill"
              checked={isFixed(scope) || value.includes(scope)}
              disabled={isFixed(scope)}
              onChange={(event) => toggle(scope, event.target.checked)}
              aria-describedby={`${id}-${scope}`}
            />
            <span className="min-w-0">
              <code className="text-sm font-medium">{scope}</code>
              <span id={`${id}-${scope}`} className="block text-sm text-muted">
                {SCOPE_TEXTS[scope]}
              </span>
            </span>
          </label>
        ))}
      </div>
      <p className="mt-1 text-sm text-muted">
        Only the operator gives a key <code>usage:write</code>, on the command line: it decides what calls cost.
      </p>
      {error && (
        <p className="mt-1 text-sm text-bad">
          <Prose text={error} />
        </p>
      )}
    </fieldset>
  );
};

export const KeyFields = ({
  values,
  onChange,
  errors,
  presentExpiry,
  present = [],
  effects = { cap: null, calls: null, expiry: null },
}: {
  values: Values;
  onChange: (change: Partial<Values>) => void;
  /** The errors of the service, by field. */
  errors: (name: keyof Fields) => string | undefined;
  /** The current expiry; undefined for a new key. */
  presentExpiry?: ApiKey["expiresAt"];
  /** The current scopes; undefined for a new key. */
  present?: ApiKey["scopes"];
  /** The inherited values in effect. */
  effects?: Effects;
}) => (
  <>
    <TextField
      label="Name"
      hint="Where the key is used, such as “Website” or “Nightly import”."
      value={values.name}
      onChange={(event) => onChange({ name: event.target.value })}
      error={errors("name")}
      maxLength={MAX_NAME_LENGTH}
      required
      data-focus
      // Set for a form that is shown after its dialog has opened.
      autoFocus
    />
    <div className="grid grid-cols-2 gap-x-4 sm:grid-cols-3">
      <TextField
        label="Spend cap in credits"
        hint={effects.cap ?? "Total cost of its calls. Empty: only the balance limits it."}
        inputMode="decimal"
        value={values.cap}
        onChange={(event) => onChange({ cap: event.target.value })}
        error={isNoAmount(values.cap) ? NO_AMOUNT : errors("spendLimitCreditMicros")}
      />
      <ExpiryField
        value={values.expiry}
        onChange={(expiry) => onChange({ expiry })}
        hint={effects.expiry}
        error={errors("expiresAt")}
        {...(presentExpiry !== undefined && { presentExpiry })}
      />
      <TextField
        label="Calls at once"
        hint={effects.calls ?? "How many may be open. Empty: only the limit of the tenant."}
        inputMode="numeric"
        value={values.calls}
        onChange={(event) => onChange({ calls: event.target.value })}
        error={isNoLimit(values.calls) ? NO_LIMIT : errors("maxConcurrentSessions")}
      />
    </div>
    <ScopeFields
      value={values.scopes}
      present={present}
      onChange={(scopes) => onChange({ scopes })}
      error={values.scopes.length === 0 ? "Choose at least one." : errors("scopes")}
    />
  </>
);
