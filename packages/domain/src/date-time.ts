/**
 * RFC 3339 date-times, checked against the calendar. `new Date(text)` is not strict enough: it reads 30 February as 2
 * March, reads 24:00 as the next day, and rejects leap seconds.
 */

const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** The earliest and the latest time that RFC 3339 can express in UTC, in milliseconds since the epoch. */
export const EARLIEST = Date.parse("0000-01-01T00:00:00.000Z");
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const daysInMonth = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
};

/**
 * Parses an RFC 3339 date-time; `null` when `text` is not one. Fractions of a second are truncated to milliseconds. A leap
 * second is accepted only where one can occur, at 23:59:60 UTC, and becomes the following second, as in POSIX time.
 */
export const parseDateTime = (text: string): Date | null => {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null;

  const offset = (match[8] === "-" ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; setUTCFullYear does not.
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day);
  const startOfMinute = midnight + (hour * 60 + minute - offset) * MINUTE;
  if (second === 60 && (startOfMinute + MINUTE) % DAY !== 0) return null;

  const milliseconds = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const time = startOfMinute + second * 1000 + milliseconds;
  return time < EARLIEST || time > LATEST ? null : new Date(time);
};
