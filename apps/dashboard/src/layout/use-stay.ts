/** Keeps the person on the page: a link or the back button would lose what only this page has. */
import { useBlocker } from "@tanstack/react-router";

/** While `isActive`, nothing leads to another page, and the browser asks before it leaves the dashboard. */
export const useStay = (isActive: boolean): void => {
  useBlocker({ shouldBlockFn: () => true, enableBeforeUnload: true, disabled: !isActive });
};
