import { type ComponentProps, type ReactNode, useId } from "react";
import { useSingleKeys } from "../keyboard/preference.ts";
import { Prose } from "./prose.tsx";

const CONTROL =
  "w-full min-h-9 rounded-lg border border-field bg-surface px-3 py-1.5 text-text placeholder:text-muted aria-invalid:border-bad";

type Shared = { label: string; hint?: ReactNode; error?: string | undefined };

const describe = (id: string, { hint, error }: Pick<Shared, "hint" | "error">): string | undefined =>
  [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;

const Frame = ({ id, label, hint, error, children }: Shared & { id: string; children: ReactNode }) => (
  <div className="mb-4">
    <label htmlFor={id} className="mb-1 block text-sm font-medium">
      {label}
    </label>
    {children}
    {hint && (
      <p id={`${id}-hint`} className="mt-1 text-sm text-muted">
        {hint}
      </p>
    )}
    {error && (
      <p id={`${id}-error`} className="mt-1 text-sm text-bad">
        <Prose text={error} />
      </p>
    )}
  </div>
);

export const TextField = ({ label, hint, error, ...rest }: Shared & ComponentProps<"input">) => {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <input
        {...rest}
        id={id}
        className={CONTROL}
        aria-invalid={error ? true : undefined}
        aria-describedby={describe(id, { hint, error })}
      />
    </Frame>
  );
};

export const TextArea = ({ label, hint, error, ...rest }: Shared & ComponentProps<"textarea">) => {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <textarea
        rows={3}
        {...rest}
        id={id}
        className={CONTROL}
        aria-invalid={error ? true : undefined}
        aria-describedby={describe(id, { hint, error })}
      />
    </Frame>
  );
};

export const SelectField = ({ label, hint, error, children, ...rest }: Shared & ComponentProps<"select">) => {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <select
        {...rest}
        id={id}
        className={CONTROL}
        aria-invalid={error ? true : undefined}
        aria-describedby={describe(id, { hint, error })}
      >
        {children}
      </select>
    </Frame>
  );
};

/** The options of a select, each with a value and a text. */
export const Options = ({ of }: { of: readonly (readonly [value: string | number, text: string])[] }) =>
  of.map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));

/** The first or last day of a list. */
export const DayField = ({
  label,
  value = "",
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (day: string) => void;
}) => (
  <label className="flex min-w-0 items-center gap-1.5 text-sm text-muted">
    {label}
    <input
      type="date"
      value={value}
      max="9999-12-31"
      onChange={({ target }) => onChange(target.value)}
      className="min-h-9 w-full min-w-0 rounded-lg border border-field bg-surface px-1 py-1 text-sm text-text sm:px-2"
    />
  </label>
);

/** A select within a row or above a list. Its label is not shown. */
export const InlineSelect = ({
  label,
  children,
  className = "",
  ...rest
}: { label: string } & ComponentProps<"select">) => (
  <select
    {...rest}
    aria-label={label}
    className={`min-h-9 rounded-lg border border-field bg-surface px-2 py-1 text-sm text-text ${className}`}
  >
    {children}
  </select>
);

/** Filters the list below while the person types. The key `/` focuses it. */
export const FilterField = ({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) => (
  <input
    type="search"
    {...(useSingleKeys() && { "aria-keyshortcuts": "/" })}
    aria-label={label}
    placeholder={label}
    value={value}
    onChange={({ target }) => onChange(target.value)}
    className="min-h-9 w-full rounded-lg border border-field bg-surface px-3 py-1.5 text-sm text-text placeholder:text-muted sm:max-w-xs"
  />
);
