/** The place of a person who must sign in. The sign-in returns to it. */
import { RETURN_PATHS } from "@realtime-avatar/domain/people/oidc-pages";
import type { Page } from "../layout/navigation.tsx";
import { BASE } from "../paths.ts";
import type { Search } from "../search.ts";

/** The parameters of the pages. */
const KEPT = [
  "environment",
  "key",
  "avatar",
  "video",
  "session",
  "call",
  "endpoint",
  "delivery",
  "tab",
  "days",
  "all",
  "filter",
  "since",
  "until",
  "action",
  "target",
  "actor",
  "status",
  "event",
] as const;

const lastingParameters = (search: Search): Search =>
  Object.fromEntries(KEPT.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])));

/** The parameters of the sign-in page that store this place. `path`: with or without the path of the dashboard. */
export const keepPlace = (path: string, search: Search, hasEnded: boolean): Search => {
  const to = RETURN_PATHS.find((page) => path === page || path === BASE + (page === "/" ? "" : page));
  return { ...(to && { ...lastingParameters(search), to }), ...(hasEnded && { ended: true as const }) };
};

/** The place that the parameters of the sign-in page store. */
export const placeToKeep = ({ to = "/", ...search }: Search): { to: Page; search: Search } => ({
  to,
  search: lastingParameters(search),
});
