/** Small texts: headings, badges, times, ids. */
import { type ReactNode, useEffect, useState } from "react";
import { creditAmount, dateTime, relativeTime } from "../format.ts";
import { Breadcrumbs, type Page } from "../layout/navigation.tsx";
import { PRODUCT } from "../paths.ts";

const TONES = {
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  plain: "bg-raised text-muted",
};
export type Tone = keyof typeof TONES;

export const Badge = ({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`inline-block rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}>
    {children}
  </span>
);

export const HOME = ["/", "Home"] as const;

export const PageHead = ({
  title,
  above = [HOME],
  children,
  actions,
}: {
  title: string;
  /** The pages above this one, beginning with the home page. */
  above?: readonly (readonly [Page, string])[];
  children?: ReactNode;
  actions?: ReactNode;
}) => {
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
  return (
    <>
      {above.length > 0 && <Breadcrumbs title={title} above={above} />}
      <div className="mb-4 sm:mb-6">
        <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
          <h1 className="min-w-0 text-2xl font-semibold tracking-tight break-words">{title}</h1>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
        {children && <p className="mt-1 max-w-2xl text-muted max-sm:text-sm">{children}</p>}
      </div>
    </>
  );
};

export const Card = ({ title, children, actions }: { title?: string; children: ReactNode; actions?: ReactNode }) => (
  <section className="mb-5 rounded-2xl border border-line bg-surface p-4 sm:p-5">
    {(title || actions) && (
      <div className="mb-1 flex flex-wrap items-center justify-between gap-2">
        {title && <h2 className="font-semibold">{title}</h2>}
        {actions}
      </div>
    )}
    {children}
  </section>
);

/** A name and its value, in a list of facts (`dl`). */
export const Item = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="min-w-0">
    <dt className="text-sm text-muted">{name}</dt>
    <dd className="mt-0.5 min-w-0 break-words">{children}</dd>
  </div>
);

/** Credits, with their unit in small letters. `sign`: shown before a movement of credits. */
export const Amount = ({ micros, sign = "" }: { micros: number; sign?: string }) => {
  const [amount, unit] = creditAmount(micros).split(/ (?=credits?$)/);
  return (
    <>
      {micros > 0 && sign}
      {amount} <span className="text-sm font-normal text-muted">{unit}</span>
    </>
  );
};

const MINUTE_MS = 60_000;

/** How long ago a time was; the exact time on hover. */
export const Time = ({ at, none = "never" }: { at: string | null; none?: string }) => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return <>{none}</>;
  return (
    <time dateTime={at} title={dateTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
};

/** A bar that shows `used` as a share of `of`. */
export const Meter = ({ label, used, held = 0, of }: { label: string; used: number; held?: number; of: number }) => {
  const share = (amount: number): number => (of === 0 ? 100 : Math.min(100, (amount / of) * 100));
  const tone = share(used + held) >= 90 ? "fill-bad" : "fill-accent";
  return (
    <svg role="img" aria-label={label} className="block h-2 w-full rounded-full bg-raised" preserveAspectRatio="none">
      <rect width={`${share(used + held)}%`} height="100%" className={`${tone} opacity-45`} />
      <rect width={`${share(used)}%`} height="100%" className={tone} />
    </svg>
  );
};
