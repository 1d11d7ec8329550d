/** The pages and their addresses. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from "@tanstack/react-router";
import { Failure } from "./components/state.tsx";
import { HomePage } from "./home/page.tsx";
import { loadPalette } from "./keyboard/keyboard.tsx";
import { NotFoundPage } from "./layout/not-found.tsx";
import { Shell } from "./layout/shell.tsx";
import { BASE } from "./paths.ts";
import { type Search, validateSearch } from "./search.ts";
import { RegisterPage } from "./sign-in/register.tsx";
import { SignInPage } from "./sign-in/sign-in.tsx";

/** Pages in separate files, so that the first load stays small. */
const loadKeys = () => import("./keys/page.tsx");
const loadAvatars = () => import("./avatars/page.tsx");
const loadVideos = () => import("./videos/page.tsx");
const loadUsage = () => import("./usage/page.tsx");
const loadWebhooks = () => import("./webhooks/page.tsx");
const loadAudit = () => import("./audit/page.tsx");
const loadPeople = () => import("./people/page.tsx");

/** Loads all pages, so that each opens at once, also without a connection, or after an update of the service. */
export const loadPages = () =>
  Promise.allSettled(
    [loadKeys, loadAvatars, loadVideos, loadUsage, loadWebhooks, loadAudit, loadPeople, loadPalette].map((load) =>
      load(),
    ),
  );

/** Reads the list of keys or avatars that the page at an address shows. */
export const readListAt = async (queries: QueryClient, path: string, parameters: Search): Promise<void> => {
  if (path === "/keys") await queries.prefetchInfiniteQuery((await loadKeys()).listAt(parameters));
  if (path === "/avatars") await queries.prefetchInfiniteQuery((await loadAvatars()).listAt(parameters));
};

/** An error that no page shows, for example when the file of a page cannot be loaded. */
const PageFailure = ({ error }: { error: unknown }) => <Failure error={error} onRetry={() => location.reload()} />;

const root = createRootRoute({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): Search => validateSearch(search),
});
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const inShell = { getParentRoute: () => shell };

const routeTree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignInPage }),
  createRoute({ getParentRoute: () => root, path: "/register", component: RegisterPage }),
  shell.addChildren([
    createRoute({ ...inShell, path: "/", component: HomePage }),
    createRoute({ ...inShell, path: "/keys", component: lazyRouteComponent(loadKeys, "KeysPage") }),
    createRoute({ ...inShell, path: "/avatars", component: lazyRouteComponent(loadAvatars, "AvatarsPage") }),
    createRoute({ ...inShell, path: "/videos", component: lazyRouteComponent(loadVideos, "VideosPage") }),
    createRoute({ ...inShell, path: "/usage", component: lazyRouteComponent(loadUsage, "UsagePage") }),
    createRoute({ ...inShell, path: "/webhooks", component: lazyRouteComponent(loadWebhooks, "WebhooksPage") }),
    createRoute({ ...inShell, path: "/audit", component: lazyRouteComponent(loadAudit, "AuditPage") }),
    createRoute({ ...inShell, path: "/people", component: lazyRouteComponent(loadPeople, "PeoplePage") }),
    // Any other address.
    createRoute({ ...inShell, path: "$", component: NotFoundPage }),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: BASE,
  defaultErrorComponent: PageFailure,
  defaultNotFoundComponent: NotFoundPage,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
