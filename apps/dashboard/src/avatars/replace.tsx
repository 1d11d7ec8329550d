/** Gives an avatar another source, of the kind that it has. */
import type { Avatar } from "@realtime-avatar/client";
import { useId, useState } from "react";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Progress } from "../components/progress.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { SourceDrop } from "./drop.tsx";
import { KIND_NAMES } from "./source.ts";
import { useSource, useUpload } from "./use-source.ts";

export const ReplaceSourceDialog = ({ avatar, onClose }: { avatar: Avatar; onClose: () => void }) => {
  const { client } = useAccount();
  const formId = useId();
  const kinds = [avatar.sourceKind];
  const name = KIND_NAMES[avatar.sourceKind];
  const source = useSource(kinds, avatar.modelId);
  const { usable } = source;
  const { step, setStep, upload } = useUpload();
  const [isSaving, setSaving] = useState(false);
  const replace = useAction(
    async (chosen: NonNullable<typeof usable>) => {
      const sourceAssetId = await upload(chosen);
      setStep({ text: `Setting the ${name}`, share: null });
      setSaving(true);
      try {
        const params = { path: { id: avatar.id } };
        return await client.PATCH("/api/v1/avatars/{id}", { params, body: { sourceAssetId } });
      } finally {
        setSaving(false);
      }
    },
    ["avatars", "audit"],
    onClose,
  );
  return (
    <Dialog
      title={`Another ${name} for ${avatar.displayName}`}
      onClose={onClose}
      isBusy={isSaving}
      actions={
        <>
          <Button onClick={onClose} disabled={isSaving}>
            {replace.isBusy ? "Stop the upload" : "Cancel"}
          </Button>
          <Button kind="primary" type="submit" form={formId} isBusy={replace.isBusy} disabled={usable === null}>
            Use this {name}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        onSubmit={(event) => {
          event.preventDefault();
          if (usable) replace.run(usable);
        }}
      >
        <fieldset disabled={replace.isBusy} className="contents">
          <SourceDrop source={source} kinds={kinds} error={replace.error} isBusy={replace.isBusy} />
        </fieldset>
      </form>
      {replace.isBusy && step && <Progress {...step} />}
    </Dialog>
  );
};
