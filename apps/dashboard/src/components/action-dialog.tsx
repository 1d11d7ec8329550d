/** Dialogs for one action: one button cancels it, another runs it. Failures are shown. */
import { type ReactNode, useId } from "react";
import { useNotify } from "../layout/notices.tsx";
import { type Action, useAction } from "../layout/use-action.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./state.tsx";

type Props = { title: string; onClose: () => void; children: ReactNode };

type FormProps = Props & {
  action: Pick<Action<never>, "isBusy" | "error">;
  /** The label of the button that sends the form. */
  submit: ReactNode;
  onSubmit: () => void;
  /** The fields that show their own errors. */
  shownFields?: readonly string[];
  /** Whether the form is incomplete. */
  isIncomplete?: boolean;
  cancel?: string;
  /** Whether the dialog cannot be closed now. Default: while the action runs. */
  isHeld?: boolean;
  isWide?: boolean;
  /** Content beside the buttons. */
  aside?: ReactNode;
};

/** A dialog with a form. */
export const FormDialog = ({
  action: { isBusy, error },
  submit,
  onSubmit,
  shownFields = [],
  isIncomplete = false,
  cancel = "Cancel",
  isHeld = isBusy,
  aside,
  children,
  ...dialog
}: FormProps) => {
  const formId = useId();
  return (
    <Dialog
      {...dialog}
      isBusy={isHeld}
      actions={
        <>
          {aside}
          <Button onClick={dialog.onClose} disabled={isHeld}>
            {cancel}
          </Button>
          <Button kind="primary" type="submit" form={formId} isBusy={isBusy} disabled={isIncomplete}>
            {submit}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isIncomplete) onSubmit();
        }}
      >
        {error ? <Failure error={error} shownFields={shownFields} /> : null}
        {children}
      </form>
    </Dialog>
  );
};

type EndProps = Props & {
  end: () => Promise<unknown>;
  refreshes: readonly string[];
  /** The label of the button that ends the object, and of the button that keeps it. */
  confirm: ReactNode;
  keep?: string;
  isDisabled?: boolean;
  /** The notice after it has ended. */
  notice: string;
  onEnded?: () => void;
};

/** A dialog that asks for confirmation before an object is ended permanently. */
export const EndDialog = ({
  end,
  refreshes,
  confirm,
  keep = "Keep it",
  isDisabled = false,
  notice,
  onEnded,
  children,
  ...dialog
}: EndProps) => {
  const notify = useNotify();
  const { run, isBusy, error } = useAction(end, refreshes, () => {
    (onEnded ?? dialog.onClose)();
    notify(notice, { takesFocus: true });
  });
  return (
    <Dialog
      {...dialog}
      isBusy={isBusy}
      actions={
        <>
          <Button onClick={dialog.onClose} disabled={isBusy} data-focus>
            {keep}
          </Button>
          <Button kind="danger" isBusy={isBusy} disabled={isDisabled} onClick={() => run()}>
            {confirm}
          </Button>
        </>
      }
    >
      {error ? <Failure error={error} /> : null}
      {children}
    </Dialog>
  );
};
