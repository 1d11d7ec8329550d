/** One delivery: every attempt, the body, and the button that sends it again. */
import type { WebhookDelivery } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { CopyButton, Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Item, Time } from "../components/text.tsx";
import { exactTime } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { ObjectName } from "../layout/object-name.tsx";
import { useAction } from "../layout/use-action.ts";
import { type Attempt, attemptText, isSuccess, REFRESHES, STATUS_TONES, useDelivery } from "./data.ts";
import { eventText } from "./events.ts";

const CODE = "rounded-lg border border-line bg-raised px-3 py-2 font-mono text-xs leading-5";

/** Indents JSON. Other text is unchanged. */
const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const AttemptItem = ({ attempt }: { attempt: Attempt }) => (
  <li className="border-b border-line px-3 py-2 last:border-0">
    <p className="flex flex-wrap items-baseline justify-between gap-x-3">
      <span className={`font-medium ${isSuccess(attempt) ? "text-good" : "text-bad"}`}>{attemptText(attempt)}</span>
      <time dateTime={attempt.at} className="text-sm text-muted">
        {exactTime(attempt.at)}
      </time>
    </p>
    {attempt.responseBody && <pre className={`${CODE} mt-1 break-all whitespace-pre-wrap`}>{attempt.responseBody}</pre>}
  </li>
);

const Attempts = ({ delivery: { attempts, status } }: { delivery: WebhookDelivery }) => {
  if (attempts.length > 0) {
    return (
      <ol aria-label="Attempts" className="rounded-lg border border-line">
        {[...attempts].reverse().map((attempt) => (
          <AttemptItem key={attempt.at} attempt={attempt} />
        ))}
      </ol>
    );
  }
  return (
    <p className="text-muted">
      {status === "pending" ? "None yet. If this stays so, check that the worker runs." : "None."}
    </p>
  );
};

const Body = ({ body }: { body: string | null }) => (
  <section className="mt-5">
    <div className="mb-2 flex items-center justify-between gap-3">
      <h3 className="font-semibold">Body</h3>
      {body !== null && <CopyButton text={body} label="Copy the body as it is sent" />}
    </div>
    {body === null ? (
      <p className="text-muted">It is written at the first attempt.</p>
    ) : (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by the keyboard.
      <section aria-label="Body of the request" tabIndex={0} className={`${CODE} max-h-96 overflow-auto`}>
        <pre>{pretty(body)}</pre>
      </section>
    )}
  </section>
);

const Facts = ({ delivery }: { delivery: WebhookDelivery }) => (
  <>
    <dl className="mb-5 grid grid-cols-3 gap-4">
      <Item name="Status">
        <Badge tone={STATUS_TONES[delivery.status]}>{delivery.status}</Badge>
      </Item>
      <Item name="Happened">
        <Time at={delivery.createdAt} />
      </Item>
      <Item name="Next attempt">
        <Time at={delivery.nextAttemptAt} none="none" />
      </Item>
    </dl>
    <section>
      <h3 className="mb-2 font-semibold">Attempts</h3>
      <Attempts delivery={delivery} />
    </section>
    <Body body={delivery.body} />
    <dl className="mt-5 grid gap-4 sm:grid-cols-2">
      <Item name="Resource">
        <ObjectName id={delivery.targetId} name={delivery.targetName} />
      </Item>
      <Item name="Sequence of the resource">{delivery.sequence}</Item>
      <Item name="Event: the webhook-id of each attempt">
        <Id id={delivery.eventId} />
      </Item>
      <Item name="Delivery">
        <Id id={delivery.id} />
      </Item>
    </dl>
  </>
);

type Props = {
  id: string;
  /** Whether its endpoint gets events. */
  isEnabled: boolean;
  onClose: () => void;
};

export const DeliveryDialog = ({ id, isEnabled, onClose }: Props) => {
  const { client } = useAccount();
  const canWrite = useHasRole("developer");
  const query = useDelivery(id);
  const resend = useAction(
    () => client.POST("/api/v1/webhook-deliveries/{id}/resend", { params: { path: { id } } }),
    REFRESHES,
  );
  const actions = canWrite && query.data && (
    <>
      {!isEnabled && <p className="text-sm text-muted">Enable the endpoint to send it again.</p>}
      <Button kind="primary" isBusy={resend.isBusy} disabled={!isEnabled} onClick={() => resend.run()}>
        {query.data.status === "pending" ? "Send it now" : "Send it again"}
      </Button>
    </>
  );
  return (
    <Dialog title={query.data?.eventType ?? "Delivery"} onClose={onClose} isWide isTall actions={actions}>
      {resend.error ? <Failure error={resend.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton label="the delivery" />}>
        {(delivery) => (
          <>
            <p className="mb-4 text-muted">{eventText(delivery.eventType)}</p>
            <Facts delivery={delivery} />
          </>
        )}
      </Loaded>
    </Dialog>
  );
};
