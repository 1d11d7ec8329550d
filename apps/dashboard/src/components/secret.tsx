import type { ReactNode } from "react";
import { useStay } from "../layout/use-stay.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

/**
 * Shows a secret, which is never shown again. Escape and the back button do not close it. The browser asks before it
 * leaves the page.
 */
export const SecretDialog = ({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}) => {
  useStay(true);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isFirm
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <p className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
        This is the only time that the secret is shown. Store it where your application reads its secrets.
      </p>
      {children}
    </Dialog>
  );
};
