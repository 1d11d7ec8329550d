/** The setting whether transcripts of calls are kept. An owner changes it, for each environment. */
import { useState } from "react";
import { FormDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useSettings } from "./data.ts";

const SettingDialog = ({ isKept, onClose }: { isKept: boolean; onClose: () => void }) => {
  const { client, environment } = useAccount();
  const save = useAction(
    () => client.PATCH("/api/v1/settings", { body: { keepTranscripts: !isKept } }),
    ["settings", "audit"],
    onClose,
  );
  return (
    <FormDialog
      title={isKept ? "Stop keeping transcripts" : "Keep transcripts"}
      action={save}
      submit={isKept ? "Stop keeping" : "Keep them"}
      onSubmit={() => save.run()}
      onClose={onClose}
    >
      <p>
        {isKept
          ? `Calls of the ${environment} environment that begin from now on leave no transcript. Existing transcripts stay until they are deleted.`
          : `Calls of the ${environment} environment that begin from now on leave an encrypted transcript of what people and avatars say. It is kept for 30 days, unless the operator has set another time. Tell the people who call.`}
      </p>
    </FormDialog>
  );
};

export const KeepTranscripts = () => {
  const { data } = useSettings();
  const isOwner = useHasRole("owner");
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="mb-3 flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      {data && (
        <>
          <p>{data.keepTranscripts ? "Transcripts of calls are kept." : "Transcripts of calls are not kept."}</p>
          {isOwner && (
            <Button onClick={() => setOpen(true)}>{data.keepTranscripts ? "Stop keeping" : "Keep them"}</Button>
          )}
        </>
      )}
      {isOpen && data && <SettingDialog isKept={data.keepTranscripts} onClose={() => setOpen(false)} />}
    </div>
  );
};
