/** Amounts, times and names, as a person reads them. */
const MICROS = 1_000_000;

const CREDITS = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DATE_TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Credit micros in credits. Less than a hundredth is shown as such, not as 0. */
export const credits = (micros: number): string => {
  const amount = micros / MICROS;
  return amount > 0 && amount < 0.01 ? "< 0.01" : CREDITS.format(amount);
};

export const compactCredits = (micros: number): string => COMPACT.format(micros / MICROS);

/** The credit micros of an amount that was typed in; null when it is no amount, or finer than a credit micro. */
export const parseCredits = (text: string): number | null => {
  if (!/^\d+(\.\d{1,6})?$|^\.\d{1,6}$/.test(text.trim())) return null;
  const micros = Math.round(Number(text) * MICROS);
  return Number.isSafeInteger(micros) ? micros : null;
};

/** Credit micros as an amount to be edited, exactly: `12.5`. */
export const creditsText = (micros: number): string =>
  `${Math.floor(micros / MICROS)}.${String(micros % MICROS).padStart(6, "0")}`.replace(/\.?0+$/, "");

/** With seconds: attempts can be that near to each other. */
export const exactTime = (time: string): string => EXACT.format(new Date(time));

export const dateTime = (time: string): string => DATE_TIME.format(new Date(time));

/** A day such as `2026-11-20`. */
export const dayName = (day: string): string => DAY.format(new Date(`${day}T00:00:00Z`));

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** How long ago, or in how long: `3 minutes ago`. */
export const relativeTime = (time: string, now: number): string => {
  const seconds = (new Date(time).getTime() - now) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? "in less than a minute" : "just now";
};

/** Seconds as `1 h 5 min`. */
export const duration = (seconds: number): string => {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

export const bytes = (count: number): string =>
  count < 1024
    ? counted(count, "byte")
    : count < 1024 * 1024
      ? `${Math.ceil(count / 1024)} KiB`
      : `${Number((count / 1024 / 1024).toFixed(1))} MiB`;

/** `1 key`, `2 keys`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
