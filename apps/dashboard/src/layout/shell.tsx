/** The frame of all pages of a signed-in person: header, navigation and the current page. */
import { useQueryClient } from "@tanstack/react-query";
import { Navigate, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useId, useRef } from "react";
import { signOut } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Failure, OfflineNotice } from "../components/state.tsx";
import { KeyboardProvider, useOpen } from "../keyboard/keyboard.tsx";
import { IS_MAC, PALETTE_KEYS } from "../keyboard/shortcuts.ts";
import { PRODUCT } from "../paths.ts";
import { keepPlace } from "../sign-in/place.ts";
import { Account } from "./account.tsx";
import { Sign } from "./brand.tsx";
import { useAccount } from "./context.tsx";
import { EnvironmentStrip, EnvironmentSwitch } from "./environment.tsx";
import { LINK, PageLink, useNavigation, useParameters } from "./navigation.tsx";
import { PAGES } from "./pages.ts";
import { useAction } from "./use-action.ts";
import { useFileDrop } from "./use-file-drop.ts";

const Navigation = () => {
  const ref = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // On a phone, not all links fit, so the navigation is scrolled to the current page.
  useEffect(() => {
    ref.current?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
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

/** The logo and the name of the product, with a link to the home page, and the tenant. */
const Brand = () => {
  const { session } = useAccount();
  return (
    <div className="flex min-w-0 flex-1 basis-0 items-center gap-2.5">
      <PageLink to="/" className="flex shrink-0 items-center gap-2.5 rounded-lg">
        <Sign />
        <span className="font-semibold tracking-tight max-md:sr-only">{PRODUCT}</span>
      </PageLink>
      <span aria-hidden="true" className="text-field">
        /
      </span>
      <p className="min-w-0 truncate text-sm font-medium text-muted" title={session.tenant.name}>
        {session.tenant.name}
      </p>
    </div>
  );
};

const SearchButton = () => {
  const open = useOpen();
  return (
    <button
      type="button"
      onClick={() => open({ kind: "palette", text: "" })}
      aria-keyshortcuts={IS_MAC ? "Meta+K" : "Control+K"}
      className="flex min-h-9 shrink-0 items-center gap-2 rounded-lg border border-line px-2.5 text-sm text-muted select-none hover:bg-raised"
    >
      <svg aria-hidden="true" viewBox="0 0 16 16" className="size-4 fill-none stroke-current stroke-[1.6]">
        <circle cx="7" cy="7" r="4.5" />
        <path d="m10.5 10.5 3.5 3.5" strokeLinecap="round" />
      </svg>
      <span className="max-lg:sr-only">
        Go to<span className="sr-only"> a page, a key or an avatar</span>
      </span>
      <span aria-hidden="true" className="rounded border border-line px-1 text-xs max-lg:hidden">
        {PALETTE_KEYS}
      </span>
    </button>
  );
};

/** Opens in a new tab, so that the current page stays open. */
const ReferenceLink = () => (
  <a href="/docs" target="_blank" rel="noreferrer" className={LINK}>
    API reference
  </a>
);

/** For a phone, where the whole name does not fit. */
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
  const open = useOpen();
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
        <p className="mt-1">
          <button type="button" className={LINK} onClick={() => open({ kind: "help" })}>
            Keyboard shortcuts
          </button>
        </p>
        <Button className="mt-3 w-full" isBusy={leave.isBusy} onClick={() => leave.run()}>
          Sign out
        </Button>
      </div>
    </>
  );
};

const Frame = () => {
  const { environment } = useAccount();
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
        <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-2 gap-y-1 px-4 py-2 sm:gap-x-3">
          <Brand />
          <SearchButton />
          <EnvironmentSwitch environment={environment} />
          <AccountMenu />
          <div className="w-full min-w-0">
            <Navigation />
          </div>
        </div>
      </header>
      <OfflineNotice />
      <main
        id="page"
        tabIndex={-1}
        className="mx-auto min-h-[calc(100dvh-12rem)] max-w-6xl px-4 py-4 outline-none sm:py-6"
      >
        <Outlet />
      </main>
      <footer className="mx-auto max-w-6xl px-4 pb-8 text-sm text-muted">
        How applications call the service: <ReferenceLink />
      </footer>
    </>
  );
};

export const Shell = () => {
  const parameters = useParameters();
  const pathname = useLocation({ select: (location) => location.pathname });
  const signedOut = (hasEnded: boolean) =>
    // After a sign-out, the frame is shown for a moment longer. The address of the sign-in page must not be kept as a
    // place.
    pathname.endsWith("/sign-in") ? null : (
      <Navigate to="/sign-in" search={keepPlace(pathname, parameters, hasEnded)} replace />
    );
  return (
    <Account signedOut={signedOut}>
      <KeyboardProvider>
        <Frame />
      </KeyboardProvider>
    </Account>
  );
};
