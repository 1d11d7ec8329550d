import type { CreditBalance } from "@realtime-avatar/client";
import { Link } from "@tanstack/react-router";
import { chartGroup } from "../call/trial.ts";
import { InlineSelect } from "../components/field.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Amount, Card, PageHead } from "../components/text.tsx";
import { creditAmount } from "../format.ts";
import { PageLink, useNavigation, useParameters } from "../layout/navigation.tsx";
import { CallPage } from "./call-page.tsx";
import { Calls } from "./calls.tsx";
import { barsOfDays, DayChart, RankChart } from "./charts.tsx";
import { Conversations } from "./conversations.tsx";
import { addUp, largest, type Usage, usageNames, useBalance, usePrice, useUsage, useUsageRefresh } from "./data.ts";
import { Entries } from "./entries.tsx";
import { SessionDialog } from "./session.tsx";
import { Threshold } from "./threshold.tsx";

const DEFAULT_DAYS = 30;
const TILE = "rounded-2xl border border-line bg-surface px-4 py-3";

const Balance = ({ balance }: { balance: CreditBalance }) => (
  <dl className="mb-5 grid grid-cols-2 gap-3 lg:grid-cols-4">
    {(
      [
        ["Available", balance.availableCreditMicros],
        ["Held by open calls and videos", balance.reservedCreditMicros],
        ["Added in all", balance.lifetimeGrantedCreditMicros],
        ["Charged in all", balance.lifetimeUsedCreditMicros],
      ] as const
    ).map(([name, micros]) => (
      <div key={name} className={TILE}>
        <dt className="text-sm text-muted">{name}</dt>
        <dd className="text-xl leading-tight font-semibold tabular-nums sm:text-2xl">
          <Amount micros={micros} />
        </dd>
      </div>
    ))}
  </dl>
);

const BAR_LINK = "underline-offset-4 hover:underline";

const Charts = ({ usage }: { usage: Usage }) => {
  const names = usageNames(usage);
  const nameOf = (id: string): string => (id === "" ? "No avatar" : (names.get(id) ?? id));
  return (
    <>
      <Card title="Credits by day">
        <DayChart
          bars={barsOfDays(
            usage.days,
            addUp(usage.byKey, ({ day }) => day),
          )}
        />
        {usage.hasMore && (
          <p className="mt-2 text-sm text-warn">Some calls or videos of these days are not included.</p>
        )}
      </Card>
      <div className="grid grid-cols-1 gap-x-5 lg:grid-cols-2">
        <Card title="By key">
          <RankChart
            head="Key"
            bars={largest(
              addUp(usage.byKey, ({ apiKeyId, apiKeyName }) => chartGroup(apiKeyId ?? "", apiKeyName)),
              nameOf,
            )}
            link={({ id, label }) => (
              <PageLink
                to="/keys"
                search={id === label ? { filter: label, all: true } : { key: id, all: true }}
                className={BAR_LINK}
              >
                {label}
              </PageLink>
            )}
          />
        </Card>
        <Card title="By avatar">
          <RankChart
            head="Avatar"
            bars={largest(
              addUp(usage.byAvatar, ({ avatarId }) => avatarId ?? ""),
              nameOf,
            )}
            link={({ id, label }) =>
              id === "" ? (
                label
              ) : (
                <PageLink to="/avatars" search={{ avatar: id }} className={BAR_LINK}>
                  {label}
                </PageLink>
              )
            }
          />
        </Card>
      </div>
    </>
  );
};

/**
 * Explains credits. The price is taken from the newest call, because the API has no other source. The lines keep their
 * height, so that nothing moves when the price is known.
 */
const Price = () => {
  const { data: price, isPending } = usePrice();
  const known = price === undefined ? null : creditAmount(price);
  return (
    <span className="block min-h-10 sm:min-h-6">
      {isPending
        ? ""
        : known
          ? `A second of a call or a video costs ${known}.`
          : "A second of a call or a video costs 1 credit, unless the operator has set another price."}
    </span>
  );
};

const ChartSkeletons = () => (
  <>
    <Skeleton label="charts" rows={1} height="h-72 mb-3" />
    <Skeleton label="charts by key" rows={1} height="h-40 mb-3" />
  </>
);

const TABS = [
  [undefined, "Overview"],
  ["calls", "Calls"],
  ["ledger", "Ledger"],
] as const;

/** Links, so that each tab has an address. The router marks the link whose parameters are those of the page. */
const Tabs = () => {
  const { environment, days, tab: open } = useParameters();
  return (
    <nav aria-label="Parts of this page" className="mb-5 flex gap-1 border-b border-line">
      {TABS.map(([tab, name]) => (
        <Link
          key={name}
          to="/usage"
          search={{ ...(environment && { environment }), ...(days && { days }), ...(tab && { tab }) }}
          activeOptions={{ exact: true }}
          aria-current={tab === open ? "page" : undefined}
          className={`-mb-px border-b-2 px-3 py-2 font-medium ${tab === open ? "border-accent text-text" : "border-transparent text-muted hover:text-text"}`}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
};

const Overview = ({ days }: { days: number }) => (
  <>
    <Loaded query={useBalance()} skeleton={<Skeleton label="the balance" rows={1} height="h-32 mb-5" />}>
      {(balance) => (
        <>
          <Balance balance={balance} />
          <Threshold balance={balance} />
        </>
      )}
    </Loaded>
    <Loaded query={useUsage(days)} skeleton={<ChartSkeletons />}>
      {(usage) => <Charts usage={usage} />}
    </Loaded>
    <Conversations days={days} />
  </>
);

const UsageParts = () => {
  const { days = DEFAULT_DAYS, session, tab } = useParameters();
  const { change } = useNavigation();
  useUsageRefresh();
  const setDays = (value: number) => change({ days: value === 7 || value === 90 ? value : undefined });
  return (
    <>
      <PageHead
        title="Usage and credits"
        actions={
          tab !== "ledger" && (
            <InlineSelect label="Days" value={days} onChange={({ target }) => setDays(Number(target.value))}>
              <option value={7}>Last 7 days</option>
              <option value={30}>Last 30 days</option>
              <option value={90}>Last 90 days</option>
            </InlineSelect>
          )
        }
      >
        A call or a video holds credits while it is open, and is charged for what it used when it ends.
        <Price />
      </PageHead>
      <Tabs />
      {tab === undefined && <Overview days={days} />}
      {tab === "calls" && <Calls days={days} />}
      {tab === "ledger" && <Entries />}
      {session && <SessionDialog id={session} onClose={() => change({ session: undefined })} />}
    </>
  );
};

export const UsagePage = () => {
  const { call } = useParameters();
  return call === undefined ? <UsageParts /> : <CallPage id={call} />;
};
