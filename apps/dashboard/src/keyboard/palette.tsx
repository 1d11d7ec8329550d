/** The palette: goes to any page, to any object by its name or its whole id, and to the dialogs that create objects. */
import { MAX_DISPLAY_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { errorText } from "../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { environmentChange } from "../layout/environment.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { type Entry, findEntries, type Target } from "./entries.ts";
import { useFound } from "./use-found.ts";

/** Returns a function that opens the target of an entry. */
const useLead = (onHelp: () => void): ((target: Target) => void) => {
  const { go, change } = useNavigation();
  return (target) => {
    switch (target.kind) {
      case "page":
        go(target.to, target.search);
        break;
      case "environment":
        change(environmentChange(target.environment));
        break;
      case "reference":
        window.open("/docs", "_blank", "noopener");
        return;
      case "shortcuts":
        onHelp();
        return;
    }
    // The element that had the focus before the palette may be gone with its page.
    setTimeout(() => document.getElementById("page")?.focus({ preventScroll: true }));
  };
};

const Option = ({
  entry,
  id,
  isChosen,
  onChoose,
  onSelect,
}: {
  entry: Entry;
  id: string;
  isChosen: boolean;
  onChoose: () => void;
  onSelect: () => void;
}) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and Enter selects the chosen one
  // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus, and names it by aria-activedescendant
  <div
    id={id}
    role="option"
    aria-selected={isChosen}
    onPointerMove={onChoose}
    onClick={onSelect}
    className="flex cursor-pointer scroll-my-1 items-center justify-between gap-4 rounded-lg px-3 py-2 aria-selected:bg-raised"
  >
    <span className="min-w-0 truncate">{entry.name}</span>
    <span className="shrink-0 text-xs text-muted">{entry.group}</span>
  </div>
);

/** The chosen entry, and the handlers of keys in the field. */
const useChoice = (entries: readonly Entry[], listId: string, onSelect: (entry: Entry) => void) => {
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, entries.length - 1);
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [listId, at]);
  const press = (event: KeyboardEvent): void => {
    const entry = entries[at];
    if (event.nativeEvent.isComposing || entry === undefined) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) onSelect(entry);
    else setChosen((at + step + entries.length) % entries.length);
  };
  return { at, setChosen, press };
};

type Props = { text: string; onClose: () => void; onHelp: () => void };

export const Palette = ({ text: first, onClose, onHelp }: Props) => {
  const { environment } = useAccount();
  const reader = { environment, canCreate: useHasRole("developer"), canInvite: useHasRole("owner") };
  const [text, setText] = useState(first);
  const listId = useId();
  const lead = useLead(onHelp);
  const { found, isSearching, error } = useFound(text);
  // Found objects come last, so that the chosen entry keeps its place.
  const entries = [...findEntries(text, reader), ...found];
  const select = ({ target }: Entry): void => {
    onClose();
    lead(target);
  };
  const { at, setChosen, press } = useChoice(entries, listId, select);
  return (
    <Dialog title={`Go to, in ${environment}`} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Page, action, name or id"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `${listId}-${at}` : undefined}
        placeholder="Page, action, name or id"
        autoComplete="off"
        spellCheck={false}
        maxLength={MAX_DISPLAY_NAME_LENGTH}
        data-focus
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setChosen(0);
        }}
        onKeyDown={press}
        className="min-h-10 w-full rounded-lg border border-field bg-surface px-3 py-2 placeholder:text-muted"
      />
      {/* Has a fixed height, so that nothing moves while the person types. */}
      <div id={listId} role="listbox" aria-label="Where to go" className="-mx-2 mt-3 h-80 overflow-y-auto px-1 py-1">
        {entries.map((entry, index) => (
          <Option
            key={JSON.stringify(entry.target)}
            id={`${listId}-${index}`}
            entry={entry}
            isChosen={index === at}
            onChoose={() => setChosen(index)}
            onSelect={() => select(entry)}
          />
        ))}
      </div>
      <p role="status" className="mt-2 min-h-5 text-sm text-muted">
        {error
          ? `Names could not be searched. ${errorText(error).detail}`
          : isSearching
            ? "Searching…"
            : entries.length > 0
              ? `${entries.length} found in the ${environment} environment`
              : `Nothing in the ${environment} environment has this name or id.`}
      </p>
    </Dialog>
  );
};
