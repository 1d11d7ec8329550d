import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  beginIdentity,
  type Identity,
  listIdentities,
  type Provider,
  readProvider,
  unlinkIdentity,
} from "../api/people.ts";
import { EndDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { CopyText } from "../components/copy.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Card, Time } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { BASE } from "../paths.ts";

const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : issuer);

const nameOf = ({ subject, issuer }: Identity): string => `${subject} at ${hostOf(issuer)}`;

const UnlinkDialog = ({ identity, onClose }: { identity: Identity; onClose: () => void }) => (
  <EndDialog
    title={`Unlink the account ${nameOf(identity)}`}
    confirm="Unlink it"
    end={() => unlinkIdentity(identity.id)}
    refreshes={["identities", "sessions", "audit"]}
    notice={`The account ${nameOf(identity)} is unlinked.`}
    onClose={onClose}
  >
    <p>You can no longer sign in with it, and other sessions that were opened with it end at once.</p>
  </EndDialog>
);

const IdentityRow = ({ identity, onUnlink }: { identity: Identity; onUnlink: () => void }) => (
  <li className="border-b border-line py-3 last:border-0">
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-48">
        <p className="truncate font-medium">{nameOf(identity)}</p>
        <p className="text-sm text-muted">
          {identity.lastUsedAt === null ? "Not used since it was linked" : "Used "}
          {identity.lastUsedAt !== null && <Time at={identity.lastUsedAt} />}
        </p>
      </div>
      <Button onClick={onUnlink} aria-label={`Unlink ${nameOf(identity)}`}>
        Unlink
      </Button>
    </div>
  </li>
);

const LinkButton = ({ provider }: { provider: Provider }) => {
  const link = useAction(beginIdentity, [], (url) => location.assign(url));
  return (
    <>
      {link.error ? <Failure error={link.error} /> : null}
      <Button isBusy={link.isBusy} onClick={() => link.run()}>
        Link an account at {provider.name}
      </Button>
    </>
  );
};

/** The person's accounts at the provider. Not shown without a provider and without identities. */
export const Identities = () => {
  const isOwner = useHasRole("owner");
  const { session } = useAccount();
  const [unlinked, setUnlinked] = useState<Identity | null>(null);
  const query = useQuery({ queryKey: ["identities"], queryFn: listIdentities });
  const provider = useQuery({
    queryKey: ["provider"],
    queryFn: readProvider,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  if (!provider && !query.data?.length) return null;
  return (
    <Card title="Your linked accounts" actions={provider && <LinkButton provider={provider} />}>
      <Loaded query={query} skeleton={<Skeleton label="linked accounts" rows={1} />}>
        {(identities) =>
          identities.length === 0 ? (
            <p className="text-muted">None. With a linked account, you sign in without a passkey too.</p>
          ) : (
            <ul aria-label="Your linked accounts">
              {identities.map((identity) => (
                <IdentityRow key={identity.id} identity={identity} onUnlink={() => setUnlinked(identity)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {provider && isOwner && (
        <div className="mt-4">
          <CopyText
            label={`Address at which members sign in with ${provider.name}`}
            text={`${location.origin}${BASE}/sign-in?tenant=${session.tenant.id}`}
          />
        </div>
      )}
      {unlinked && <UnlinkDialog identity={unlinked} onClose={() => setUnlinked(null)} />}
    </Card>
  );
};
