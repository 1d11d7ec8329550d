/** Short messages about completed actions. They disappear by themselves. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";

/** Long enough to read a sentence twice. */
const SHOWN_MS = 8000;

type Notice = { text: string; takesFocus: boolean };
/**
 * `takesFocus`: moves the focus to the page, because the element with the focus is removed, such as the row of a
 * revoked key.
 */
type Notify = (text: string, options?: { takesFocus: boolean }) => void;

const NoticeContext = createContext<Notify>(() => {});

/** Returns a function that shows a message. */
export const useNotify = (): Notify => useContext(NoticeContext);

export const NoticeProvider = ({ children }: { children: ReactNode }) => {
  const [notice, setNotice] = useState<Notice | null>(null);
  const notify = useCallback<Notify>(
    (text, { takesFocus } = { takesFocus: false }) => setNotice({ text, takesFocus }),
    [],
  );
  useEffect(() => {
    if (notice === null) return;
    // Runs after the dialog has returned the focus to its opener.
    if (notice.takesFocus) document.getElementById("page")?.focus({ preventScroll: true });
    const timer = setTimeout(() => setNotice(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <NoticeContext value={notify}>
      {children}
      <div role="status" className="pointer-events-none fixed inset-x-4 bottom-4 z-10 grid justify-items-center">
        {notice && (
          <p className="max-w-lg rounded-xl border border-line bg-surface px-4 py-3 text-sm break-words shadow-xl">
            {notice.text}
          </p>
        )}
      </div>
    </NoticeContext>
  );
};
