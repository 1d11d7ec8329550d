/** Gives an avatar another source of the same kind. */
import type { Avatar } from "@realtime-avatar/client";
import { useState } from "react";
import { FormDialog } from "../components/action-dialog.tsx";
import { Progress } from "../components/progress.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { SourceDrop } from "./drop.tsx";
import { KIND_NAMES } from "./source.ts";
import { useSource, useUpload } from "./use-source.ts";

export const ReplaceSourceDialog = ({ avatar, onClose }: { avatar: Avatar; onClose: () => void }) => {
  const { client } = useAccount();
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
    <FormDialog
      title={`Another ${name} for ${avatar.displayName}`}
      action={replace}
      submit={`Use this ${name}`}
      onSubmit={() => usable && replace.run(usable)}
      isIncomplete={usable === null}
      cancel={replace.isBusy ? "Stop the upload" : "Cancel"}
      onClose={onClose}
      isHeld={isSaving}
    >
      <fieldset disabled={replace.isBusy} className="contents">
        <SourceDrop source={source} kinds={kinds} isBusy={replace.isBusy} />
      </fieldset>
      {replace.isBusy && step && <Progress {...step} />}
    </FormDialog>
  );
};
