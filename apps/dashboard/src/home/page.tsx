/** The home page: the first steps, or the state of the environment and the concerns for a person. */
import type { CreditBalance } from "@realtime-avatar/client";
import type { ReactNode } from "react";
import { Prose } from "../components/prose.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, PageHead, Time } from "../components/text.tsx";
import { creditAmount, credits, duration } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { LINK, PageLink, type SearchChange } from "../layout/navigation.tsx";
import { useBalance, useUsageRefresh } from "../usage/data.ts";
import type { Video } from "../videos/data.ts";
import { useEndpoints } from "../webhooks/data.ts";
import { type Concern, FAILED_CALLS, listConcerns } from "./attention.ts";
import {
  MAX_FAILED_CALLS,
  type Today,
  useActiveKeys,
  useFailedAvatars,
  useFailedCalls,
  useFirstUses,
  useStepAvatars,
  useToday,
} from "./data.ts";
import { Guide } from "./guide.tsx";
import { completedSteps } from "./steps.ts";

type TileProps = { name: string; value: string; search: SearchChange; children: ReactNode };

const Tile = ({ name, value, search, children }: TileProps) => (
  <div className="relative min-w-0 rounded-2xl border border-line bg-surface px-4 py-3 hover:border-field">
    <dt className="text-sm text-muted">
      <PageLink to="/usage" search={search} className="after:absolute after:inset-0 after:rounded-2xl">
        {name}
      </PageLink>
    </dt>
    <dd>
      <span className="block text-2xl leading-tight font-semibold tabular-nums">{value}</span>
      <span className="block text-sm text-muted">{children}</span>
    </dd>
  </div>
);

const TILES = "mb-5 grid grid-cols-2 gap-3 *:first:col-span-2 sm:grid-cols-3 sm:*:first:col-span-1";

/** The placeholders have the height of the tiles, so that nothing moves. */
const TileSkeletons = () => (
  <div role="status" className={TILES}>
    <span className="sr-only">Loading the numbers of today</span>
    {["a", "b", "c"].map((name) => (
      <div key={name} aria-hidden="true" className="shimmer h-24 rounded-2xl" />
    ))}
  </div>
);

/** A count that may be incomplete. */
const countText = (count: number, hasMore: boolean): string => `${count.toLocaleString("en")}${hasMore ? "+" : ""}`;

const Tiles = ({ balance, today, failed }: { balance: CreditBalance; today: Today; failed: number }) => (
  <dl className={TILES}>
    <Tile name="Credits available" search={{}} value={credits(balance.availableCreditMicros)}>
      {credits(balance.reservedCreditMicros)} held by open calls and videos
    </Tile>
    <Tile name="Calls and videos today" search={{ days: 7 }} value={countText(today.calls, today.hasMore)}>
      {today.seconds > 0 && `${duration(today.seconds)}, `}
      {creditAmount(today.billed)}
    </Tile>
    <Tile name="Failed today" search={FAILED_CALLS} value={countText(failed, failed >= MAX_FAILED_CALLS)}>
      calls that could not begin
    </Tile>
  </dl>
);

const ConcernRow = ({ concern: { kind, tone, name, text, at, to, search } }: { concern: Concern }) => (
  <li className="grid grid-cols-[5.5rem_minmax(0,1fr)] items-start gap-x-3 border-t border-line py-3 first:border-0">
    <span>
      <Badge tone={tone}>{kind}</Badge>
    </span>
    <div className="min-w-0">
      <PageLink to={to} {...(search && { search })} className={`${LINK} break-words`}>
        {name}
      </PageLink>
      <p className="text-sm break-words text-muted">
        <Prose text={text} />
        {at !== null && (
          <>
            {" "}
            <Time at={at} />.
          </>
        )}
      </p>
    </div>
  </li>
);

const useAttention = () => {
  const queries = {
    balance: useBalance(),
    failedCalls: useFailedCalls(),
    endpoints: useEndpoints(),
    keys: useActiveKeys(),
    failedAvatars: useFailedAvatars(),
  };
  const all = Object.values(queries);
  const { balance, failedCalls, endpoints, keys, failedAvatars } = queries;
  const isRead = all.every(({ data }) => data !== undefined);
  return {
    error: all.find(({ error }) => error)?.error ?? null,
    refetch: () => Promise.all(all.filter(({ error }) => error).map((query) => query.refetch())),
    isPending: all.some(({ isPending }) => isPending),
    data: isRead
      ? {
          concerns: listConcerns(
            {
              balance: balance.data as CreditBalance,
              failedCalls: failedCalls.data ?? 0,
              endpoints: endpoints.data ?? [],
              keys: keys.data?.keys ?? [],
              failedAvatars: failedAvatars.data ?? [],
            },
            Date.now(),
          ),
          hasMoreKeys: keys.data?.hasMore ?? false,
        }
      : undefined,
  };
};

const Attention = ({ isQuiet }: { isQuiet: boolean }) => (
  <Loaded
    query={useAttention()}
    skeleton={isQuiet ? null : <Skeleton label="what needs attention" rows={1} height="h-28" />}
  >
    {({ concerns, hasMoreKeys }) =>
      concerns.length === 0 && isQuiet ? null : (
        <Card title="Needs attention">
          {concerns.length === 0 ? (
            <p className="mt-1 text-muted">
              Nothing. No credits run low, no call, avatar or endpoint fails, and no key expires soon.
            </p>
          ) : (
            <ul aria-label="Needs attention" className="mt-1">
              {concerns.map((concern) => (
                <ConcernRow key={concern.id} concern={concern} />
              ))}
            </ul>
          )}
          {hasMoreKeys && (
            <p className="mt-2 text-sm text-muted">Of the keys, the newest 100 active ones are looked at.</p>
          )}
        </Card>
      )
    }
  </Loaded>
);

const Overview = ({ balance }: { balance: CreditBalance }) => {
  const [today, failed] = [useToday(), useFailedCalls()];
  return (
    <>
      {today.error ? <Failure error={today.error} onRetry={() => today.refetch()} /> : null}
      {today.data && failed.data !== undefined ? (
        <Tiles balance={balance} today={today.data} failed={failed.data} />
      ) : (
        !today.error && !failed.error && <TileSkeletons />
      )}
      <Attention isQuiet={false} />
    </>
  );
};

const Beginning = ({ videos }: { videos: readonly Video[] }) => {
  const keys = useActiveKeys();
  const avatars = useStepAvatars();
  return (
    <>
      <Loaded query={keys} skeleton={<TileSkeletons />}>
        {({ keys: active }) => (
          <Loaded query={avatars} skeleton={<TileSkeletons />}>
            {(found) => <Guide steps={completedSteps(active, found, videos)} />}
          </Loaded>
        )}
      </Loaded>
      <Attention isQuiet />
    </>
  );
};

/** A minute at the default price. A tenant that has used more is not a newcomer. */
const FIRST_USES_MICROS = 60_000_000;

/**
 * A newcomer has made no call and at most a few videos. An older tenant without a session this month is recognized by
 * its charges.
 */
const Content = ({ balance }: { balance: CreditBalance }) => {
  const used = balance.lifetimeUsedCreditMicros;
  const isSettled = used >= FIRST_USES_MICROS;
  const query = useFirstUses(!isSettled);
  const overview = <Overview balance={balance} />;
  if (isSettled) return overview;
  return (
    <Loaded query={query} skeleton={<TileSkeletons />}>
      {({ hasCall, videos }) =>
        hasCall || (used > 0 && videos.length === 0) ? overview : <Beginning videos={videos} />
      }
    </Loaded>
  );
};

export const HomePage = () => {
  const { environment } = useAccount();
  useUsageRefresh();
  // Reads all data that the page can need at once.
  useToday();
  useFailedCalls();
  useActiveKeys();
  useFailedAvatars();
  useEndpoints();
  return (
    <>
      <PageHead title="Home" above={[]}>
        How your {environment} environment is, and what to do next.
      </PageHead>
      <Loaded query={useBalance()} skeleton={<TileSkeletons />}>
        {(balance) => <Content balance={balance} />}
      </Loaded>
    </>
  );
};
