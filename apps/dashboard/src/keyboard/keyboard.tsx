/** The shortcuts and their dialogs: the palette, which navigates to any page, and the list of the shortcuts. */
import { createContext, lazy, type ReactNode, Suspense, useContext, useEffect, useMemo, useRef, useState } from "react";
import { useHasRole } from "../layout/context.tsx";
import { ShortcutsDialog } from "./help.tsx";
import { useSingleKeys } from "./preference.ts";
import { findShortcut, keyContext, type Shortcut } from "./shortcuts.ts";

/** Loads the palette: a separate file, loaded after the first page. */
export const loadPalette = () => import("./palette.tsx");
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

/** The open dialog. `text`: the initial text of the palette. */
type Open = { kind: "help" } | { kind: "palette"; text: string };

const KeyboardContext = createContext<(open: Open) => void>(() => {});

/** Returns a function that opens the palette or the list of the shortcuts. */
export const useOpen = (): ((open: Open) => void) => useContext(KeyboardContext);

/** The element of the page with this shortcut. */
const elementOf = (key: string): HTMLElement | null =>
  document.querySelector<HTMLElement>(`#page [aria-keyshortcuts="${CSS.escape(key)}"]`);

const search = (open: (open: Open) => void): void => {
  const field = elementOf("/");
  field?.focus();
  if (field instanceof HTMLInputElement) field.select();
  if (field === null) open({ kind: "palette", text: "" });
};

/** A page without such a button offers what can be created elsewhere. */
const create = (open: (open: Open) => void, canCreate: boolean): void => {
  const button = elementOf("c");
  if (button !== null) button.click();
  else if (canCreate) open({ kind: "palette", text: "Create" });
};

export const KeyboardProvider = ({ children }: { children: ReactNode }) => {
  const [open, setOpen] = useState<Open | null>(null);
  const hasSingleKeys = useSingleKeys();
  const canCreate = useHasRole("developer");
  const latest = useRef({ hasSingleKeys, canCreate });
  useEffect(() => {
    latest.current = { hasSingleKeys, canCreate };
  });
  const actions = useMemo<Record<Shortcut, () => void>>(
    () => ({
      search: () => search(setOpen),
      create: () => create(setOpen, latest.current.canCreate),
      help: () => setOpen({ kind: "help" }),
      palette: () => setOpen({ kind: "palette", text: "" }),
    }),
    [],
  );
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const shortcut = findShortcut(event, keyContext(event, latest.current.hasSingleKeys));
      if (shortcut === null) return;
      event.preventDefault();
      actions[shortcut]();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [actions]);
  const close = () => setOpen(null);
  return (
    <KeyboardContext value={setOpen}>
      {children}
      {open?.kind === "help" && <ShortcutsDialog onClose={close} />}
      {open?.kind === "palette" && (
        <Suspense fallback={null}>
          <Palette text={open.text} onClose={close} onHelp={actions.help} />
        </Suspense>
      )}
    </KeyboardContext>
  );
};
