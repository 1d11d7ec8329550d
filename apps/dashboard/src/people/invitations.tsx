import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fieldError, isProblem } from "../api/client.ts";
import {
  type Invitation,
  invite,
  listInvitations,
  type NewInvitation,
  ROLES,
  type Role,
  withdrawInvitation,
} from "../api/people.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { CopyText } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Options, SelectField, TextField } from "../components/field.tsx";
import { Menu } from "../components/menu.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Card, Time } from "../components/text.tsx";
import { dateTime } from "../format.ts";
import { useNotify } from "../layout/notices.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { REFRESH_MS } from "./refresh.ts";

/** The possible lifetimes of a link, in seconds. */
export const LIFETIMES = { 1800: "30 minutes", 86400: "A day", 259200: "3 days", 604800: "7 days" } as const;
const DAY_SECONDS = 86_400;

const REFRESHES = ["invitations", "audit"];

export const ROLE_TEXTS: Record<Role, string> = {
  owner: "Does everything, and manages people.",
  developer: "Creates and ends keys, avatars and files.",
  viewer: "Sees everything, and changes nothing.",
};

/** Whether the address is valid only on this computer. */
const isLocal = (url: string): boolean => /^(localhost|127\..*|\[::1\])$/.test(new URL(url).hostname);

/** Shows a link, which is never shown again. */
export const LinkDialog = ({
  title,
  url,
  expiresAt,
  text,
  onClose,
}: {
  title: string;
  url: string;
  expiresAt: string;
  text: string;
  onClose: () => void;
}) => {
  useStay(true);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isFirm
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p className="mb-4">{text} It is not shown again: copy it now.</p>
      {isLocal(url) && (
        <p className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
          The link works only on the computer on which the service runs. For other devices, the operator sets{" "}
          <code>PUBLIC_URL</code> to an https address.
        </p>
      )}
      <CopyText label={`Link, valid once, until ${dateTime(expiresAt)}`} text={url} />
    </Dialog>
  );
};

export const InviteDialog = ({
  onClose,
  onInvited,
}: {
  onClose: () => void;
  onInvited: (invitation: NewInvitation) => void;
}) => {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const [lifetimeSeconds, setLifetime] = useState(DAY_SECONDS);
  const send = useAction(() => invite({ email: email.trim(), role, lifetimeSeconds }), REFRESHES, onInvited);
  return (
    <FormDialog
      title="Invite a colleague"
      action={send}
      submit="Create the link"
      onSubmit={() => send.run()}
      shownFields={["email"]}
      onClose={onClose}
    >
      <TextField
        label="E-mail address"
        type="email"
        hint="The service sends no mail: you get a link, and pass it on."
        value={email}
        onChange={({ target }) => setEmail(target.value)}
        error={fieldError(send.error, "email")}
        required
        data-focus
      />
      <SelectField
        label="Role"
        value={role}
        onChange={({ target }) => setRole(target.value as Role)}
        hint={ROLE_TEXTS[role]}
      >
        {ROLES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      <SelectField
        label="The link is valid for"
        value={lifetimeSeconds}
        onChange={({ target }) => setLifetime(Number(target.value))}
      >
        <Options of={Object.entries(LIFETIMES)} />
      </SelectField>
    </FormDialog>
  );
};

type OnInvited = (invitation: NewInvitation) => void;

/** The lifetime of a new link is the same as that of the first. */
const lifetimeOf = ({ createdAt, expiresAt }: Invitation): number =>
  Math.round((new Date(expiresAt).getTime() - new Date(createdAt).getTime()) / 1000);

const InvitationRow = ({ invitation, onInvited }: { invitation: Invitation; onInvited: OnInvited }) => {
  const notify = useNotify();
  const { email, role } = invitation;
  const withdraw = useAction(
    async () => {
      try {
        await withdrawInvitation(invitation.id);
        return `The invitation of ${invitation.email} is withdrawn: its link no longer works.`;
      } catch (error) {
        // The list can be outdated, because it is read at intervals. The person can have joined meanwhile.
        if (!isProblem(error, "not_found")) throw error;
        return `The invitation of ${invitation.email} is not open any more: it was accepted or withdrawn, or has expired.`;
      }
    },
    [...REFRESHES, "users"],
    (text) => notify(text, { takesFocus: true }),
  );
  const renew = useAction(() => invite({ email, role, lifetimeSeconds: lifetimeOf(invitation) }), REFRESHES, onInvited);
  const error = withdraw.error ?? renew.error;
  return (
    <li className="border-b border-line py-3 last:border-0">
      {error ? <Failure error={error} /> : null}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 basis-56 truncate">{invitation.email}</p>
        <Badge>{invitation.role}</Badge>
        <p className="text-sm text-muted">
          Expires <Time at={invitation.expiresAt} />
        </p>
        <Menu
          label={`Actions for ${email}`}
          items={[
            { name: "New link", label: `New link for ${email}`, run: () => renew.run() },
            {
              name: "Withdraw",
              label: `Withdraw the invitation of ${email}`,
              run: () => withdraw.run(),
              isDestructive: true,
            },
          ]}
        />
      </div>
    </li>
  );
};

export const Invitations = ({ onInvited }: { onInvited: OnInvited }) => {
  const query = useQuery({ queryKey: ["invitations"], queryFn: listInvitations, refetchInterval: REFRESH_MS });
  return (
    <Card title="Open invitations">
      <Loaded query={query} skeleton={<Skeleton label="invitations" rows={1} />}>
        {(invitations) =>
          invitations.length === 0 ? (
            <p className="text-muted">None. An invitation is a link that works once.</p>
          ) : (
            <ul aria-label="Open invitations">
              {invitations.map((invitation) => (
                <InvitationRow key={invitation.id} invitation={invitation} onInvited={onInvited} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
};
