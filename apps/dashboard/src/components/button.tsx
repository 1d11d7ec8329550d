import type { ComponentProps } from "react";

const KINDS = {
  primary: "bg-fill text-white border-transparent hover:brightness-110",
  plain: "bg-surface text-text border-field hover:bg-raised",
  danger: "bg-bad-fill text-white border-transparent hover:brightness-110",
  quiet: "bg-transparent text-muted border-transparent hover:bg-raised hover:text-text",
};

type Props = ComponentProps<"button"> & {
  kind?: keyof typeof KINDS;
  /** While an action runs, the button shows this and ignores clicks. */
  isBusy?: boolean;
};

/** The classes of a button, for a link that looks like a button. */
export const buttonClass = (kind: keyof typeof KINDS): string =>
  `inline-flex min-h-9 items-center justify-center gap-2 rounded-lg border px-3.5 py-1.5 text-sm font-medium whitespace-nowrap select-none disabled:opacity-50 aria-disabled:opacity-50 aria-busy:cursor-progress ${KINDS[kind]}`;

export const Button = ({ kind = "plain", isBusy = false, className = "", children, onClick, ...rest }: Props) => (
  <button
    type="button"
    {...rest}
    onClick={isBusy ? (event) => event.preventDefault() : onClick}
    aria-busy={isBusy || undefined}
    className={`${buttonClass(kind)} ${className}`}
  >
    {children}
    {isBusy && <span aria-hidden="true">…</span>}
  </button>
);
