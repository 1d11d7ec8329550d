/** The dialogs for single actions on an endpoint: rotate its secret, recover deliveries, delete it. */
import type { WebhookEndpoint, WebhookEndpointWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError } from "../api/client.ts";
import { EndDialog, FormDialog } from "../components/action-dialog.tsx";
import { Options, SelectField, TextField } from "../components/field.tsx";
import { counted, dateTime } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { useNotify } from "../layout/notices.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { endpointName, overlapEnd, REFRESHES } from "./data.ts";

type Props = { endpoint: WebhookEndpoint; onClose: () => void };

export const RotateSecretDialog = ({
  endpoint,
  onClose,
  onRotated,
}: Props & { onRotated: (issued: WebhookEndpointWithSecret) => void }) => {
  const { client } = useAccount();
  const params = { path: { id: endpoint.id } };
  const rotate = useAction(
    async () => (await client.POST("/api/v1/webhook-endpoints/{id}/rotate-secret", { params })).data,
    REFRESHES,
    onRotated,
  );
  // The result contains a secret, so the person must stay on the page.
  useStay(rotate.isBusy);
  const olderEnds = overlapEnd(endpoint);
  return (
    <FormDialog
      title={`Rotate the secret of ${endpointName(endpoint)}`}
      action={rotate}
      submit="Rotate the secret"
      onSubmit={() => rotate.run()}
      isIncomplete={olderEnds !== null}
      onClose={onClose}
    >
      {olderEnds === null ? (
        <p>
          The endpoint gets a new secret. For 24 hours, each request has two signatures, with the new and with the
          current secret, so your receiver can use either. Then the current one ends.
        </p>
      ) : (
        <p>
          It was rotated a short time ago: the previous secret still signs until {dateTime(olderEnds)}. Then it can be
          rotated again.
        </p>
      )}
    </FormDialog>
  );
};

const HOUR_MS = 3_600_000;
/** The service keeps deliveries for 30 days. The margin allows for a difference between the clocks. */
const ALL_HOURS = 718;
/** The periods, by their length in hours. */
export const PERIODS = {
  1: "The last hour",
  24: "The last 24 hours",
  168: "The last 7 days",
  [ALL_HOURS]: "All that are kept: 30 days",
};

/** An hour before a time, because the first failed event happened before its attempt. */
const hourBefore = (time: string): string => new Date(Date.parse(time) - HOUR_MS).toISOString();

/** The time from which deliveries are recovered; null while the field is empty. */
export const recoveryStart = (choice: string, date: string, now: number = Date.now()): string | null => {
  // A choice is a number of hours, or a time.
  const hours = Number(choice);
  const time = choice === "date" ? Date.parse(date) : hours ? now - hours * HOUR_MS : Date.parse(choice);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
};

/** `failingSince`: when the endpoint began to fail, even if it was enabled again meanwhile. */
export const RecoverDialog = ({ endpoint, failingSince, onClose }: Props & { failingSince: string | null }) => {
  const { client } = useAccount();
  const notify = useNotify();
  const first = failingSince && hourBefore(failingSince);
  const isKept = first !== null && Date.parse(first) > Date.now() - ALL_HOURS * HOUR_MS;
  const [choice, setChoice] = useState(first === null ? "24" : isKept ? first : `${ALL_HOURS}`);
  const [date, setDate] = useState("");
  const recover = useAction(
    async () => {
      const body = { since: recoveryStart(choice, date) ?? "" };
      const params = { path: { id: endpoint.id } };
      return (await client.POST("/api/v1/webhook-endpoints/{id}/recover", { params, body })).data;
    },
    REFRESHES,
    ({ recovered, pausedUntil }) => {
      onClose();
      const next = pausedUntil === null ? "" : ` The host fails: the next one is tried at ${dateTime(pausedUntil)}.`;
      notify(
        recovered === 0
          ? "Nothing has failed since then."
          : `${counted(recovered, "event")} will be sent again.${next}`,
      );
    },
  );
  return (
    <FormDialog
      title="Recover failed deliveries"
      action={recover}
      submit="Send them again"
      onSubmit={() => recover.run()}
      shownFields={["since"]}
      isIncomplete={recoveryStart(choice, date) === null}
      onClose={onClose}
    >
      <p className="mb-4">
        Deliveries that failed, were canceled or wait for another attempt are sent to {endpointName(endpoint)} again,
        each event with the same id and body as before.
      </p>
      <SelectField
        label="From"
        value={choice}
        onChange={({ target }) => setChoice(target.value)}
        error={choice === "date" ? undefined : fieldError(recover.error, "since")}
      >
        {isKept && <option value={first}>{`An hour before it began to fail: ${dateTime(first)}`}</option>}
        <Options of={Object.entries(PERIODS)} />
        <option value="date">A time of your choice</option>
      </SelectField>
      {choice === "date" && (
        <TextField
          label="Since"
          type="datetime-local"
          value={date}
          onChange={({ target }) => setDate(target.value)}
          error={fieldError(recover.error, "since")}
          required
        />
      )}
    </FormDialog>
  );
};

export const DeleteEndpointDialog = ({ endpoint, onClose, onDeleted }: Props & { onDeleted: () => void }) => {
  const { client } = useAccount();
  return (
    <EndDialog
      title={`Delete ${endpointName(endpoint)}`}
      confirm="Delete it for good"
      end={() => client.DELETE("/api/v1/webhook-endpoints/{id}", { params: { path: { id: endpoint.id } } })}
      refreshes={REFRESHES}
      notice={`${endpointName(endpoint)} is deleted.`}
      onEnded={onDeleted}
      onClose={onClose}
    >
      <p>No more events are sent to it, not even waiting ones. Its secret is deleted. It cannot be brought back.</p>
    </EndDialog>
  );
};
