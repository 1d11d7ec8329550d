/** Shows on the sign-in page that the session has ended, if the person did not sign out. */
import { useParameters } from "../layout/navigation.tsx";

export const EndedNotice = () =>
  useParameters().ended && (
    <p role="status" className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      Your session has ended: it was not used for a while, it reached its maximum length, or an owner ended it. Sign in
      again to continue.
    </p>
  );
