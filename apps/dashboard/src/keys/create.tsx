import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { type FormEvent, useId, useState } from "react";
import { errorText } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/state.tsx";
import { Badge } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { fieldsOf, KeyFields, type Values } from "./fields.tsx";
import { DEFAULT_SCOPES } from "./scopes.ts";

const FIRST: Values = {
  name: "",
  scopes: [...DEFAULT_SCOPES],
  cap: "",
  calls: "",
  expiry: { choice: "never", chosenAt: 0, date: "" },
};

export const CreateKeyDialog = ({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (issued: ApiKeyWithSecret) => void;
}) => {
  const { client, environment } = useAccount();
  const formId = useId();
  const [values, setValues] = useState(FIRST);
  const body = fieldsOf(values, null);
  const create = useAction(
    async (request: NonNullable<typeof body>) =>
      (await client.POST("/api/v1/api-keys", { body: { ...request, environment } })).data as ApiKeyWithSecret,
    ["keys", "audit"],
    onCreated,
  );
  // Its outcome is a secret.
  useStay(create.isBusy);
  const fields = create.error ? errorText(create.error).fields : [];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (body) create.run(body);
  };
  return (
    <Dialog
      title="Create an API key"
      onClose={onClose}
      isBusy={create.isBusy}
      isWide
      actions={
        <>
          <Button onClick={onClose} disabled={create.isBusy}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" form={formId} isBusy={create.isBusy} disabled={body === null}>
            Create the {environment} key
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit}>
        {create.error ? <Failure error={create.error} /> : null}
        <p className="mb-4 text-sm">
          <Badge tone={environment === "live" ? "good" : "warn"}>{environment}</Badge>{" "}
          {environment === "live"
            ? "The key works on live avatars and spends live credits."
            : "The key sees only the test environment."}
        </p>
        <KeyFields
          values={values}
          onChange={(change) => setValues((present) => ({ ...present, ...change }))}
          errors={(name) => fields.find((field) => field.name === name)?.detail}
        />
      </form>
    </Dialog>
  );
};
