/** The person who is signed in, and what every page of one needs. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { type Environment, isSignedOut } from "../api/client.ts";
import { readSession } from "../api/people.ts";
import { Failure, Skeleton } from "../components/state.tsx";
import { PRODUCT } from "../paths.ts";
import { AccountContext } from "./context.tsx";
import { useParameters } from "./navigation.tsx";
import { NoticeProvider } from "./notices.tsx";
import { VerifiedProvider } from "./verified.tsx";

/** How often the session is read: it can have ended meanwhile, or the role can have changed. */
const SESSION_MS = 30_000;

/** The session of the person. */
export const SESSION = { queryKey: ["session"], queryFn: readSession, staleTime: SESSION_MS };

type Props = {
  /** Shown instead to who is not signed in. `hasEnded`: any more. */
  signedOut: (hasEnded: boolean) => ReactNode;
  children: ReactNode;
};

/** Shows `children` with the account, the notices and the dialog of the passkey. */
export const Account = ({ signedOut, children }: Props) => {
  const parameters = useParameters();
  const environment: Environment = parameters.environment ?? "live";
  const query = useQuery({ ...SESSION, refetchInterval: SESSION_MS });
  const session = query.data;
  const account = useMemo(() => session && { session, environment }, [session, environment]);
  if (isSignedOut(query.error)) return signedOut(session !== undefined);
  if (!account) {
    return (
      <main className="mx-auto max-w-6xl px-4 py-24">
        <h1 className="sr-only">{PRODUCT}</h1>
        {query.error ? (
          <Failure error={query.error} onRetry={() => query.refetch()} />
        ) : (
          <Skeleton label="your account" />
        )}
      </main>
    );
  }
  return (
    <AccountContext value={account}>
      <NoticeProvider>
        <VerifiedProvider>{children}</VerifiedProvider>
      </NoticeProvider>
    </AccountContext>
  );
};
