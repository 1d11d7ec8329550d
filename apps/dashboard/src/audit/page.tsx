import { ExportButton } from "../components/export-button.tsx";
import { Empty, ListEnd, Loaded, Skeleton } from "../components/state.tsx";
import { PageHead } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { useParameters } from "../layout/navigation.tsx";
import { auditQuery, type Filters, useAuditEvents } from "./data.ts";
import { FilterBar } from "./filters.tsx";
import { EventRow } from "./row.tsx";

const NoEvents = ({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) => (
  <Empty title={hasMore ? "No events so far" : "No events"}>
    {hasMore
      ? "None of the newest events matches these filters. Older ones may."
      : isFiltered
        ? "No event matches these filters."
        : "Create a key or an avatar: the event is recorded here."}
  </Empty>
);

export const AuditPage = () => {
  const { client } = useAccount();
  const { action, target, actor, since, until } = useParameters();
  const filters: Filters = {
    ...(action && { action }),
    ...(target && { target }),
    ...(actor && { actor }),
    ...(since && { since }),
    ...(until && { until }),
  };
  const query = useAuditEvents(filters);
  const events = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <PageHead
        title="Audit"
        actions={
          <ExportButton
            key={JSON.stringify(filters)}
            read={(page, options) =>
              client.csv("/api/v1/audit-events.csv", { ...auditQuery(filters), ...page }, options)
            }
          />
        }
      >
        Actions and their actors, newest first. Events are never changed.
      </PageHead>
      <FilterBar filters={filters} events={events} />
      <Loaded query={query} skeleton={<Skeleton label="events" rows={8} height="h-9" />}>
        {() =>
          events.length === 0 ? (
            <NoEvents isFiltered={Object.keys(filters).length > 0} hasMore={query.hasNextPage} />
          ) : (
            <ul aria-label="Events" className="overflow-hidden rounded-2xl border border-line bg-surface">
              {events.map((event) => (
                <EventRow key={event.id} event={event} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <ListEnd query={query} noun="event" />
    </>
  );
};
