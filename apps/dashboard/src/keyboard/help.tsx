/** The list of the shortcuts, and the switch for the single-key shortcuts. */
import { Dialog } from "../components/dialog.tsx";
import { setSingleKeys, useSingleKeys } from "./preference.ts";
import { PALETTE_KEYS } from "./shortcuts.ts";

export const Key = ({ children }: { children: string }) => (
  <kbd className="rounded-md border border-line bg-raised px-1.5 py-0.5 font-mono text-xs whitespace-nowrap text-muted">
    {children}
  </kbd>
);

const TEXTS = [
  ["/", "Search the list of the page"],
  ["c", "Create what the page shows"],
  ["?", "Show these shortcuts"],
] as const;

const Row = ({ name, text }: { name: string; text: string }) => (
  <div className="flex items-center justify-between gap-4 border-b border-line py-2 last:border-0">
    <dt>{text}</dt>
    <dd>
      <Key>{name}</Key>
    </dd>
  </div>
);

export const ShortcutsDialog = ({ onClose }: { onClose: () => void }) => {
  const isOn = useSingleKeys();
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="mb-4">
        <Row name={PALETTE_KEYS} text="Go to any page, key or avatar" />
        {TEXTS.map(([name, text]) => (
          <Row key={name} name={name} text={text} />
        ))}
        <Row name="Esc" text="Close a dialog" />
      </dl>
      <label className="flex cursor-pointer items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5 size-4 accent-fill"
          checked={isOn}
          onChange={({ target }) => setSingleKeys(target.checked)}
        />
        <span>
          Shortcuts of one key
          <span className="block text-muted">
            Turn them off if you speak to your computer, or if your screen reader uses these keys.
          </span>
        </span>
      </label>
    </Dialog>
  );
};
