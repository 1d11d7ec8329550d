/** Starts the dashboard in the browser. */
import "./style.css";
import { type Query, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { isSignedOut } from "./api/client.ts";
import { SESSION } from "./layout/account.tsx";
import { BASE } from "./paths.ts";
import { loadPages, readListAt, router } from "./router.tsx";
import { validateSearch } from "./search.ts";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client has tried again already.
      retry: false,
      staleTime: 10_000,
      networkMode: "always",
    },
  },
  queryCache: new QueryCache({
    onError: (error, { queryKey: [name] }) => {
      // The session has ended: reading it again leads to the sign-in.
      if (name !== "session" && isSignedOut(error)) void queries.invalidateQueries({ queryKey: ["session"] });
    },
  }),
});

// Reads that have failed, or that wait to be tried again, start at once when the connection is back.
addEventListener("online", () => {
  const predicate = (query: Query): boolean =>
    query.state.status === "error" || query.state.fetchStatus === "fetching" || query.isStale();
  void queries.refetchQueries({ type: "active", predicate });
});

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
);

// At once, beside the files of the first page. Pages without a person read no session.
if (!/\/(sign-in|register)$/.test(location.pathname)) void queries.prefetchQuery(SESSION);

// Beside the session: on a slow network, one after the other takes half a second more. What fails is reported by the page.
const path = location.pathname.slice(BASE.length);
readListAt(queries, path, validateSearch(router.latestLocation.search)).catch(() => {});

// After those of the first page: on a slow network they would share its bandwidth.
const stop = router.subscribe("onResolved", () => {
  stop();
  void loadPages();
});
