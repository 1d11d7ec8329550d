import { useId, useRef, useState } from "react";

export type MenuItem = {
  name: string;
  /** For screen readers, if the name alone is ambiguous. */
  label: string;
  run: () => void;
  /** Whether it ends the object permanently. Then it comes last, and is marked. */
  isDestructive?: boolean;
};

const GAP_PX = 4;

/** The actions of a row, behind one button. Escape and a click elsewhere close it. */
export const Menu = ({ label, items }: { label: string; items: readonly MenuItem[] }) => {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  // A closed menu has no content, because a long list has a menu in each row.
  const [isOpen, setOpen] = useState(false);
  /** Below the button, or above it without room below. A popover is placed in the window, not in its row. */
  const place = (): void => {
    if (!button.current || !menu.current) return;
    const { top, bottom, right } = button.current.getBoundingClientRect();
    const { offsetHeight: height, offsetWidth: width, style } = menu.current;
    const isBelow = bottom + GAP_PX + height <= window.innerHeight;
    style.top = `${isBelow ? bottom + GAP_PX : top - GAP_PX - height}px`;
    style.left = `${Math.max(GAP_PX, right - width)}px`;
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        popoverTarget={id}
        aria-label={label}
        className="grid size-9 shrink-0 place-items-center rounded-lg border border-transparent text-muted hover:bg-raised hover:text-text"
      >
        <span aria-hidden="true">⋯</span>
      </button>
      <div
        id={id}
        ref={menu}
        popover="auto"
        onBeforeToggle={({ newState }) => newState === "open" && setOpen(true)}
        onToggle={({ newState }) => (newState === "open" ? place() : setOpen(false))}
        className="fixed inset-auto m-0 min-w-44 rounded-xl border border-line bg-surface p-1 text-sm text-text shadow-xl"
      >
        {(isOpen ? items : []).map(({ name, label: text, run, isDestructive = false }) => (
          <button
            key={name}
            type="button"
            aria-label={text}
            onClick={() => {
              menu.current?.hidePopover();
              run();
            }}
            className={`block w-full rounded-lg px-3 py-1.5 text-left hover:bg-raised ${isDestructive ? "text-bad" : ""}`}
          >
            {name}
          </button>
        ))}
      </div>
    </>
  );
};
