/** The page for an unknown address. */
import { Empty } from "../components/state.tsx";
import { PageHead } from "../components/text.tsx";
import { LINK, PageLink } from "./navigation.tsx";
import { PAGES } from "./pages.ts";

export const NotFoundPage = () => (
  <>
    <PageHead title="Page not found" />
    <Empty
      title="There is nothing at this address"
      action={
        <ul className="flex flex-wrap justify-center gap-x-4 gap-y-2">
          {PAGES.map(([to, name]) => (
            <li key={to}>
              <PageLink to={to} className={LINK}>
                {name}
              </PageLink>
            </li>
          ))}
        </ul>
      }
    >
      The link may be misspelt or cut off. One of these pages may have what you look for.
    </Empty>
  </>
);
