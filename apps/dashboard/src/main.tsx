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
      // The client has already retried.
      retry: false,
      staleTime: 10_000,
      networkMode: "always",
    },
  },
  queryCache: new QueryCache({
    onError: (error, { queryKey: [name] }) => {
      // The session has ended. Reading it again shows the sign-in page.
      if (name !== "session" && isSignedOut(error)) void queries.invalidateQueries({ queryKey: ["session"] });
    },
  }),
});

// Failed and waiting reads start at once when the connection is back.
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

// Starts at once, in parallel with the files of the first page. Pages without a person read no session.
if (!/\/(sign-in|register)$/.test(location.pathname)) void queries.prefetchQuery(SESSION);

// The list of the page is read in parallel with the session: in sequence, both would take half a second longer on a
// slow network. The page reports failures.
const path = location.pathname.slice(BASE.length);
readListAt(queries, path, validateSearch(router.latestLocation.search)).catch(() => {});

// Other pages load after the files of the first page, because on a slow network both would share the bandwidth.
const stop = router.subscribe("onResolved", () => {
  stop();
  void loadPages();
});
