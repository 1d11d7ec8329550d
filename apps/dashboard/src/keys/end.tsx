/** The dialogs that end secrets: rotation and revocation. Each first says which secrets and keys end. */
import type { ApiKey, ApiKeyWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { EndDialog, FormDialog } from "../components/action-dialog.tsx";
import { Options, SelectField } from "../components/field.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Badge } from "../components/text.tsx";
import { counted } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useStay } from "../layout/use-stay.ts";
import { type Descendants, useDescendants } from "./data.ts";

/** When the current secret ends: seconds from now. */
export const OVERLAPS = [
  [0, "At once"],
  [3600, "After an hour"],
  [86_400, "After a day"],
  [604_800, "After a week"],
] as const;

/** The effect of a rotation with this overlap on the programs that use the key. */
export const overlapHint = (overlapSeconds: number): string =>
  overlapSeconds === 0
    ? "Programs with the current secret fail until they have the new one. For a leaked secret."
    : "Both secrets work until then. Give the new one to all programs that use the key.";

/** The texts about a revocation, before it (`confirm`) and after it (`notice`). */
export const revocationTexts = (name: string, { keys, hasMore }: Descendants): { confirm: string; notice: string } => {
  if (keys.length === 0) return { confirm: "Revoke the key", notice: `${name} is revoked.` };
  const others = hasMore ? "all keys" : counted(keys.length, "key");
  const all = hasMore ? "the key and all below it" : counted(keys.length + 1, "key");
  return { confirm: `Revoke ${all}`, notice: `${name} and ${others} below it are revoked.` };
};

export const RotateDialog = ({
  apiKey,
  onClose,
  onRotated,
}: {
  apiKey: ApiKey;
  onClose: () => void;
  onRotated: (issued: ApiKeyWithSecret) => void;
}) => {
  const { client } = useAccount();
  const [overlapSeconds, setOverlap] = useState<number>(86_400);
  const rotate = useAction(
    async () =>
      (
        await client.POST("/api/v1/api-keys/{id}/rotate", {
          params: { path: { id: apiKey.id } },
          body: { overlapSeconds },
        })
      ).data as ApiKeyWithSecret,
    ["keys", "audit"],
    onRotated,
  );
  // The result contains a secret, so the person must stay on the page.
  useStay(rotate.isBusy);
  const isEngine = apiKey.scopes.includes("usage:write");
  return (
    <FormDialog
      title={`Rotate ${apiKey.name}`}
      action={rotate}
      submit="Rotate"
      onSubmit={() => rotate.run()}
      isIncomplete={isEngine}
      onClose={onClose}
    >
      {isEngine && (
        <p className="mb-4">
          Only the operator rotates a key with <code>usage:write</code>, on the command line: it decides what calls
          cost.
        </p>
      )}
      <p className="mb-4">The key gets a new secret. Its id, its limits and the keys that it created stay.</p>
      <SelectField
        label="The current secret ends"
        value={overlapSeconds}
        onChange={(event) => setOverlap(Number(event.target.value))}
        hint={overlapHint(overlapSeconds)}
      >
        <Options of={OVERLAPS} />
      </SelectField>
    </FormDialog>
  );
};

/** The keys that end together with another key. */
const Ending = ({ descendants: { keys, hasMore } }: { descendants: Descendants }) => {
  if (keys.length === 0) return <p className="text-muted">It has created no other active key.</p>;
  return (
    <>
      <p className="mb-2 font-medium text-bad">
        {hasMore && "More than "}
        {counted(keys.length, "key")} that it created, directly or not, {keys.length === 1 ? "ends" : "end"} with it:
      </p>
      <ul className="max-h-56 overflow-y-auto rounded-lg border border-line">
        {keys.map((key) => (
          <li
            key={key.id}
            className="flex items-center justify-between gap-3 border-b border-line px-3 py-2 last:border-0"
          >
            <span className="min-w-0 truncate">{key.name}</span>
            <Badge tone={key.environment === "live" ? "good" : "warn"}>{key.environment}</Badge>
          </li>
        ))}
      </ul>
    </>
  );
};

export const RevokeDialog = ({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) => {
  const { client } = useAccount();
  const query = useDescendants(apiKey.id);
  const { confirm, notice } = revocationTexts(apiKey.name, query.data ?? { keys: [], hasMore: false });
  return (
    <EndDialog
      title={`Revoke ${apiKey.name}`}
      confirm={confirm}
      isDisabled={query.isPending}
      end={() => client.DELETE("/api/v1/api-keys/{id}", { params: { path: { id: apiKey.id } } })}
      refreshes={["keys", "audit"]}
      notice={notice}
      onClose={onClose}
    >
      <p className="mb-3">
        The key <code className="text-sm break-all">{apiKey.redactedKey}</code> ends at once and for good, and opens no
        more calls.
      </p>
      <p className="mb-3">
        Its open calls with avatars end within seconds, also those of the keys that end with it. They are charged for
        the seconds until then. A session that an engine of your own runs ends when the engine next reports its use.
      </p>
      <Loaded query={query} skeleton={<Skeleton label="the keys that it created" rows={2} height="h-9" />}>
        {(descendants) => <Ending descendants={descendants} />}
      </Loaded>
    </EndDialog>
  );
};
