import type { Avatar } from "@realtime-avatar/client";
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useState } from "react";
import { NoCalls, TryCall } from "../call/try-call.tsx";
import { EndDialog, FormDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { TextField } from "../components/field.tsx";
import { Progress } from "../components/progress.tsx";
import { Prose } from "../components/prose.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Item, Time } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { hasCalls } from "../page-settings.ts";
import { Say } from "../videos/say.tsx";
import { Checks } from "./checks.tsx";
import { isPreparing, STATUS_TONES, statusName, useAvatar } from "./data.ts";
import { Portrait } from "./portrait.tsx";
import { ProgramCall } from "./program-call.tsx";
import { ReplaceSourceDialog } from "./replace.tsx";
import { KIND_NAMES } from "./source.ts";
import { AvatarVoice } from "./voice.tsx";

const REFRESHES = ["avatars", "audit"];

/** A dialog above the details. */
type Above = "replace" | "rename" | "delete";

/** A failed check would fail again, so only another source helps. */
const hasFailedCheck = ({ checks }: Avatar): boolean => checks.some(({ verdict }) => verdict === "fail");

const Actions = ({ avatar, onOpen }: { avatar: Avatar; onOpen: (above: Above) => void }) => {
  const { client } = useAccount();
  const params = { path: { id: avatar.id } };
  const retry = useAction(() => client.POST("/api/v1/avatars/{id}/prepare", { params }), REFRESHES);
  const enable = useAction(
    (status: "ready" | "disabled") => client.PATCH("/api/v1/avatars/{id}", { params, body: { status } }),
    REFRESHES,
  );
  const error = retry.error ?? enable.error;
  const { status, sourceAssetId } = avatar;
  const canRetry = sourceAssetId !== null && status === "failed" && !hasFailedCheck(avatar);
  return (
    <>
      {error ? (
        <div className="w-full">
          <Failure error={error} />
        </div>
      ) : null}
      <Button onClick={() => onOpen("delete")}>Delete</Button>
      <Button onClick={() => onOpen("rename")}>Rename</Button>
      {status === "ready" && (
        <Button isBusy={enable.isBusy} onClick={() => enable.run("disabled")}>
          Disable
        </Button>
      )}
      {status === "disabled" && (
        <Button isBusy={enable.isBusy} onClick={() => enable.run("ready")}>
          Enable
        </Button>
      )}
      <Button kind={status === "failed" && !canRetry ? "primary" : "plain"} onClick={() => onOpen("replace")}>
        {sourceAssetId === null ? "Add a" : "Another"} {KIND_NAMES[avatar.sourceKind]}
      </Button>
      {status === "ready" && <TryCall avatar={avatar} />}
      {canRetry && (
        <Button kind="primary" isBusy={retry.isBusy} onClick={() => retry.run()}>
          Try again
        </Button>
      )}
    </>
  );
};

type AboveProps = { avatar: Avatar; onClose: () => void };

const RenameDialog = ({ avatar, onClose }: AboveProps) => {
  const { client } = useAccount();
  const [name, setName] = useState(avatar.displayName);
  const save = useAction(
    (displayName: string) =>
      client.PATCH("/api/v1/avatars/{id}", { params: { path: { id: avatar.id } }, body: { displayName } }),
    REFRESHES,
    onClose,
  );
  return (
    <FormDialog
      title="Rename the avatar"
      action={save}
      submit="Save the name"
      onSubmit={() => save.run(name.trim())}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={({ target }) => setName(target.value)}
        maxLength={MAX_DISPLAY_NAME_LENGTH}
        required
        data-focus
      />
    </FormDialog>
  );
};

const DeleteDialog = ({ avatar, onClose, onDeleted }: AboveProps & { onDeleted: () => void }) => {
  const { client } = useAccount();
  return (
    <EndDialog
      title={`Delete ${avatar.displayName}`}
      confirm="Delete it for good"
      end={() => client.DELETE("/api/v1/avatars/{id}", { params: { path: { id: avatar.id } } })}
      refreshes={REFRESHES}
      notice={`${avatar.displayName} is deleted.`}
      onEnded={onDeleted}
      onClose={onClose}
    >
      <p>No new call can use the avatar. Its picture is deleted. It cannot be brought back.</p>
    </EndDialog>
  );
};

const Facts = ({ avatar }: { avatar: Avatar }) => {
  const canCreate = useHasRole("developer");
  const { error, checks, status } = avatar;
  const kind = KIND_NAMES[avatar.sourceKind];
  return (
    <>
      <div className="grid gap-5 sm:grid-cols-[11rem_minmax(0,1fr)]">
        <div className="aspect-square w-44 overflow-hidden rounded-xl bg-raised">
          <Portrait avatar={avatar} moves />
        </div>
        <div className="grid content-start gap-3">
          <dl className="flex flex-wrap gap-x-8 gap-y-3">
            <Item name="Status">
              <Badge tone={STATUS_TONES[status]}>{statusName(status)}</Badge>
            </Item>
            <Item name="Built from">a {kind}</Item>
            <Item name="Created">
              <Time at={avatar.createdAt} />
            </Item>
            <Item name="Model">{avatar.modelId}</Item>
          </dl>
          <dl className="grid gap-3">
            <Item name="Id, for calls">
              <Id id={avatar.id} />
            </Item>
            <Item name="Voice">
              <AvatarVoice avatar={avatar} />
            </Item>
          </dl>
        </div>
      </div>
      {isPreparing(avatar) && (
        <div className="mt-4">
          <Progress
            text={`${avatar.pendingSourceAssetId === null ? `The ${kind}` : `A new ${kind}`} is being prepared. It usually takes a few seconds.`}
            share={null}
          />
        </div>
      )}
      {/* The failed checks contain the same information, with measured values. */}
      {error && !hasFailedCheck(avatar) && (
        <p className="mt-4 rounded-lg bg-bad-soft px-3 py-2 text-bad">
          <Prose text={error} />
        </p>
      )}
      {status === "ready" && canCreate && <Say avatar={avatar} />}
      {checks.length > 0 && (
        <section className="mt-5">
          <h3 className="mb-2 font-semibold">Checks of the {kind}</h3>
          <Checks checks={checks} />
        </section>
      )}
      {status === "ready" && (
        <div className="mt-5">
          <NoCalls />
          {hasCalls() && (
            <ProgramCall avatarId={avatar.id} keyText={`a ${avatar.environment} key with realtime:write`} />
          )}
        </div>
      )}
    </>
  );
};

type Props = { id: string; listed: Avatar | undefined; onClose: () => void };

export const AvatarDetails = ({ id, listed, onClose }: Props) => {
  const canWrite = useHasRole("developer");
  const query = useAvatar(id, listed);
  const [above, setAbove] = useState<Above | null>(null);
  const close = () => setAbove(null);
  const avatar = query.data;
  const actions = avatar && canWrite && avatar.status !== "deleted" && <Actions avatar={avatar} onOpen={setAbove} />;
  return (
    <>
      <Dialog title={avatar?.displayName ?? "Avatar"} onClose={onClose} isWide isTall actions={actions}>
        <Loaded query={query} skeleton={<Skeleton label="the avatar" rows={3} />}>
          {(data) => <Facts avatar={data} />}
        </Loaded>
      </Dialog>
      {avatar && above === "replace" && <ReplaceSourceDialog avatar={avatar} onClose={close} />}
      {avatar && above === "rename" && <RenameDialog avatar={avatar} onClose={close} />}
      {avatar && above === "delete" && <DeleteDialog avatar={avatar} onClose={close} onDeleted={onClose} />}
    </>
  );
};
