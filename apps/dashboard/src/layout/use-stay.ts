/** Keeps the person on the page, because a link or the back button would lose data that only this page has. */
import { useBlocker } from "@tanstack/react-router";

/** While `isActive`, navigation to other pages is blocked. The browser asks before it leaves the dashboard. */
export const useStay = (isActive: boolean): void => {
  useBlocker({ shouldBlockFn: () => true, enableBeforeUnload: true, disabled: !isActive });
};
