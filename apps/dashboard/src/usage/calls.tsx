/** One row for each call: time, avatar and key, length, cost, and end. A row can be opened to its details. */
import type { UsageSessionWithNames } from "@realtime-avatar/client";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { ExportButton } from "../components/export-button.tsx";
import { InlineSelect, Options } from "../components/field.tsx";
import { Empty, ListEnd, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Time } from "../components/text.tsx";
import { credits } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { LINK, PageLink, useNavigation, useParameters } from "../layout/navigation.tsx";
import { ObjectName, useNameText } from "../layout/object-name.tsx";
import { type CallFilters, type CallStatus, callsQuery, useCalls } from "./data.ts";
import { KeepTranscripts } from "./keep-transcripts.tsx";
import { callOutcome } from "./outcome.ts";
import { callLength, SessionDetails } from "./session.tsx";

const STATUSES: Record<CallStatus, string> = {
  reserved: "Connecting",
  started: "In progress",
  released: "Ended",
  failed: "Never began",
};

const CELL = "py-2 pr-4 align-top";
/** Cells without room on a phone. Their content is in the first cell, or in the details. */
const WIDE = `${CELL} hidden md:table-cell`;

const costOf = ({ billedCreditMicros, reservedCreditMicros }: UsageSessionWithNames): string =>
  billedCreditMicros === null ? `holds ${credits(reservedCreditMicros)}` : credits(billedCreditMicros);

type RowProps = { call: UsageSessionWithNames; isOpen: boolean; onToggle: () => void };

const CallRow = ({ call, isOpen, onToggle }: RowProps) => {
  const { sessionId, apiKeyId, avatarId } = call;
  const { text, tone } = callOutcome(call);
  const avatarName = call.avatarName ?? avatarId ?? "No avatar";
  return (
    <>
      <tr className="border-t border-line">
        <td className={`${CELL} whitespace-nowrap text-muted`}>
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls={`details-${sessionId}`}
            onClick={onToggle}
            className="-my-1 inline-flex items-center gap-2 rounded-md py-1 hover:text-text"
          >
            <span aria-hidden="true" className={`text-xs ${isOpen ? "rotate-90" : ""}`}>
              ▶
            </span>
            <Time at={call.createdAt} />
          </button>
          <span className="block pl-5 md:hidden">
            <span className="block max-w-48 truncate text-text">{avatarName}</span>
            <Badge tone={tone}>{text}</Badge>
          </span>
        </td>
        <td className={`${WIDE} max-w-48 truncate`}>
          {avatarId ? (
            <ObjectName id={avatarId} name={call.avatarName} />
          ) : (
            <span className="text-muted">{avatarName}</span>
          )}
        </td>
        <td className={`${WIDE} max-w-48 truncate`}>
          <ObjectName id={apiKeyId} name={call.apiKeyName} />
        </td>
        <td className={`${WIDE} text-right whitespace-nowrap tabular-nums`}>{callLength(call)}</td>
        <td className={`${CELL} text-right whitespace-nowrap tabular-nums max-md:pr-0`}>
          {costOf(call)}
          <span className="block text-sm text-muted md:hidden">{callLength(call)}</span>
        </td>
        <td className={WIDE}>
          <Badge tone={tone}>{text}</Badge>
        </td>
      </tr>
      {isOpen && (
        <tr id={`details-${sessionId}`}>
          <td colSpan={6} className="max-w-0 pb-4 md:pl-5">
            <div className="grid gap-4 rounded-xl border border-line bg-page p-4">
              <SessionDetails session={call} />
              <p className="flex flex-wrap gap-x-4 text-sm">
                <PageLink to="/usage" search={{ call: sessionId }} className={LINK}>
                  Transcript and details
                </PageLink>
                <PageLink to="/usage" search={{ tab: "calls", key: apiKeyId }} className={LINK}>
                  All calls of this key
                </PageLink>
                {avatarId && (
                  <PageLink to="/usage" search={{ tab: "calls", avatar: avatarId }} className={LINK}>
                    All calls of this avatar
                  </PageLink>
                )}
              </p>
            </div>
          </td>
        </tr>
      )}
    </>
  );
};

const HEADS = [
  ["When", CELL],
  ["Avatar", WIDE],
  ["Key", WIDE],
  ["Length", `${WIDE} text-right`],
  ["Credits", `${CELL} text-right max-md:pr-0`],
  ["How it ended", WIDE],
] as const;

const CallTable = ({ calls }: { calls: readonly UsageSessionWithNames[] }) => {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <table aria-label="Calls" className="w-full text-left">
      <thead>
        <tr className="text-sm text-muted">
          {HEADS.map(([name, className]) => (
            <th key={name} scope="col" className={`${className} font-medium whitespace-nowrap`}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {calls.map((call) => (
          <CallRow
            key={call.sessionId}
            call={call}
            isOpen={call.sessionId === open}
            onToggle={() => setOpen(call.sessionId === open ? null : call.sessionId)}
          />
        ))}
      </tbody>
    </table>
  );
};

/** A filter from a link, with a button that removes it. */
const Chosen = ({ text, onRemove }: { text: string; onRemove: () => void }) => (
  <Button onClick={onRemove} className="max-w-full">
    <span className="truncate">Only {text}</span> <span aria-hidden="true">✕</span>
    <span className="sr-only">Show all</span>
  </Button>
);

/** `call`: the first shown call, which contains the names of the filtered objects. */
const FilterBar = ({ filters, call }: { filters: CallFilters; call: UsageSessionWithNames | undefined }) => {
  const { client } = useAccount();
  const { change } = useNavigation();
  const nameText = useNameText();
  const { status, apiKeyId, avatarId } = filters;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <InlineSelect
        label="Status"
        value={status ?? ""}
        onChange={({ target: { value } }) => change({ status: value || undefined }, true)}
      >
        <option value="">All calls</option>
        <Options of={Object.entries(STATUSES)} />
      </InlineSelect>
      {apiKeyId && (
        <Chosen
          text={nameText({ id: apiKeyId, name: call?.apiKeyName ?? null })}
          onRemove={() => change({ key: undefined })}
        />
      )}
      {avatarId && (
        <Chosen
          text={nameText({ id: avatarId, name: call?.avatarName ?? null })}
          onRemove={() => change({ avatar: undefined })}
        />
      )}
      <ExportButton
        key={JSON.stringify(filters)}
        read={({ cursor }, options) => {
          // A cursor belongs to the window of the first file.
          const { from, ...others } = callsQuery(filters);
          const query = { ...others, ...(cursor === undefined ? { from } : { cursor }) };
          return client.csv("/api/v1/usage/sessions.csv", query, options);
        }}
      />
    </div>
  );
};

export const Calls = ({ days }: { days: number }) => {
  const { status, key, avatar } = useParameters();
  const known = status !== undefined && Object.hasOwn(STATUSES, status) ? (status as CallStatus) : undefined;
  const filters: CallFilters = {
    days,
    ...(known && { status: known }),
    ...(key && { apiKeyId: key }),
    ...(avatar && { avatarId: avatar }),
  };
  const query = useCalls(filters);
  return (
    <>
      <KeepTranscripts />
      <FilterBar filters={filters} call={query.data?.pages[0]?.data[0]} />
      <Loaded query={query} skeleton={<Skeleton label="calls" height="h-9" rows={10} />}>
        {({ pages }) => {
          const calls = pages.flatMap(({ data }) => data);
          if (calls.length > 0) return <CallTable calls={calls} />;
          return (
            <Empty title={known || key || avatar ? "No call matches" : `No calls in ${days} days`}>
              {known || key || avatar
                ? "Remove a filter, or show more days."
                : "Start a call with a key of this environment, and it is shown here at once."}
            </Empty>
          );
        }}
      </Loaded>
      <ListEnd query={query} noun="call" />
    </>
  );
};
