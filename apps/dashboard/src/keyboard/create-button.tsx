/**
 * The button with which a page creates its objects. It is triggered by a click, by the key `c`, and by a link with
 * `create=true`.
 */
import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "../components/button.tsx";
import { useNavigation, useParameters } from "../layout/navigation.tsx";
import { useSingleKeys } from "./preference.ts";

export const CreateButton = ({ onClick, children }: { onClick: () => void; children: ReactNode }) => {
  const hasKey = useSingleKeys();
  const { create = false } = useParameters();
  const { change } = useNavigation();
  const latest = useRef({ onClick, change });
  useEffect(() => {
    latest.current = { onClick, change };
  });
  useEffect(() => {
    if (!create) return;
    // The link opens the dialog only once, so that a reload or the back button does not open it again.
    latest.current.change({ create: undefined }, true);
    latest.current.onClick();
  }, [create]);
  return (
    <Button kind="primary" onClick={onClick} {...(hasKey && { "aria-keyshortcuts": "c", title: "Shortcut: c" })}>
      {children}
    </Button>
  );
};
