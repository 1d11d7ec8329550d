import type { Avatar } from "@realtime-avatar/client";
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useEffect, useState } from "react";
import { FormDialog } from "../components/action-dialog.tsx";
import { TextField } from "../components/field.tsx";
import { Progress } from "../components/progress.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { SourceDrop } from "./drop.tsx";
import type { SourceKind } from "./source.ts";
import { useSource, useUpload } from "./use-source.ts";

const KINDS: readonly SourceKind[] = ["image", "video"];

/** The name of an avatar from the name of its file: `ada lovelace` for `ada-lovelace.jpg`. */
const nameOf = (file: File): string =>
  file.name
    .replace(/\.[^.]*$/, "")
    .replaceAll(/[-_]+/g, " ")
    .slice(0, MAX_DISPLAY_NAME_LENGTH);

export const CreateAvatarDialog = ({
  first,
  onClose,
  onCreated,
}: {
  /** A file that was dropped on the page. */
  first: File | null;
  onClose: () => void;
  onCreated: (avatar: Avatar) => void;
}) => {
  const { client, environment } = useAccount();
  const source = useSource(KINDS);
  const { usable, choose } = source;
  // null until the person types a name. Until then, the name of the file is used.
  const [typed, setTyped] = useState<string | null>(null);
  const name = typed ?? (usable ? nameOf(usable.file) : "");
  const { step, setStep, upload } = useUpload();
  const [isCreating, setCreating] = useState(false);
  useEffect(() => {
    if (first) choose(first);
  }, []);
  const create = useAction(
    async (chosen: NonNullable<typeof usable>, displayName: string): Promise<Avatar> => {
      const sourceAssetId = await upload(chosen);
      setStep({ text: "Creating the avatar", share: null });
      setCreating(true);
      try {
        const body = { displayName, sourceKind: chosen.kind, sourceAssetId };
        return (await client.POST("/api/v1/avatars", { body })).data;
      } finally {
        setCreating(false);
      }
    },
    ["avatars", "audit"],
    onCreated,
  );
  return (
    <FormDialog
      title={`Create a ${environment} avatar`}
      action={create}
      submit="Create the avatar"
      onSubmit={() => usable && create.run(usable, name.trim())}
      isIncomplete={usable === null}
      cancel={create.isBusy ? "Stop the upload" : "Cancel"}
      onClose={onClose}
      // Before that, closing the dialog stops the upload, and no avatar is created.
      isHeld={isCreating}
    >
      <fieldset disabled={create.isBusy} className="contents">
        <SourceDrop source={source} kinds={KINDS} isBusy={create.isBusy} />
        <TextField
          label="Name"
          value={name}
          onChange={(event) => setTyped(event.target.value)}
          maxLength={MAX_DISPLAY_NAME_LENGTH}
          required
        />
      </fieldset>
      {create.isBusy && step && <Progress {...step} />}
    </FormDialog>
  );
};
