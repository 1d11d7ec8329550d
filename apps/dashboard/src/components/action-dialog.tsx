/** Dialogs for one action: one button cancels, another runs it. A failure is shown. */
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
  /** The fields of the request that show at their place what is wrong with them. */
  shownFields?: readonly string[];
  /** Whether the form is not complete. */
  isIncomplete?: boolean;
  cancel?: string;
  /** Whether nothing closes the dialog now: by default while the action runs. */
  isHeld?: boolean;
  isWide?: boolean;
  /** Beside the buttons. */
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
  /** The labels of the button that ends the object, and of the one that keeps it. */
  confirm: ReactNode;
  keep?: string;
  isDisabled?: boolean;
  /** The notice after it has ended. */
  notice: string;
  onEnded?: () => void;
};

/** A dialog that asks before something ends for good. */
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
