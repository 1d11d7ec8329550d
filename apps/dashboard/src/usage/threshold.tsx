/** The threshold below which the event `credits.low` is sent. */
import type { CreditBalance } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { creditAmount, creditsText, parseCredits } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";

const NO_AMOUNT = "Must be a number such as 600 or 12.5, with at most 6 digits after the point.";

const ThresholdDialog = ({ threshold, onClose }: { threshold: number | null; onClose: () => void }) => {
  const { client } = useAccount();
  const [text, setText] = useState(threshold === null ? "" : creditsText(threshold));
  const isNoAmount = text.trim() !== "" && parseCredits(text) === null;
  const save = useAction(
    (lowThresholdCreditMicros: number | null) =>
      client.PATCH("/api/v1/credits/balance", { body: { lowThresholdCreditMicros } }),
    ["balance", "audit"],
    onClose,
  );
  return (
    <FormDialog
      title="Threshold of low credits"
      action={save}
      submit="Save"
      onSubmit={() => save.run(parseCredits(text))}
      shownFields={["lowThresholdCreditMicros"]}
      isIncomplete={isNoAmount}
      onClose={onClose}
    >
      <TextField
        label="Credits"
        hint="Webhook endpoints get the event credits.low when fewer credits are available. It is sent again only after more were available. Empty: never."
        inputMode="decimal"
        value={text}
        onChange={({ target }) => setText(target.value)}
        error={isNoAmount ? NO_AMOUNT : fieldError(save.error, "lowThresholdCreditMicros")}
        data-focus
      />
    </FormDialog>
  );
};

export const Threshold = ({ balance: { lowThresholdCreditMicros: threshold } }: { balance: CreditBalance }) => {
  const canWrite = useHasRole("developer");
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="mb-5 flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      <p>
        {threshold === null
          ? "No webhook endpoint is told when credits run low."
          : `Webhook endpoints are told when fewer than ${creditAmount(threshold)} are available.`}
      </p>
      {canWrite && (
        <Button onClick={() => setOpen(true)}>{threshold === null ? "Set a threshold" : "Change it"}</Button>
      )}
      {isOpen && <ThresholdDialog threshold={threshold} onClose={() => setOpen(false)} />}
    </div>
  );
};
