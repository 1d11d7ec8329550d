import { type ReactNode, useEffect, useId, useRef } from "react";

type Props = {
  title: string;
  /** Called when the person closes the dialog with Escape or its close button. */
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the end. */
  actions?: ReactNode;
  /** Whether only a button of `actions` closes it, for example for a secret that is shown once. */
  isFirm?: boolean;
  /**
   * While an action of the dialog runs, the person cannot close it, so that the outcome stays visible. The action can
   * close the dialog itself.
   */
  isBusy?: boolean;
  isWide?: boolean;
  /** Keeps its height while its content changes, so that nothing in it moves. */
  isTall?: boolean;
};

/**
 * The first control of a form. The close button must not be the first control, because Enter would close the dialog.
 */
const FIRST_CONTROL = "form input:not(:disabled), form select, form textarea";

/**
 * A modal dialog. It is open while it is rendered. The focus goes to the element with `data-focus`, else to the first
 * field, else to the title. At the end, the focus returns to its previous place.
 */
export const Dialog = ({
  title,
  onClose,
  children,
  actions,
  isFirm = false,
  isBusy = false,
  isWide = false,
  isTall = false,
}: Props) => {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const isHeld = isFirm || isBusy;
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    const find = (selector: string) => dialog?.querySelector<HTMLElement>(selector);
    (find("[data-focus]") ?? find(FIRST_CONTROL) ?? find("h2"))?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      // The element that opened the dialog is gone, such as the row of a revoked key.
      else document.getElementById("page")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        if (!isHeld) onClose();
      }}
      // Browsers close a dialog at the second Escape, even if the first was prevented.
      onClose={({ target, currentTarget }) => {
        if (target !== currentTarget || !currentTarget.isConnected) return;
        if (isHeld) currentTarget.showModal();
        else onClose();
      }}
      className={`m-auto max-h-[92dvh] w-[calc(100vw-1.5rem)] overflow-y-auto rounded-2xl border border-line bg-surface p-0 text-text shadow-2xl ${isWide ? "max-w-3xl" : "max-w-lg"} ${isTall ? "h-[min(42rem,92dvh)]" : ""}`}
    >
      <div className={isTall ? "flex min-h-full flex-col" : undefined}>
        <div className="flex items-start justify-between gap-4 px-5 pt-5">
          <h2 id={titleId} tabIndex={-1} className="min-w-0 text-lg font-semibold break-words outline-none">
            {title}
          </h2>
          {!isFirm && (
            <button
              type="button"
              onClick={onClose}
              disabled={isBusy}
              aria-label="Close"
              className="-m-1 grid size-8 place-items-center rounded-lg text-muted hover:bg-raised disabled:opacity-50"
            >
              <span aria-hidden="true">✕</span>
            </button>
          )}
        </div>
        <div className="grow px-5 py-4">{children}</div>
        {actions && (
          <div className="sticky bottom-0 flex flex-wrap justify-end gap-2 border-t border-line bg-surface px-5 py-3">
            {actions}
          </div>
        )}
      </div>
    </dialog>
  );
};
