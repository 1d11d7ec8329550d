/** The pages and their addresses. */
import { createRootRoute, createRoute, createRouter, Navigate, Outlet, redirect } from "@tanstack/react-router";
import { AuditPage } from "./audit/page.tsx";
import { AvatarsPage } from "./avatars/page.tsx";
import { KeysPage } from "./keys/page.tsx";
import { Shell } from "./layout/shell.tsx";
import { BASE } from "./paths.ts";
import { PeoplePage } from "./people/page.tsx";
import { type Search, validateSearch } from "./search.ts";
import { RegisterPage } from "./sign-in/register.tsx";
import { SignInPage } from "./sign-in/sign-in.tsx";
import { UsagePage } from "./usage/page.tsx";

const root = createRootRoute({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): Search => validateSearch(search),
});
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const inShell = { getParentRoute: () => shell };

const routeTree = root.addChildren([
  createRoute({
    getParentRoute: () => root,
    path: "/",
    beforeLoad: () => {
      throw redirect({ to: "/keys", search: {} });
    },
  }),
  createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignInPage }),
  createRoute({ getParentRoute: () => root, path: "/register", component: RegisterPage }),
  shell.addChildren([
    createRoute({ ...inShell, path: "/keys", component: KeysPage }),
    createRoute({ ...inShell, path: "/avatars", component: AvatarsPage }),
    createRoute({ ...inShell, path: "/usage", component: UsagePage }),
    createRoute({ ...inShell, path: "/audit", component: AuditPage }),
    createRoute({ ...inShell, path: "/people", component: PeoplePage }),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: BASE,
  defaultNotFoundComponent: () => <Navigate to="/keys" search={{}} replace />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
