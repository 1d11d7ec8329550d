/** Shown instead of a registration if the link of an invitation is invalid, because a retry would not help. */
import { isProblem } from "../api/client.ts";
import { LINK, PageLink } from "../layout/navigation.tsx";

/** Whether the service refuses the link. */
export const isSpent = (error: unknown): boolean =>
  isProblem(error, "invalid_invitation") || isProblem(error, "validation_failed");

export const SpentLink = () => (
  <>
    <p role="alert" className="mb-3">
      This link is not valid: it was used, withdrawn or has expired. A link works once, for 30 minutes.
    </p>
    <ul className="mb-5 list-disc pl-5 text-muted">
      <li>If you have registered with it, open the dashboard and sign in.</li>
      <li>If not, ask the person who sent it for a new one.</li>
    </ul>
    <PageLink className={`${LINK} underline`} to="/">
      Open the dashboard
    </PageLink>
  </>
);
