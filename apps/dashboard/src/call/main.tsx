/**
 * Starts the page of calls. It is a separate document, because only its policy allows LiveKit, and only it loads
 * LiveKit's client.
 */
import "../style.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { OfflineNotice } from "../components/state.tsx";
import { Account } from "../layout/account.tsx";
import { LINK, useParameters } from "../layout/navigation.tsx";
import { BASE } from "../paths.ts";
import { type Search, validateSearch } from "../search.ts";
import { CallPage } from "./page.tsx";

/** After the sign-in, the person gets to the avatar, whose page links here. */
const SignedOut = () => {
  const { avatar, environment } = useParameters();
  const place = new URLSearchParams({ to: "/avatars", ...(avatar && { avatar }), ...(environment && { environment }) });
  return (
    <main className="mx-auto max-w-4xl px-4 py-24 text-center">
      <h1 className="text-2xl font-semibold">Try a call</h1>
      <p className="mt-3">
        <a href={`${BASE}/sign-in?${place}`} className={LINK}>
          Sign in
        </a>{" "}
        to call an avatar.
      </p>
    </main>
  );
};

const Page = () => (
  <Account signedOut={() => <SignedOut />}>
    <OfflineNotice />
    <CallPage />
  </Account>
);

const queries = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
const router = createRouter({
  routeTree: createRootRoute({
    component: Page,
    notFoundComponent: Page,
    validateSearch: (search: Record<string, unknown>): Search => validateSearch(search),
  }),
  basepath: BASE,
});

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router as never} />
  </QueryClientProvider>,
);
