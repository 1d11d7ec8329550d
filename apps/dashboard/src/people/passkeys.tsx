import { MAX_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  addPasskey,
  deletePasskey,
  linkPasskey,
  listPasskeys,
  type Passkey,
  type PasskeyLink,
  renamePasskey,
} from "../api/people.ts";
import { EndDialog, FormDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Menu } from "../components/menu.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, Time } from "../components/text.tsx";
import { useAction } from "../layout/use-action.ts";
import { LinkDialog } from "./invitations.tsx";

const REFRESHES = ["passkeys", "audit"];

/** Names a new passkey, or renames an existing one. */
const NameDialog = ({ passkey, onClose }: { passkey: Passkey | null; onClose: () => void }) => {
  const [name, setName] = useState(passkey?.name ?? "");
  const [controller] = useState(() => new AbortController());
  const save = useAction(
    async (): Promise<unknown> =>
      passkey ? renamePasskey(passkey.id, name.trim()) : addPasskey(name.trim(), controller.signal),
    REFRESHES,
    onClose,
  );
  const cancel = () => {
    controller.abort();
    onClose();
  };
  return (
    <FormDialog
      title={passkey ? "Rename the passkey" : "Add a passkey on this device"}
      action={save}
      submit={passkey ? "Rename" : "Add"}
      onSubmit={() => save.run()}
      onClose={cancel}
      // A device can let its request wait forever, so the dialog can be closed.
      isHeld={passkey !== null && save.isBusy}
    >
      <TextField
        label="Name"
        hint="Such as “Laptop” or “Security key”."
        value={name}
        onChange={({ target }) => setName(target.value)}
        maxLength={MAX_NAME_LENGTH}
        required
        data-focus
      />
    </FormDialog>
  );
};

const DeleteDialog = ({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) => (
  <EndDialog
    title={`Delete the passkey ${passkey.name}`}
    confirm="Delete it for good"
    end={() => deletePasskey(passkey.id)}
    refreshes={REFRESHES}
    notice={`The passkey ${passkey.name} is deleted.`}
    onClose={onClose}
  >
    <p>You can no longer sign in with it, and other sessions that were opened with it end at once.</p>
  </EndDialog>
);

const PasskeyRow = ({
  passkey,
  onRename,
  onDelete,
}: {
  passkey: Passkey;
  onRename: () => void;
  onDelete: () => void;
}) => (
  <li className="border-b border-line py-3 last:border-0">
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-48">
        <p className="truncate font-medium">{passkey.name}</p>
        <p className="text-sm text-muted">
          {passkey.lastUsedAt === null ? "Not used since it was added" : "Used "}
          {passkey.lastUsedAt !== null && <Time at={passkey.lastUsedAt} />}
        </p>
      </div>
      {passkey.isBackedUp && <Badge>synced</Badge>}
      <Menu
        label={`Actions for ${passkey.name}`}
        items={[
          { name: "Rename", label: `Rename ${passkey.name}`, run: onRename },
          { name: "Delete", label: `Delete ${passkey.name}`, run: onDelete, isDestructive: true },
        ]}
      />
    </div>
  </li>
);

export const Passkeys = () => {
  const query = useQuery({ queryKey: ["passkeys"], queryFn: listPasskeys });
  const [named, setNamed] = useState<Passkey | "new" | null>(null);
  const [deleted, setDeleted] = useState<Passkey | null>(null);
  const [link, setLink] = useState<PasskeyLink | null>(null);
  const createLink = useAction(linkPasskey, ["audit"], setLink);
  return (
    <Card
      title="Your passkeys"
      actions={
        <span className="flex flex-wrap gap-2">
          <Button isBusy={createLink.isBusy} onClick={() => createLink.run()}>
            Link for another device
          </Button>
          <Button onClick={() => setNamed("new")}>Add a passkey</Button>
        </span>
      }
    >
      {createLink.error ? <Failure error={createLink.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton label="passkeys" rows={1} />}>
        {(passkeys) => (
          <ul aria-label="Your passkeys">
            {passkeys.map((passkey) => (
              <PasskeyRow
                key={passkey.id}
                passkey={passkey}
                onRename={() => setNamed(passkey)}
                onDelete={() => setDeleted(passkey)}
              />
            ))}
          </ul>
        )}
      </Loaded>
      {named && <NameDialog passkey={named === "new" ? null : named} onClose={() => setNamed(null)} />}
      {deleted && <DeleteDialog passkey={deleted} onClose={() => setDeleted(null)} />}
      {link && (
        <LinkDialog
          title="A passkey on another device"
          url={link.url}
          expiresAt={link.expiresAt}
          text="Open this link on the other device. It adds a passkey of yours there."
          onClose={() => setLink(null)}
        />
      )}
    </Card>
  );
};
