/** The dialog that changes an endpoint. It sends only the changed fields, with `If-Match`. */
import type { WebhookEndpoint } from "@realtime-avatar/client";
import { useState } from "react";
import { fieldError, isProblem } from "../api/client.ts";
import { FormDialog } from "../components/action-dialog.tsx";
import { Loaded, Skeleton, useInView } from "../components/state.tsx";
import { useAccount } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { endpointName, REFRESHES, useEndpointVersion } from "./data.ts";
import { EndpointFields, type Fields, parseFields, SHOWN_FIELDS, type Values } from "./fields.tsx";

const valuesOf = ({ url, description, events, ordered }: WebhookEndpoint): Values => ({
  url: url ?? "",
  description: description ?? "",
  isAll: events === null,
  events: events ?? [],
  ordered,
});

/** The body of the request, with only the changed fields. */
const requestOf = (before: Fields | null, after: Fields): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before?.[name as keyof Fields]),
    ),
  );

const Changed = () => (
  <p
    ref={useInView<HTMLParagraphElement>()}
    role="alert"
    className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn"
  >
    The endpoint was changed meanwhile, so nothing was saved. The form shows its current values and your changes: check
    them, then save again.
  </p>
);

export const ChangeEndpointDialog = ({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) => {
  const { client } = useAccount();
  const query = useEndpointVersion(endpoint.id);
  // Stores only the edits. When the endpoint has changed meanwhile, the rest of the form follows it.
  const [edits, setEdits] = useState<Partial<Values>>({});
  const [isChanged, setChanged] = useState(false);
  const present = query.data && valuesOf(query.data.endpoint);
  const values = present && { ...present, ...edits };
  const after = values ? parseFields(values) : null;
  const request = present && after ? requestOf(parseFields(present), after) : {};
  const save = useAction(
    async (body: Partial<Fields>): Promise<"saved" | "changed"> => {
      const params = { path: { id: endpoint.id }, header: { "If-Match": query.data?.etag ?? "" } };
      try {
        await client.PATCH("/api/v1/webhook-endpoints/{id}", { params, body });
        return "saved";
      } catch (error) {
        if (!isProblem(error, "precondition_failed")) throw error;
        await query.refetch();
        return "changed";
      }
    },
    REFRESHES,
    (outcome) => (outcome === "saved" ? onClose() : setChanged(true)),
  );
  return (
    <FormDialog
      title={`Change ${endpointName(endpoint)}`}
      action={save}
      submit="Save the changes"
      onSubmit={() => save.run(request)}
      shownFields={SHOWN_FIELDS}
      isIncomplete={Object.keys(request).length === 0}
      onClose={onClose}
      isWide
    >
      <Loaded query={query} skeleton={<Skeleton label="the endpoint" rows={6} />}>
        {() =>
          values && (
            <>
              {isChanged && <Changed />}
              <EndpointFields
                values={values}
                onChange={(change) => setEdits((before) => ({ ...before, ...change }))}
                errors={(name) => fieldError(save.error, name)}
                isListener={endpoint.url === null}
              />
            </>
          )
        }
      </Loaded>
    </FormDialog>
  );
};
