/** The signed-in person, and the common parts of all their pages. */
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

/** How often the session is read, because it can end, or the role can change. */
const SESSION_MS = 30_000;

/** The session of the person. */
export const SESSION = { queryKey: ["session"], queryFn: readSession, staleTime: SESSION_MS };

type Props = {
  /** Shown before sign-in, and after the end of a sign-in (`hasEnded`). */
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
