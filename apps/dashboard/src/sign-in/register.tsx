import { MAX_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { isProblem } from "../api/client.ts";
import { acceptInvitation, beginAcceptance, readInvitation } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Failure, Skeleton } from "../components/state.tsx";
import { PageLink, useNavigation } from "../layout/navigation.tsx";
import { SignInFrame } from "./frame.tsx";
import { ProviderButton, rememberTenant } from "./oidc.tsx";
import { isSpent, SpentLink } from "./spent-link.tsx";

/** The token is in the fragment of the address, which browsers do not send to servers. */
const readToken = (): string => location.hash.slice(1);

type Registration = Awaited<ReturnType<typeof readInvitation>>;

const Purpose = ({ invitation }: { invitation: Registration }) => {
  const email = <strong className="break-words">{invitation.email}</strong>;
  const tenant = <strong>{invitation.tenant.name}</strong>;
  return invitation.isNewUser ? (
    <p className="mb-4">
      You join {tenant} as <strong>{invitation.role}</strong>, with the address {email}.
    </p>
  ) : (
    <p className="mb-4">
      You add a passkey on this device, for {email} of {tenant}.
    </p>
  );
};

const RegisterForm = ({ token, invitation }: { token: string; invitation: Registration }) => {
  const queries = useQueryClient();
  const { go } = useNavigation();
  const [name, setName] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const { isNewUser: isNew, oidc: provider } = invitation;
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const register = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const session = await acceptInvitation(token, name.trim(), invitation);
      queries.clear();
      queries.setQueryData(["session"], session);
      // Replaces the address with the token, which has been spent.
      go("/", {}, true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  /** A new user needs a name. A member already has one, and an account at the provider needs none. */
  const atProvider = (): Promise<string> | null => {
    if (isNew && !form.current?.reportValidity()) return null;
    rememberTenant(invitation.tenant.id);
    return beginAcceptance(token, isNew ? name.trim() : invitation.email.slice(0, MAX_NAME_LENGTH));
  };
  if (isProblem(error, "invalid_invitation")) return <SpentLink />;
  return (
    <form ref={form} onSubmit={register}>
      {error ? <Failure error={error} /> : null}
      <Purpose invitation={invitation} />
      <TextField
        label={isNew ? "Your name" : "Name of the passkey"}
        hint={isNew ? undefined : "Such as “Phone” or “Security key”."}
        name="name"
        autoComplete={isNew ? "name" : "off"}
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={MAX_NAME_LENGTH}
        required
        autoFocus
      />
      <Button kind="primary" type="submit" className="w-full" isBusy={isBusy}>
        Register a passkey
      </Button>
      {provider && (
        <ProviderButton begin={atProvider}>
          {isNew ? `Join with ${provider.name}` : `Link an account at ${provider.name}`}
        </ProviderButton>
      )}
      <p className="mt-4 text-sm text-muted">
        Your device keeps the passkey. There is no password: it unlocks with your fingerprint, face or PIN.
      </p>
    </form>
  );
};

export const RegisterPage = () => {
  const [token] = useState(readToken);
  const query = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => readInvitation(token),
    enabled: token !== "",
    // The challenge in these options can be used once.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <SignInFrame title="Register">
      {token === "" && (
        <p>
          This page needs an invitation: open the whole link that you were sent. If you have registered already,{" "}
          <PageLink className="font-medium text-accent underline" to="/sign-in">
            sign in
          </PageLink>
          .
        </p>
      )}
      {query.error ? (
        isSpent(query.error) ? (
          <SpentLink />
        ) : (
          <Failure error={query.error} onRetry={() => query.refetch()} />
        )
      ) : null}
      {query.isLoading && <Skeleton label="the invitation" rows={3} />}
      {query.data && <RegisterForm token={token} invitation={query.data} />}
    </SignInFrame>
  );
};
