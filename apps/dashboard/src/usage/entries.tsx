/** The movements of credits, with links to the session and the key of each. */
import type { CreditEntry } from "@realtime-avatar/client";
import { useState } from "react";
import { ExportButton } from "../components/export-button.tsx";
import { InlineSelect, Options } from "../components/field.tsx";
import { ListEnd, Loaded, Skeleton } from "../components/state.tsx";
import { Amount, Card, Time } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { LINK, PageLink } from "../layout/navigation.tsx";
import { ObjectName } from "../layout/object-name.tsx";
import { type EntryKind, useEntries } from "./data.ts";

/**
 * The name of each kind, and the sign of its effect on the available credits. A charge is the exception: it has a sign,
 * although its credits were already held and no longer available.
 */
export const KINDS: Record<EntryKind, { name: string; sign: "+" | "−" | "" }> = {
  grant: { name: "Added", sign: "+" },
  hold: { name: "Held for a call or video", sign: "−" },
  settle: { name: "Charged from held credits", sign: "−" },
  release: { name: "Given back at the end", sign: "+" },
  expire: { name: "Given back: timed out", sign: "+" },
  void: { name: "Taken back by the operator", sign: "−" },
  adjust: { name: "Refunded", sign: "+" },
};

const EntryRow = ({ entry }: { entry: CreditEntry }) => {
  // A newer version can write a kind that this page does not know.
  const { name, sign } = KINDS[entry.kind] ?? { name: entry.kind, sign: "" };
  const { sessionId, apiKeyId, apiKeyName, reportedBy, reportedByName, closedBy, closedByName } = entry;
  // The row names the key that ended the session, if another key opened it.
  const isOwn = [reportedBy, closedBy].every((by) => by === null || by === apiKeyId);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 border-b border-line py-2 last:border-0 sm:grid-cols-[9rem_minmax(0,1fr)_minmax(0,1fr)_8rem]">
      <span className="text-sm text-muted sm:order-1">
        <Time at={entry.createdAt} />
      </span>
      <span className="text-right font-medium tabular-nums sm:order-4">
        <Amount micros={entry.amountCreditMicros} sign={sign} />
      </span>
      <span className="col-span-2 min-w-0 break-words sm:order-2 sm:col-span-1">
        {name}
        {entry.reference && <span className="text-muted"> · {entry.reference}</span>}
        {closedBy && !isOwn && (
          <span className="text-muted">
            {" · ended by "}
            {closedBy === "sweep" ? "the service" : (closedByName ?? closedBy)}
            {reportedBy && `, reported by ${reportedByName ?? reportedBy}`}
          </span>
        )}
      </span>
      <span className="col-span-2 flex min-w-0 items-center gap-3 text-sm sm:order-3 sm:col-span-1">
        {sessionId && (
          <PageLink to="/usage" search={{ tab: "ledger", session: sessionId }} className={LINK}>
            Session
          </PageLink>
        )}
        {apiKeyId && <ObjectName id={apiKeyId} name={apiKeyName} />}
      </span>
    </li>
  );
};

export const Entries = () => {
  const [kind, setKind] = useState<EntryKind | "">("");
  const { client } = useAccount();
  const query = useEntries(kind);
  const actions = (
    <div className="flex flex-wrap gap-2">
      <InlineSelect
        label="Kind of entry"
        value={kind}
        onChange={({ target }) => setKind(target.value as EntryKind | "")}
      >
        <option value="">All kinds</option>
        <Options of={Object.entries(KINDS).map(([value, { name }]) => [value, name])} />
      </InlineSelect>
      <ExportButton
        key={kind}
        read={(page, options) => client.csv("/api/v1/credits/entries.csv", { ...(kind && { kind }), ...page }, options)}
      />
    </div>
  );
  return (
    <Card title="History of the credits" actions={actions}>
      <Loaded query={query} skeleton={<Skeleton label="the history" height="h-9" rows={6} />}>
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data);
          if (entries.length === 0) return <p className="py-4 text-muted">No entry of this kind.</p>;
          return (
            <ul aria-label="History of the credits">
              {entries.map((entry) => (
                <EntryRow key={entry.id} entry={entry} />
              ))}
            </ul>
          );
        }}
      </Loaded>
      <ListEnd query={query} noun="movement" />
    </Card>
  );
};
