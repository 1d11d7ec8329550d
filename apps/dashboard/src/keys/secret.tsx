import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { CopyText } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { useStay } from "../layout/use-stay.ts";

/** A call that every key may make. */
const curlLine = (secret: string): string =>
  `curl -sS ${location.origin}/api/v1/api-keys/self -H "Authorization: Bearer ${secret}"`;

/**
 * Shows the secret of a new or rotated key, which is never shown again. Neither Escape nor the back button closes it, and the
 * browser asks before it leaves the page.
 */
export const SecretDialog = ({ issued, onClose }: { issued: ApiKeyWithSecret; onClose: () => void }) => {
  useStay(true);
  return (
    <Dialog
      title={`The secret of ${issued.name}`}
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
      <CopyText label={`${issued.environment === "live" ? "Live" : "Test"} API key`} text={issued.apiKey} />
      <CopyText label="Try it" text={curlLine(issued.apiKey)} />
    </Dialog>
  );
};
