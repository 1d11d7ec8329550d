/** The endpoints of the environment. */
import type { WebhookEndpoint } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/state.tsx";
import { Badge, Time } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, PageLink } from "../layout/navigation.tsx";
import { DISABLED_TEXTS, endpointName } from "./data.ts";

export const EndpointStatus = ({ endpoint: { status, failingSince } }: { endpoint: WebhookEndpoint }) => {
  if (status === "disabled") return <Badge tone="bad">disabled</Badge>;
  return failingSince === null ? <Badge tone="good">enabled</Badge> : <Badge tone="warn">failing</Badge>;
};

/** The events that an endpoint gets. */
export const Events = ({ events }: Pick<WebhookEndpoint, "events">) => (
  <span className="flex flex-wrap gap-1">
    {(events ?? ["all events"]).map((each) => (
      <Badge key={each}>{each}</Badge>
    ))}
  </span>
);

/** The receiver of the events. */
export const Destination = ({ url }: Pick<WebhookEndpoint, "url">) =>
  url === null ? (
    <>A program on a computer of a developer reads the events.</>
  ) : (
    <code className="break-all">{url}</code>
  );

const EndpointRow = ({ endpoint }: { endpoint: WebhookEndpoint }) => {
  const { failingSince, disabledReason } = endpoint;
  return (
    <li className="grid gap-x-4 gap-y-2 border-b border-line px-4 py-3 last:border-0 md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
      <div className="min-w-0">
        <p className="flex items-center gap-2">
          <PageLink to="/webhooks" search={{ endpoint: endpoint.id }} className={`${LINK} min-w-0 truncate`}>
            {endpointName(endpoint)}
          </PageLink>
          <EndpointStatus endpoint={endpoint} />
        </p>
        <p className="text-xs text-muted">
          <Destination url={endpoint.url} />
        </p>
      </div>
      <div className="flex min-w-0 flex-wrap content-start gap-1">
        <Events events={endpoint.events} />
        {endpoint.ordered && <Badge>in order</Badge>}
      </div>
      {disabledReason !== null && <p className="text-sm text-bad md:col-span-2">{DISABLED_TEXTS[disabledReason]}</p>}
      {disabledReason === null && failingSince !== null && (
        <p className="text-sm text-warn md:col-span-2">
          No delivery succeeds. The first failure was <Time at={failingSince} />.
        </p>
      )}
    </li>
  );
};

export const EndpointList = ({ endpoints, onAdd }: { endpoints: WebhookEndpoint[]; onAdd: () => void }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const add = (
    <Button kind="primary" onClick={onAdd}>
      Add your first endpoint
    </Button>
  );
  if (endpoints.length === 0) {
    return (
      <Empty title={`No ${environment} endpoints yet`} action={canWrite && add}>
        Enter the URL that receives events: within a second after an avatar is ready, a call ends or credits run low.
      </Empty>
    );
  }
  return (
    <ul aria-label="Webhook endpoints" className="rounded-2xl border border-line bg-surface">
      {endpoints.map((endpoint) => (
        <EndpointRow key={endpoint.id} endpoint={endpoint} />
      ))}
    </ul>
  );
};
