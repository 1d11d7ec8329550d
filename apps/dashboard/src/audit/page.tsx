import type { AuditEvent } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { listUsers } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { ExportButton } from "../components/export-button.tsx";
import { InlineSelect } from "../components/field.tsx";
import { Empty, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, PageHead, Time } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { LINK, type Page, PageLink, type SearchChange, useNavigation, useParameters } from "../layout/navigation.tsx";
import type { Search } from "../search.ts";
import { useNames } from "../usage/data.ts";
import { ACTION_TEXTS, auditQuery, fieldText, kindText, serviceText, useAuditEvents } from "./data.ts";

type Names = ReadonlyMap<string, string>;

/** The page that shows an object, and its parameters; null for what no page shows. */
const pageOf = (id: string): { to: Page; search?: SearchChange } | null => {
  if (id.startsWith("key_")) return { to: "/keys", search: { key: id, all: true } };
  if (id.startsWith("ava_")) return { to: "/avatars", search: { avatar: id } };
  if (id.startsWith("whe_")) return { to: "/webhooks", search: { endpoint: id } };
  return /^(usr|uss|inv|psk|idn)_/.test(id) ? { to: "/people" } : null;
};

/** The name of an object, as a link to the page that shows it. */
const ObjectLink = ({ id, names }: { id: string; names: Names }) => {
  const text = names.get(id) ?? kindText(id);
  const page = pageOf(id);
  if (page === null) return <span className="block truncate">{text}</span>;
  return (
    <PageLink {...page} className={`${LINK} block truncate`}>
      {text}
    </PageLink>
  );
};

const Actor = ({ event, names }: { event: AuditEvent; names: Names }) =>
  event.actorId === null ? (
    <span className="text-muted">{serviceText(event.action)}</span>
  ) : (
    <ObjectLink id={event.actorId} names={names} />
  );

const EventRow = ({ event, names }: { event: AuditEvent; names: Names }) => (
  <li className="grid gap-x-4 gap-y-1 border-b border-line px-4 py-3 last:border-0 md:grid-cols-[11rem_minmax(0,1.2fr)_minmax(0,1fr)_8rem]">
    <div>
      <p className="font-medium">
        {ACTION_TEXTS[event.action] ?? event.action} {event.environment === "test" && <Badge tone="warn">test</Badge>}
      </p>
      {event.changedFields.length > 0 && (
        <p className="flex flex-wrap gap-1">
          {event.changedFields.map((field) => (
            <Badge key={field}>{fieldText(field)}</Badge>
          ))}
        </p>
      )}
    </div>
    <div className="min-w-0">
      <ObjectLink id={event.targetId} names={names} />
      <code className="block truncate text-xs text-muted">{event.targetId}</code>
    </div>
    <div className="min-w-0">
      <span className="block text-sm text-muted">by</span>
      <Actor event={event} names={names} />
    </div>
    <div className="text-sm text-muted md:text-right">
      <Time at={event.createdAt} />
    </div>
    <details className="text-sm text-muted md:col-span-4">
      <summary>Request id</summary>
      <code className="break-all">{event.requestId}</code>
    </details>
  </li>
);

/** The names of keys, avatars and members, as far as they are known. */
const useAllNames = (): Names => {
  const objects = useNames().data;
  const users = useQuery({ queryKey: ["users"], queryFn: listUsers, staleTime: 60_000 }).data ?? [];
  return new Map([...(objects ?? []), ...users.map(({ id, name, email }) => [id, name || email] as const)]);
};

const FilterBar = ({ action, target }: Pick<Search, "action" | "target">) => {
  const { change } = useNavigation();
  const names = useAllNames();
  return (
    <div className="mb-4 flex flex-wrap items-center gap-3">
      <InlineSelect
        label="Action"
        value={action ?? ""}
        onChange={({ target: { value } }) => change({ action: value || undefined })}
      >
        <option value="">All actions</option>
        {Object.entries(ACTION_TEXTS).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </InlineSelect>
      {target && (
        <Button onClick={() => change({ target: undefined })}>
          Only {names.get(target) ?? target} <span aria-hidden="true">✕</span>
          <span className="sr-only">Show all objects</span>
        </Button>
      )}
    </div>
  );
};

export const AuditPage = () => {
  const { client } = useAccount();
  const { action, target } = useParameters();
  const query = useAuditEvents({ action, target });
  const names = useAllNames();
  return (
    <>
      <PageHead
        title="Audit"
        actions={
          <ExportButton
            key={`${action} ${target}`}
            read={(page, options) =>
              client.csv("/api/v1/audit-events.csv", { ...auditQuery({ action, target }), ...page }, options)
            }
          />
        }
      >
        Who did what, newest first. Events are never changed.
      </PageHead>
      <FilterBar {...(action !== undefined && { action })} {...(target !== undefined && { target })} />
      <Loaded query={query} skeleton={<Skeleton label="events" rows={6} />}>
        {({ pages }) => {
          const events = pages.flatMap(({ data }) => data);
          return events.length === 0 ? (
            <Empty title="No events">
              {action || target
                ? "No event matches these filters."
                : "Create a key or an avatar, and it is recorded here."}
            </Empty>
          ) : (
            <ul aria-label="Events" className="rounded-2xl border border-line bg-surface">
              {events.map((event) => (
                <EventRow key={event.id} event={event} names={names} />
              ))}
            </ul>
          );
        }}
      </Loaded>
      {query.hasNextPage && (
        <Button className="mt-3" isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </>
  );
};
