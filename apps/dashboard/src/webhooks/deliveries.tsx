/** The deliveries of an endpoint, newest first. The filters are part of the address. */
import type { WebhookDelivery } from "@realtime-avatar/client";
import { WEBHOOK_EVENT_TYPES } from "@realtime-avatar/domain/webhooks/events";
import { type ReactNode, useState } from "react";
import { FilterField, InlineSelect, Options } from "../components/field.tsx";
import { ListEnd, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, Time } from "../components/text.tsx";
import { LINK, useNavigation, useParameters } from "../layout/navigation.tsx";
import { attemptText, type DeliveryStatus, type Filters, STATUS_TONES, useDeliveries } from "./data.ts";
import { eventText } from "./events.ts";

const STATUSES = Object.keys(STATUS_TONES) as DeliveryStatus[];
const RESOURCE_ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** The filters in the address. An unknown value counts as all. */
const useFilters = (): Filters => {
  const { status, event, target } = useParameters();
  return {
    status: STATUSES.find((each) => each === status),
    event: WEBHOOK_EVENT_TYPES.find((each) => each === event),
    target,
  };
};

/** Filters by a whole id while the person types. A part of an id finds nothing. */
const ResourceField = ({ target = "" }: Pick<Filters, "target">) => {
  const { change } = useNavigation();
  const [typed, setTyped] = useState(target);
  const id = typed.trim();
  return (
    <>
      <FilterField
        label="Resource id"
        value={typed}
        onChange={(text) => {
          setTyped(text);
          const next = text.trim();
          if (next === "" || RESOURCE_ID.test(next)) change({ target: next || undefined }, true);
        }}
      />
      <span role="status" className="text-sm text-muted">
        {id !== "" && !RESOURCE_ID.test(id) && "Enter the whole id."}
      </span>
    </>
  );
};

const FilterBar = ({ status, event, target }: Filters) => {
  const { change } = useNavigation();
  return (
    <div className="mt-2 mb-3 flex flex-wrap items-center gap-3">
      <InlineSelect
        label="Status"
        value={status ?? ""}
        onChange={({ target: { value } }) => change({ status: value || undefined }, true)}
      >
        <option value="">All statuses</option>
        <Options of={STATUSES.map((each) => [each, each])} />
      </InlineSelect>
      <InlineSelect
        label="Event type"
        className="max-w-full"
        value={event ?? ""}
        onChange={({ target: { value } }) => change({ event: value || undefined }, true)}
      >
        <option value="">All event types</option>
        <Options of={WEBHOOK_EVENT_TYPES.map((each) => [each, each])} />
      </InlineSelect>
      <ResourceField target={target} />
    </div>
  );
};

const DeliveryRow = ({ delivery, onShow }: { delivery: WebhookDelivery; onShow: () => void }) => {
  const { eventType, targetId, targetName, status, attempts, createdAt, nextAttemptAt } = delivery;
  const last = attempts.at(-1);
  return (
    <li className="grid gap-x-4 gap-y-1 border-b border-line py-2 last:border-0 md:grid-cols-[minmax(0,1.3fr)_minmax(0,1fr)_9rem] md:items-center">
      <div className="min-w-0">
        <p className="flex items-center gap-2">
          <button type="button" className={`${LINK} min-w-0 truncate text-left`} onClick={onShow}>
            {eventType}
          </button>
          <Badge tone={STATUS_TONES[status]}>{status}</Badge>
        </p>
        <span className="block truncate text-xs text-muted" title={eventText(eventType)}>
          {targetName && `${targetName} · `}
          <code>{targetId}</code>
        </span>
      </div>
      <p className="min-w-0 text-sm">
        {last ? attemptText(last) : status === "pending" ? "no attempt yet" : "no attempt"}
        {attempts.length > 1 && <span className="text-muted"> · {attempts.length} attempts</span>}
        {nextAttemptAt !== null && last && (
          <span className="block text-muted">
            next <Time at={nextAttemptAt} />
          </span>
        )}
      </p>
      <p className="text-sm text-muted md:text-right">
        <Time at={createdAt} />
      </p>
    </li>
  );
};

export const Deliveries = ({ endpointId, actions }: { endpointId: string; actions: ReactNode }) => {
  const { change } = useNavigation();
  const filters = useFilters();
  const query = useDeliveries(endpointId, filters);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <Card title="Deliveries of the last 30 days" actions={actions}>
      <FilterBar {...filters} />
      <Loaded query={query} skeleton={<Skeleton label="deliveries" height="h-12" rows={6} />}>
        {({ pages }) => {
          const deliveries = pages.flatMap(({ data }) => data);
          if (deliveries.length === 0) {
            return (
              <p className="py-4 text-muted">
                {isFiltered
                  ? "No delivery matches these filters."
                  : "No deliveries yet. Send a test: it is shown here."}
              </p>
            );
          }
          return (
            <ul aria-label="Deliveries">
              {deliveries.map((delivery) => (
                <DeliveryRow key={delivery.id} delivery={delivery} onShow={() => change({ delivery: delivery.id })} />
              ))}
            </ul>
          );
        }}
      </Loaded>
      <ListEnd query={query} noun="delivery" />
    </Card>
  );
};
