import { useState } from "react";
import type { NewInvitation } from "../api/people.ts";
import { PageHead } from "../components/text.tsx";
import { CreateButton } from "../keyboard/create-button.tsx";
import { useHasRole } from "../layout/context.tsx";
import { Identities } from "./identities.tsx";
import { Invitations, InviteDialog, LinkDialog } from "./invitations.tsx";
import { Members } from "./members.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Sessions } from "./sessions.tsx";

export const PeoplePage = () => {
  const isOwner = useHasRole("owner");
  const [isInviting, setInviting] = useState(false);
  const [invited, setInvited] = useState<NewInvitation | null>(null);
  return (
    <>
      <PageHead
        title="People"
        actions={isOwner && <CreateButton onClick={() => setInviting(true)}>Invite a colleague</CreateButton>}
      >
        Members sign in with a passkey or a linked account. When you end a session or remove a member, they are signed
        out at once.
      </PageHead>
      <Members />
      {isOwner && <Invitations onInvited={setInvited} />}
      <Passkeys />
      <Identities />
      <Sessions />
      {isInviting && (
        <InviteDialog
          onClose={() => setInviting(false)}
          onInvited={(invitation) => {
            setInviting(false);
            setInvited(invitation);
          }}
        />
      )}
      {invited && (
        <LinkDialog
          title={`The invitation of ${invited.email}`}
          url={invited.url}
          expiresAt={invited.expiresAt}
          text={`Send this link to ${invited.email}. The first person who registers with it joins as ${invited.role}.`}
          onClose={() => setInvited(null)}
        />
      )}
    </>
  );
};
