/** The dialog that changes a key. Before the person saves, it lists wider and narrower permissions. */
import type { ApiKey } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError, isProblem } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { Loaded, Skeleton, useInView } from "../components/state.tsx";
import { Badge } from "../components/text.tsx";
import { creditsText } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import {
  compareFields,
  type Difference,
  descendantsText,
  effectText,
  type Fields,
  inheritedLimits,
  updateRequest,
} from "./changes.ts";
import { type Keys, useDescendants, useKeyVersion, useParent } from "./data.ts";
import { KeyFields, parseFields, SHOWN_FIELDS, type Values } from "./fields.tsx";

const valuesOf = (key: ApiKey): Values => ({
  name: key.name,
  scopes: key.scopes,
  cap: key.spendLimitCreditMicros === null ? "" : creditsText(key.spendLimitCreditMicros),
  calls: `${key.maxConcurrentSessions ?? ""}`,
  expiry: { choice: key.expiresAt === null ? "never" : "present", chosenAt: 0, date: "" },
});

/** Shown beside the button that saves, so that it is visible. */
const Differences = ({ differences, descendants }: { differences: readonly Difference[]; descendants: number }) => {
  const isWider = differences.some(({ direction }) => direction === "wider");
  const isCapLower = differences.some(
    ({ field, direction }) => field === "spendLimitCreditMicros" && direction === "narrower",
  );
  return (
    <section aria-label="What changes" className="w-full text-sm">
      {differences.length === 0 ? (
        <p className="text-muted">Nothing has been changed yet.</p>
      ) : (
        <ul className="grid gap-1">
          {differences.map(({ field, direction, text }) => (
            <li key={`${field} ${direction}`} className="flex items-baseline gap-2">
              {direction && <Badge tone={direction === "wider" ? "warn" : "plain"}>{direction}</Badge>}
              <span className="min-w-0 break-words">{text}</span>
            </li>
          ))}
        </ul>
      )}
      {isWider && <p className="mt-1 text-muted">The key will be able to do more: this can ask for your passkey.</p>}
      {isCapLower && (
        <p className="mt-1 text-muted">
          If the key has spent and holds more than the new cap, its open calls end within seconds.
        </p>
      )}
      {differences.length > 0 && descendants > 0 && <p className="mt-1 text-muted">{descendantsText(descendants)}</p>}
    </section>
  );
};

const Changed = () => (
  <p
    ref={useInView<HTMLParagraphElement>()}
    role="alert"
    className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn"
  >
    The key was changed meanwhile, so nothing was saved. The form shows its current values and your changes: check the
    differences, then save again.
  </p>
);

/** The stored key, the entered values, and their differences. */
const useChange = (presented: ApiKey | undefined, keys: Keys) => {
  // Stores only the edits. When the key has changed meanwhile, the rest of the form follows it.
  const [edits, setEdits] = useState<Partial<Values>>({});
  const parent = useParent(presented?.parentId ?? null, keys);
  if (!presented) return null;
  const values = { ...valuesOf(presented), ...edits };
  const after = parseFields(values, presented.expiresAt);
  const differences = after ? compareFields(presented, after) : [];
  const inherited = inheritedLimits(presented, parent ?? undefined);
  return {
    values,
    presentExpiry: presented.expiresAt,
    present: presented.scopes,
    differences,
    effects: effectText(after ?? presented, inherited),
    request: after && differences.length > 0 ? updateRequest(after, differences) : null,
    onChange: (change: Partial<Values>) => setEdits((present) => ({ ...present, ...change })),
  };
};

export const ChangeKeyDialog = ({ apiKey, keys, onClose }: { apiKey: ApiKey; keys: Keys; onClose: () => void }) => {
  const { client } = useAccount();
  const query = useKeyVersion(apiKey.id);
  const change = useChange(query.data?.key, keys);
  const [isChanged, setChanged] = useState(false);
  const save = useAction(
    async (body: Partial<Fields>): Promise<"saved" | "changed"> => {
      const params = { path: { id: apiKey.id }, header: { "If-Match": query.data?.etag ?? "" } };
      try {
        await client.PATCH("/api/v1/api-keys/{id}", { params, body });
        return "saved";
      } catch (error) {
        if (!isProblem(error, "precondition_failed")) throw error;
        await query.refetch();
        return "changed";
      }
    },
    ["keys", "audit"],
    (outcome) => (outcome === "saved" ? onClose() : setChanged(true)),
  );
  const descendants = useDescendants(apiKey.id).data?.keys.length ?? 0;
  return (
    <FormDialog
      title={`Change ${apiKey.name}`}
      action={save}
      submit="Save the changes"
      onSubmit={() => change?.request && save.run(change.request)}
      shownFields={SHOWN_FIELDS}
      isIncomplete={!change?.request}
      aside={change && <Differences differences={change.differences} descendants={descendants} />}
      onClose={onClose}
      isWide
    >
      <Loaded query={query} skeleton={<Skeleton label="the key" rows={6} />}>
        {() =>
          change && (
            <>
              {isChanged && <Changed />}
              <KeyFields {...change} errors={(name) => fieldError(save.error, name)} />
            </>
          )
        }
      </Loaded>
    </FormDialog>
  );
};
