import type { WebhookEndpointWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { REFRESHES } from "./data.ts";
import { EndpointFields, type Fields, parseFields, SHOWN_FIELDS, type Values } from "./fields.tsx";

const FIRST: Values = { url: "", description: "", isAll: true, events: [], ordered: false };

type Props = { onClose: () => void; onCreated: (issued: WebhookEndpointWithSecret) => void };

export const CreateEndpointDialog = ({ onClose, onCreated }: Props) => {
  const { client, environment } = useAccount();
  const [values, setValues] = useState(FIRST);
  const body = parseFields(values);
  const create = useAction(
    async (request: Fields) => (await client.POST("/api/v1/webhook-endpoints", { body: request })).data,
    REFRESHES,
    onCreated,
  );
  // The result contains a secret, so the person must stay on the page.
  useStay(create.isBusy);
  return (
    <FormDialog
      title="Add an endpoint"
      action={create}
      submit={`Add the ${environment} endpoint`}
      onSubmit={() => body && create.run(body)}
      shownFields={SHOWN_FIELDS}
      isIncomplete={body === null}
      onClose={onClose}
      isWide
    >
      <EndpointFields
        values={values}
        onChange={(change) => setValues((present) => ({ ...present, ...change }))}
        errors={(name) => fieldError(create.error, name)}
      />
    </FormDialog>
  );
};
