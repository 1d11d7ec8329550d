/** Amounts, times and names in the form for people. */
const MICROS = 1_000_000;

const CREDITS = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DATE_TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Credit micros in credits. An amount below a hundredth is shown as such, not as 0. */
export const credits = (micros: number): string => {
  const amount = micros / MICROS;
  return amount > 0 && amount < 0.01 ? "< 0.01" : CREDITS.format(amount);
};

/** Credits with their unit: `1 credit`, `12.5 credits`. */
export const creditAmount = (micros: number): string =>
  `${credits(micros)} ${micros === MICROS ? "credit" : "credits"}`;

export const compactCredits = (micros: number): string => COMPACT.format(micros / MICROS);

/** The credit micros of a typed amount; null when it is malformed, or finer than a credit micro. */
export const parseCredits = (text: string): number | null => {
  if (!/^\d+(\.\d{1,6})?$|^\.\d{1,6}$/.test(text.trim())) return null;
  const micros = Math.round(Number(text) * MICROS);
  return Number.isSafeInteger(micros) ? micros : null;
};

/** Credit micros as an amount to be edited, exactly: `12.5`. */
export const creditsText = (micros: number): string =>
  `${Math.floor(micros / MICROS)}.${String(micros % MICROS).padStart(6, "0")}`.replace(/\.?0+$/, "");

/** The format has seconds, because attempts can be close together. */
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
const DAY_SECONDS = 86_400;
const MINUTE_SECONDS = 60;

/** The time until an end: in days from two days on, so that a key for 90 days shows 90 days, not `in 2 months`. */
const timeLeft = (seconds: number): string => {
  if (seconds >= 2 * DAY_SECONDS) return RELATIVE.format(Math.round(seconds / DAY_SECONDS), "day");
  if (seconds >= 120 * MINUTE_SECONDS) return RELATIVE.format(Math.round(seconds / 3600), "hour");
  if (seconds < MINUTE_SECONDS) return "in less than a minute";
  return RELATIVE.format(Math.round(seconds / MINUTE_SECONDS), "minute");
};

/** How long ago, or in how long: `3 minutes ago`. */
export const relativeTime = (time: string, now: number): string => {
  const seconds = (new Date(time).getTime() - now) / 1000;
  if (seconds > 0) return timeLeft(seconds);
  for (const [unit, length] of UNITS) {
    if (-seconds >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  }
  return "just now";
};

/** Seconds as `1 h 5 min 8 s`, without the parts that are 0. */
export const duration = (seconds: number): string => {
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 3600), "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`);
  return shown.join(" ") || "0 s";
};

export const bytes = (count: number): string =>
  count < 1024
    ? counted(count, "byte")
    : count < 1024 * 1024
      ? `${Math.ceil(count / 1024)} KiB`
      : `${Number((count / 1024 / 1024).toFixed(1))} MiB`;

const plural = (noun: string): string => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`);

/** `1 key`, `2 keys`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : plural(noun)}`;

/** The number of all items of a list. `isExact`: false when the list has more. */
export type ListTotal = { count: number; isExact: boolean };

/** The number of loaded items of a list, out of `total` if it is known. */
export const totalText = (count: number, noun: string, hasMore: boolean, total?: ListTotal): string => {
  if (!hasMore) return counted(count, noun);
  // Items that were created since the list was read are not in it.
  if (!total || total.count <= count) return `The newest ${counted(count, noun)}, and there may be more`;
  return `The newest ${count.toLocaleString("en")} of ${total.isExact ? "" : "more than "}${counted(total.count, noun)}`;
};
