/** One endpoint: its fields, its status, its actions and its deliveries. */
import type { WebhookEndpoint } from "@realtime-avatar/client";
import { type ReactNode, useEffect } from "react";
import { patientClient } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Id } from "../components/copy.tsx";
import { Failure } from "../components/state.tsx";
import { Card, HOME, Item, PageHead, Time } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { useAction } from "../layout/use-action.ts";
import { DISABLED_TEXTS, endpointName, overlapEnd, REFRESHES } from "./data.ts";
import { Deliveries } from "./deliveries.tsx";
import { Destination, EndpointStatus, Events } from "./list.tsx";

/** A dialog above the page. */
export type Above =
  | { kind: "change" | "rotate" | "delete" }
  /** `failingSince`: when the endpoint began to fail. */
  | { kind: "recover"; failingSince: string | null };

const Notice = ({ tone, children }: { tone: "bad" | "warn"; children: ReactNode }) => (
  <div
    className={`mb-5 rounded-2xl border px-4 py-3 ${tone === "bad" ? "border-bad bg-bad-soft" : "border-warn bg-warn-soft"}`}
  >
    {children}
  </div>
);

/** Why an endpoint gets no events, or will soon be disabled, and the next step. */
const Notices = ({ endpoint, enable }: { endpoint: WebhookEndpoint; enable: ReactNode }) => {
  const canWrite = useHasRole("developer");
  const { disabledReason, failingSince } = endpoint;
  if (disabledReason !== null) {
    return (
      <Notice tone="bad">
        <h2 className="font-semibold text-bad">This endpoint is disabled</h2>
        <p className="my-1">
          {DISABLED_TEXTS[disabledReason]} Nothing is sent to it, and what happens meanwhile is not kept for it.
        </p>
        <p className="mb-2">
          {canWrite
            ? "When its receiver works again, enable it, and then recover the failed deliveries."
            : "A developer or an owner can enable it."}
        </p>
        {enable}
      </Notice>
    );
  }
  if (failingSince === null) return null;
  return (
    <Notice tone="warn">
      <h2 className="font-semibold text-warn">
        No delivery succeeds. The first failure was <Time at={failingSince} />.
      </h2>
      <p>
        Each delivery is tried again for about three days. After five days without one success the endpoint is disabled.
      </p>
    </Notice>
  );
};

const Facts = ({ endpoint }: { endpoint: WebhookEndpoint }) => {
  const olderEnds = overlapEnd(endpoint);
  return (
    <Card>
      <dl className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
        <Item name="Status">
          <EndpointStatus endpoint={endpoint} />
        </Item>
        <Item name="Order">{endpoint.ordered ? "in order, for each resource" : "not promised"}</Item>
        <Item name="Added">
          <Time at={endpoint.createdAt} />
        </Item>
        <Item name="Secret before the rotation">
          {olderEnds !== null && "signs too, ends "}
          <Time at={olderEnds} none="none" />
        </Item>
        <Item name="Events">
          <Events events={endpoint.events} />
        </Item>
        <Item name="Id">
          <Id id={endpoint.id} />
        </Item>
      </dl>
    </Card>
  );
};

/** The actions on an endpoint; none for a viewer. */
const useEndpointActions = (endpoint: WebhookEndpoint, onOpen: (above: Above) => void) => {
  const { client, environment } = useAccount();
  const { change } = useNavigation();
  const canWrite = useHasRole("developer");
  const params = { path: { id: endpoint.id } };
  const { failingSince } = endpoint;
  const set = useAction(
    async (status: "enabled" | "disabled") => {
      await client.PATCH("/api/v1/webhook-endpoints/{id}", { params, body: { status } });
      return status;
    },
    REFRESHES,
    // The next wish of the person is usually to recover failed deliveries. Deliveries of new events start by
    // themselves.
    (status) => status === "enabled" && failingSince !== null && onOpen({ kind: "recover", failingSince }),
  );
  const test = useAction(
    async () => (await patientClient(environment).POST("/api/v1/webhook-endpoints/{id}/test", { params })).data,
    REFRESHES,
    ({ id }) => change({ delivery: id }),
  );
  return { canWrite, set, test };
};

export const EndpointView = ({ endpoint, onOpen }: { endpoint: WebhookEndpoint; onOpen: (above: Above) => void }) => {
  const { canWrite, set, test } = useEndpointActions(endpoint, onOpen);
  // The focused link is gone, so the focus moves to the page.
  useEffect(() => document.getElementById("page")?.focus(), []);
  const error = set.error ?? test.error;
  const isEnabled = endpoint.status === "enabled";
  return (
    <>
      <PageHead
        title={endpointName(endpoint)}
        above={[HOME, ["/webhooks", "Webhooks"]]}
        actions={
          canWrite && (
            <>
              <Button onClick={() => onOpen({ kind: "change" })}>Change</Button>
              <Button onClick={() => onOpen({ kind: "rotate" })}>Rotate the secret</Button>
              {isEnabled && (
                <Button isBusy={set.isBusy} onClick={() => set.run("disabled")}>
                  Disable
                </Button>
              )}
              <Button onClick={() => onOpen({ kind: "delete" })}>Delete</Button>
              {isEnabled && (
                <Button kind="primary" isBusy={test.isBusy} onClick={() => test.run()}>
                  Send a test
                </Button>
              )}
            </>
          )
        }
      >
        <Destination url={endpoint.url} />
      </PageHead>
      {error ? <Failure error={error} /> : null}
      <Notices
        endpoint={endpoint}
        enable={
          canWrite && (
            <Button isBusy={set.isBusy} onClick={() => set.run("enabled")}>
              Enable it
            </Button>
          )
        }
      />
      <Facts endpoint={endpoint} />
      <Deliveries
        endpointId={endpoint.id}
        actions={
          canWrite &&
          isEnabled && (
            <Button onClick={() => onOpen({ kind: "recover", failingSince: endpoint.failingSince })}>
              Recover failed ones
            </Button>
          )
        }
      />
    </>
  );
};
