/** The frame of all pages of a signed-in person: header, navigation and the present page. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Navigate, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useId, useMemo, useRef } from "react";
import { type Environment, isSignedOut } from "../api/client.ts";
import { readSession, signOut } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Failure, OfflineNotice, Skeleton } from "../components/state.tsx";
import { keepPlace } from "../sign-in/place.ts";
import { AccountContext, useAccount } from "./context.tsx";
import { EnvironmentStrip, EnvironmentSwitch } from "./environment.tsx";
import { LINK, PageLink, useNavigation, useParameters } from "./navigation.tsx";
import { NoticeProvider } from "./notices.tsx";
import { useAction } from "./use-action.ts";
import { useFileDrop } from "./use-file-drop.ts";
import { VerifiedProvider } from "./verified.tsx";

const PAGES = [
  ["/keys", "Keys"],
  ["/avatars", "Avatars"],
  ["/usage", "Usage"],
  ["/webhooks", "Webhooks"],
  ["/audit", "Audit"],
  ["/people", "People"],
] as const;

const Navigation = () => {
  const ref = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // On a phone, they have no room beside each other.
  useEffect(() => {
    ref.current?.querySelector(`[href*="${path}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [path]);
  return (
    <nav ref={ref} aria-label="Pages" className="-mx-1 flex gap-1 overflow-x-auto px-1 py-1">
      {PAGES.map(([to, name]) => (
        <PageLink
          key={to}
          to={to}
          className="rounded-lg px-3 py-1.5 text-sm font-medium text-muted hover:bg-raised aria-[current=page]:bg-raised aria-[current=page]:text-text"
        >
          {name}
        </PageLink>
      ))}
    </nav>
  );
};

/** A new tab: what is open on the page stays. */
const ReferenceLink = () => (
  <a href="/docs" target="_blank" rel="noreferrer" className={LINK}>
    API reference
  </a>
);

/** For a phone, which has no room for a name. */
const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase())
    .join("");

const AccountMenu = () => {
  const { session } = useAccount();
  const id = useId();
  const name = session.user.name || session.user.email;
  const queries = useQueryClient();
  const { go } = useNavigation();
  const leave = useAction(signOut, [], () => {
    queries.clear();
    go("/sign-in", { environment: undefined });
  });
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        className="flex max-w-44 items-center gap-1.5 rounded-lg border border-line px-2.5 py-1.5 text-sm text-muted select-none hover:bg-raised"
      >
        <span className="truncate max-sm:sr-only">{name}</span>
        <span aria-hidden="true" className="sm:hidden">
          {initials(name)}
        </span>
        <span aria-hidden="true" className="text-xs">
          ▾
        </span>
      </button>
      <div
        id={id}
        popover="auto"
        className="fixed inset-auto top-16 right-4 m-0 w-72 rounded-xl border border-line bg-surface p-4 text-sm text-text shadow-xl"
      >
        <p className="font-semibold break-words">{session.user.name}</p>
        <p className="break-words text-muted">{session.user.email}</p>
        <p className="mt-1 text-muted">
          {session.user.role} of {session.tenant.name}
        </p>
        {leave.error ? <Failure error={leave.error} /> : null}
        <p className="mt-3">
          <ReferenceLink />
        </p>
        <Button className="mt-3 w-full" isBusy={leave.isBusy} onClick={() => leave.run()}>
          Sign out
        </Button>
      </div>
    </>
  );
};

const Frame = () => {
  const { environment, session } = useAccount();
  useFileDrop(null);
  return (
    <>
      <a
        href="#page"
        className="sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-10 focus:rounded-lg focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the page
      </a>
      <header className="border-b border-line bg-surface">
        <EnvironmentStrip environment={environment} />
        <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
          <p className="min-w-16 flex-1 basis-0 truncate font-semibold" title={session.tenant.name}>
            {session.tenant.name}
          </p>
          <EnvironmentSwitch environment={environment} />
          <AccountMenu />
          <div className="w-full min-w-0">
            <Navigation />
          </div>
        </div>
      </header>
      <OfflineNotice />
      <main id="page" tabIndex={-1} className="mx-auto max-w-6xl px-4 py-6 outline-none">
        <Outlet />
      </main>
      <footer className="mx-auto max-w-6xl px-4 pb-8 text-sm text-muted">
        How applications call the service: <ReferenceLink />
      </footer>
    </>
  );
};

/** How often the session is read: it can have ended meanwhile, or the role can have changed. */
const SESSION_MS = 30_000;

export const Shell = () => {
  const parameters = useParameters();
  const pathname = useLocation({ select: (location) => location.pathname });
  const environment: Environment = parameters.environment ?? "live";
  const query = useQuery({
    queryKey: ["session"],
    queryFn: readSession,
    staleTime: SESSION_MS,
    refetchInterval: SESSION_MS,
  });
  const session = query.data;
  const account = useMemo(() => session && { session, environment }, [session, environment]);
  if (isSignedOut(query.error)) {
    // The frame is still there for a moment, without the place that the address of the sign-in keeps.
    if (pathname.endsWith("/sign-in")) return null;
    return <Navigate to="/sign-in" search={keepPlace(pathname, parameters, session !== undefined)} replace />;
  }
  if (!account) {
    return (
      <main className="mx-auto max-w-6xl px-4 py-24">
        <h1 className="sr-only">Realtime Avatar Service</h1>
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
        <VerifiedProvider>
          <Frame />
        </VerifiedProvider>
      </NoticeProvider>
    </AccountContext>
  );
};
