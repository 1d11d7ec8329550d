/** Charts as SVG. The policy of the page forbids style attributes, which chart libraries write. */
import type { ReactNode } from "react";
import { compactCredits, counted, creditAmount, credits, dayName, duration } from "../format.ts";
import type { Bar } from "./data.ts";

const sumText = ({ billed, sessions, seconds }: Pick<Bar, "billed" | "sessions" | "seconds">): string =>
  `${creditAmount(billed)}, ${counted(sessions, "session")}, ${duration(seconds)}`;

/** The smallest round number that is at least `value`: 1, 2 or 5 times a power of ten. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
};

/** The numbers as a table, for people who cannot see the chart or want to copy the numbers. */
const AsTable = ({ bars, head }: { bars: readonly Bar[]; head: string }) => (
  <details className="mt-3 text-sm">
    <summary className="text-muted">Show as a table</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which the keyboard must reach */}
    <section className="mt-2 max-h-64 overflow-auto" tabIndex={0} aria-label={`Table by ${head}`}>
      <table className="w-full text-left">
        <thead>
          <tr>
            {[head, "Credits", "Sessions", "Time"].map((name) => (
              <th key={name} scope="col" className="py-1 pr-4 font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map(({ id, label, billed, sessions, seconds }) => (
            <tr key={id} className="border-t border-line">
              <td className="py-1 pr-4">{label}</td>
              <td className="py-1 pr-4">{credits(billed)}</td>
              <td className="py-1 pr-4">{sessions}</td>
              <td className="py-1">{duration(seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  </details>
);

/** Shown instead of an empty chart. */
const NoCharge = ({ bars }: { bars: readonly Bar[] }) => {
  const count = bars.reduce((sum, { sessions }) => sum + sessions, 0);
  return (
    <p className="text-muted">
      {count === 0
        ? "No calls or videos in these days."
        : `${counted(count, "session")} in these days, and nothing is charged yet.`}
    </p>
  );
};

const PLOT_HEIGHT = 160;

/** The days that are labelled below the columns: the first, the last, and up to two between them. */
const ticksOf = (bars: readonly Bar[]): Bar[] => {
  const last = bars.length - 1;
  const count = Math.min(last, 3);
  return Array.from({ length: count + 1 }, (_, tick) => bars[Math.round((tick * last) / Math.max(count, 1))] as Bar);
};

/** A column for each day, oldest first. */
export const DayChart = ({ bars }: { bars: readonly Bar[] }) => {
  const top = roundUp(Math.max(...bars.map(({ billed }) => billed)));
  const total = bars.reduce((sum, { billed }) => sum + billed, 0);
  const step = 100 / bars.length;
  if (total === 0) return <NoCharge bars={bars} />;
  return (
    <figure>
      <figcaption className="mb-2 text-xs text-muted">Credits charged, by day</figcaption>
      <div className="flex gap-2 text-xs text-muted">
        <div aria-hidden="true" className="flex h-40 w-10 flex-col justify-between text-right">
          <span>{compactCredits(top)}</span>
          <span>{compactCredits(top / 2)}</span>
          <span>0</span>
        </div>
        <svg
          role="img"
          aria-label={`${creditAmount(total)} in ${counted(bars.length, "day")}`}
          className="h-40 min-w-0 flex-1 border-b border-line"
        >
          <line x1="0" x2="100%" y1="0.5" y2="0.5" className="stroke-line" />
          <line x1="0" x2="100%" y1="50%" y2="50%" className="stroke-line" />
          {bars.map(({ id, label, ...sums }, index) => {
            const height = sums.billed === 0 ? 0 : Math.max(2, (sums.billed / top) * PLOT_HEIGHT);
            return (
              <g key={id}>
                <title>{`${label}: ${sumText(sums)}`}</title>
                <rect x={`${index * step}%`} width={`${step}%`} height="100%" className="fill-transparent" />
                <rect
                  x={`${(index + 0.12) * step}%`}
                  width={`${step * 0.76}%`}
                  y={PLOT_HEIGHT - height}
                  height={height}
                  className="fill-accent"
                />
              </g>
            );
          })}
        </svg>
      </div>
      <div aria-hidden="true" className="mt-1 flex justify-between pl-12 text-xs text-muted">
        {ticksOf(bars).map(({ id, label }) => (
          <span key={id}>{label}</span>
        ))}
      </div>
      <AsTable bars={bars.filter(({ sessions }) => sessions > 0)} head="Day" />
    </figure>
  );
};

const MAX_ROWS = 8;

/** A row for each key or avatar, the largest first. The table has all of them. */
export const RankChart = ({
  bars,
  head,
  link,
}: {
  bars: readonly Bar[];
  head: string;
  link: (bar: Bar) => ReactNode;
}) => {
  const top = Math.max(1, ...bars.map(({ billed }) => billed));
  if (bars.every(({ billed }) => billed === 0)) return <NoCharge bars={bars} />;
  return (
    <>
      <ul aria-label={`Credits by ${head.toLowerCase()}`} className="grid grid-cols-1 gap-3">
        {bars.slice(0, MAX_ROWS).map((bar) => (
          <li key={bar.id} title={sumText(bar)}>
            <div className="flex justify-between gap-3 text-sm">
              <span className="min-w-0 truncate">{link(bar)}</span>
              <span className="whitespace-nowrap">{credits(bar.billed)}</span>
            </div>
            <svg aria-hidden="true" className="mt-1 block h-2 w-full rounded-full bg-raised">
              <rect width={`${(bar.billed / top) * 100}%`} height="100%" rx="4" className="fill-accent" />
            </svg>
          </li>
        ))}
      </ul>
      <AsTable bars={bars} head={head} />
    </>
  );
};

/** The days as bars. A day without calls is an empty bar. */
export const barsOfDays = (days: readonly string[], sums: ReadonlyMap<string, Omit<Bar, "id" | "label">>): Bar[] =>
  days.map((day) => ({
    id: day,
    label: dayName(day),
    billed: 0,
    sessions: 0,
    seconds: 0,
    ...sums.get(day),
  }));
