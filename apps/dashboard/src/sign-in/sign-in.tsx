import type { OidcFailure } from "@realtime-avatar/domain/people/oidc-pages";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { beginSignIn, readProvider, signIn } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/state.tsx";
import { PageLink, useNavigation, useParameters } from "../layout/navigation.tsx";
import { EndedNotice } from "./ended.tsx";
import { FAILURE_TEXTS, failureIn } from "./failure.ts";
import { SignInFrame } from "./frame.tsx";
import { ProviderButton, rememberedTenant, rememberTenant } from "./oidc.tsx";
import { placeToKeep } from "./place.ts";

/** The failure with which the provider has redirected back, and a link for a person whose session is still open. */
const ProviderFailure = ({ problem }: { problem: OidcFailure }) => (
  <div role="alert" className="mb-4 rounded-xl border border-bad bg-bad-soft px-4 py-3 text-sm">
    <p className="font-semibold text-bad">Not signed in</p>
    <p className="mt-1">{FAILURE_TEXTS[problem]}</p>
    <p className="mt-1">
      If you were signed in before,{" "}
      <PageLink className="font-medium text-accent underline" to="/people">
        go back to the dashboard
      </PageLink>
      .
    </p>
  </div>
);

/** The sign-in at the provider, if it is configured. The tenant is in the page's address, or stored in this browser. */
const SignInAtProvider = () => {
  const { tenant } = useParameters();
  const [known] = useState(() => tenant ?? rememberedTenant());
  // If the options cannot be read, the passkey is still offered.
  const { data: provider } = useQuery({ queryKey: ["provider"], queryFn: readProvider });
  if (!provider) return null;
  if (known === null) {
    return (
      <p className="mt-5 text-sm text-muted">
        To sign in with {provider.name}, open your team's sign-in address. An owner finds it on the People page.
      </p>
    );
  }
  // Stored only when the button is used, so that a foreign link cannot change it.
  const begin = () => {
    rememberTenant(known);
    return beginSignIn(known);
  };
  return <ProviderButton begin={begin}>{`Sign in with ${provider.name}`}</ProviderButton>;
};

export const SignInPage = () => {
  const queries = useQueryClient();
  const { go } = useNavigation();
  const parameters = useParameters();
  const place = placeToKeep(parameters);
  // The router keeps unknown values of parameters.
  const problem = failureIn(parameters.problem);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      const session = await signIn();
      // The cache can contain data of another person, whose session has ended in this tab.
      queries.clear();
      queries.setQueryData(["session"], session);
      go(place.to, place.search, true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <SignInFrame title="Sign in">
      {error ? <Failure error={error} /> : problem ? <ProviderFailure problem={problem} /> : <EndedNotice />}
      <p className="mb-5 text-muted">Use the passkey that you registered on this device, or one on your phone.</p>
      <Button kind="primary" className="w-full" isBusy={isBusy} onClick={start} autoFocus>
        Sign in with a passkey
      </Button>
      <SignInAtProvider />
      <p className="mt-5 text-sm text-muted">
        No passkey yet? Ask an owner of your team for an invitation. The operator of the service can create one with{" "}
        <code className="text-xs">bun run users invite</code>.
      </p>
    </SignInFrame>
  );
};
