/** Navigates between the pages and keeps the environment. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Search } from "../search.ts";
import type { PAGES } from "./pages.ts";

export type Page = (typeof PAGES)[number][0] | "/sign-in";

/** New values of parameters; undefined removes one. */
export type SearchChange = { [Name in keyof Search]?: Search[Name] | undefined };

const apply = (present: Search, change: SearchChange): Search =>
  Object.fromEntries(Object.entries({ ...present, ...change }).filter(([, value]) => value !== undefined));

export const useParameters = (): Search => useSearch({ strict: false });

/** Returns functions that go to another page, and that change the parameters of the current one. */
export const useNavigation = () => {
  const navigate = useNavigate();
  const { environment } = useParameters();
  return {
    /** Opens a page. `isReplacing`: replaces the current address in the history. */
    go: (to: Page, search: SearchChange = {}, isReplacing = false) =>
      void navigate({ to, search: apply({ ...(environment && { environment }) }, search), replace: isReplacing }),
    change: (change: SearchChange, isReplacing = false) =>
      void navigate({
        to: ".",
        search: ((present: Search) => apply(present, change)) as never,
        replace: isReplacing,
        // The page stays the same, so `useStay` must not block it.
        ignoreBlocker: true,
      }),
  };
};

type Props = { to: Page; search?: SearchChange; className?: string; children: ReactNode };

export const PageLink = ({ to, search = {}, className, children }: Props) => {
  const { environment } = useParameters();
  return (
    <Link
      to={to}
      search={apply({ ...(environment && { environment }) }, search)}
      className={className}
      // All addresses begin with the address of the home page.
      {...(to === "/" && { activeOptions: { exact: true, includeSearch: false } })}
    >
      {children}
    </Link>
  );
};

/** The style of a link within a text. */
export const LINK = "font-medium text-accent underline-offset-4 hover:underline";

/** The position of the page: a line of links to the pages above it, and its name. */
export const Breadcrumbs = ({ title, above }: { title: string; above: readonly (readonly [Page, string])[] }) => (
  // On a phone, the navigation already shows the position of pages directly below the home page.
  <nav aria-label="Breadcrumb" className={`mb-1.5 text-sm text-muted ${above.length === 1 ? "max-sm:hidden" : ""}`}>
    <ol className="flex min-w-0 gap-1.5">
      {above.map(([to, name]) => (
        <li key={to} className="flex shrink-0 gap-1.5">
          <PageLink to={to} className="rounded-sm underline-offset-4 hover:text-text hover:underline">
            {name}
          </PageLink>
          <span aria-hidden="true">/</span>
        </li>
      ))}
      <li aria-current="page" className="truncate text-text">
        {title}
      </li>
    </ol>
  </nav>
);
