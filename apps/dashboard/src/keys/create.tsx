import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
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
  return (
    <FormDialog
      title="Create an API key"
      action={create}
      submit={`Create the ${environment} key`}
      onSubmit={() => body && create.run(body)}
      isIncomplete={body === null}
      onClose={onClose}
      isWide
    >
      <p className="mb-4 text-sm">
        <Badge tone={environment === "live" ? "good" : "warn"}>{environment}</Badge>{" "}
        {environment === "live"
          ? "The key works on live avatars and spends live credits."
          : "The key sees only the test environment."}
      </p>
      <KeyFields
        values={values}
        onChange={(change) => setValues((present) => ({ ...present, ...change }))}
        errors={(name) => fieldError(create.error, name)}
      />
    </FormDialog>
  );
};
