import type { WebhookEndpoint, WebhookEndpointWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { Empty, Loaded, Skeleton } from "../components/state.tsx";
import { PageHead } from "../components/text.tsx";
import { CreateButton } from "../keyboard/create-button.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, PageLink, useNavigation, useParameters } from "../layout/navigation.tsx";
import { DeleteEndpointDialog, RecoverDialog, RotateSecretDialog } from "./actions.tsx";
import { ChangeEndpointDialog } from "./change.tsx";
import { CreateEndpointDialog } from "./create.tsx";
import { useEndpoints } from "./data.ts";
import { DeliveryDialog } from "./delivery.tsx";
import { type Above, EndpointView } from "./endpoint.tsx";
import { EndpointList } from "./list.tsx";
import { EndpointSecretDialog } from "./secret.tsx";

type Query = ReturnType<typeof useEndpoints>;

const AllEndpoints = ({ query, onAdd }: { query: Query; onAdd: () => void }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  return (
    <>
      <PageHead title="Webhooks" actions={canWrite && <CreateButton onClick={onAdd}>Add an endpoint</CreateButton>}>
        The service tells your server what happens in the {environment} environment, with signed requests.
      </PageHead>
      <Loaded query={query} skeleton={<Skeleton label="endpoints" height="h-20" />}>
        {(endpoints) => <EndpointList endpoints={endpoints} onAdd={onAdd} />}
      </Loaded>
    </>
  );
};

/** An endpoint with the dialogs above it. */
const OneEndpoint = ({
  endpoint,
  onIssued,
}: {
  endpoint: WebhookEndpoint;
  onIssued: (issued: WebhookEndpointWithSecret) => void;
}) => {
  const { change, go } = useNavigation();
  const { delivery } = useParameters();
  const [above, setAbove] = useState<Above | null>(null);
  const shared = { endpoint, onClose: () => setAbove(null) };
  return (
    <>
      <EndpointView endpoint={endpoint} onOpen={setAbove} />
      {delivery && (
        <DeliveryDialog
          key={delivery}
          id={delivery}
          isEnabled={endpoint.status === "enabled"}
          onClose={() => change({ delivery: undefined })}
        />
      )}
      {above?.kind === "change" && <ChangeEndpointDialog {...shared} />}
      {above?.kind === "recover" && <RecoverDialog {...shared} failingSince={above.failingSince} />}
      {above?.kind === "delete" && <DeleteEndpointDialog {...shared} onDeleted={() => go("/webhooks", {}, true)} />}
      {above?.kind === "rotate" && (
        <RotateSecretDialog
          {...shared}
          onRotated={(issued) => {
            setAbove(null);
            onIssued(issued);
          }}
        />
      )}
    </>
  );
};

const Gone = () => (
  <>
    <PageHead title="Webhooks" />
    <Empty
      title="No such endpoint"
      action={
        <PageLink to="/webhooks" className={LINK}>
          All endpoints
        </PageLink>
      }
    >
      It was deleted, or belongs to the other environment.
    </Empty>
  </>
);

const Loading = () => (
  <>
    <h1 className="sr-only">Webhook endpoint</h1>
    <Skeleton label="the endpoint" height="h-20" />
  </>
);

export const WebhooksPage = () => {
  const { change } = useNavigation();
  const { endpoint: shownId } = useParameters();
  const [isAdding, setAdding] = useState(false);
  const [issued, setIssued] = useState<WebhookEndpointWithSecret | null>(null);
  const query = useEndpoints();
  return (
    <>
      {shownId === undefined ? (
        <AllEndpoints query={query} onAdd={() => setAdding(true)} />
      ) : (
        <Loaded query={query} skeleton={<Loading />}>
          {(endpoints) => {
            const shown = endpoints.find(({ id }) => id === shownId);
            return shown ? <OneEndpoint key={shown.id} endpoint={shown} onIssued={setIssued} /> : <Gone />;
          }}
        </Loaded>
      )}
      {isAdding && (
        <CreateEndpointDialog
          onClose={() => setAdding(false)}
          onCreated={(created) => {
            setAdding(false);
            setIssued(created);
          }}
        />
      )}
      {issued && (
        <EndpointSecretDialog
          issued={issued}
          onClose={() => {
            setIssued(null);
            change({ endpoint: issued.id });
          }}
        />
      )}
    </>
  );
};
