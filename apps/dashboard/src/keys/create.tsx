import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { CopyText } from "../components/copy.tsx";
import { Badge } from "../components/text.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { KeyFields, parseFields, SHOWN_FIELDS, type Values } from "./fields.tsx";
import { PRESETS, type Preset } from "./presets.ts";

const Presets = ({ value, onChange }: { value: Preset; onChange: (preset: Preset) => void }) => (
  <fieldset className="mb-4">
    <legend className="mb-1 text-sm font-medium">What it is for</legend>
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-4">
      {(Object.keys(PRESETS) as Preset[]).map((preset) => (
        <label
          key={preset}
          className="flex cursor-pointer items-start gap-2 rounded-lg border border-line px-3 py-2 text-sm has-checked:border-accent has-checked:bg-raised"
        >
          <input
            type="radio"
            name="preset"
            className="mt-0.5 size-4 shrink-0 accent-fill"
            checked={preset === value}
            onChange={() => onChange(preset)}
          />
          <span className="min-w-0">
            <span className="block font-medium">{PRESETS[preset].title}</span>
            <span className="hidden text-muted sm:block">{PRESETS[preset].text}</span>
          </span>
        </label>
      ))}
    </div>
    <p className="mt-1 text-sm text-muted sm:hidden">{PRESETS[value].text}</p>
  </fieldset>
);

/** People cannot grant `usage:write`. */
const EngineNote = ({ tenantId, environment }: { tenantId: string; environment: string }) => (
  <CopyText
    label="An engine that reports usage needs usage:write. The operator creates its key instead:"
    text={`bun run keys create --tenant ${tenantId} --name engine --environment ${environment} --scopes avatars:read,usage:read,usage:write`}
  />
);

export const CreateKeyDialog = ({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (issued: ApiKeyWithSecret) => void;
}) => {
  const { client, environment, session } = useAccount();
  const [preset, setPreset] = useState<Preset>("server");
  const [values, setValues] = useState<Values>(() => ({ name: "", ...PRESETS.server.values() }));
  const choose = (chosen: Preset) => {
    setPreset(chosen);
    setValues(({ name }) => ({ name, ...PRESETS[chosen].values() }));
  };
  const body = parseFields(values, null);
  const create = useAction(
    async (request: NonNullable<typeof body>) =>
      (await client.POST("/api/v1/api-keys", { body: { ...request, environment } })).data as ApiKeyWithSecret,
    ["keys", "audit"],
    onCreated,
  );
  // The result contains a secret, so the person must stay on the page.
  useStay(create.isBusy);
  return (
    <FormDialog
      title="Create an API key"
      action={create}
      submit={`Create the ${environment} key`}
      onSubmit={() => body && create.run(body)}
      shownFields={SHOWN_FIELDS}
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
      <Presets value={preset} onChange={choose} />
      {preset === "engine" && <EngineNote tenantId={session.user.tenantId} environment={environment} />}
      <KeyFields
        values={values}
        onChange={(change) => setValues((present) => ({ ...present, ...change }))}
        errors={(name) => fieldError(create.error, name)}
      />
    </FormDialog>
  );
};
