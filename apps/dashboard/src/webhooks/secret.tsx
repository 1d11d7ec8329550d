import type { WebhookEndpointWithSecret } from "@realtime-avatar/client";
import { CopyText } from "../components/copy.tsx";
import { SecretDialog } from "../components/secret.tsx";
import { endpointName } from "./data.ts";

/** How a receiver in JavaScript verifies a request, with the headers of Standard Webhooks. */
const VERIFY = `import { Webhook } from "standardwebhooks";
const event = new Webhook(process.env.WEBHOOK_SECRET).verify(body, headers);`;

/** Shows the secret of a new endpoint, or the new secret after a rotation. */
export const EndpointSecretDialog = ({
  issued,
  onClose,
}: {
  issued: WebhookEndpointWithSecret;
  onClose: () => void;
}) => (
  <SecretDialog title={`The secret of ${endpointName(issued)}`} onClose={onClose}>
    <CopyText label="Signing secret" text={issued.secret} />
    <CopyText label="Verify a request. Libraries for other languages: standardwebhooks.com" text={VERIFY} />
  </SecretDialog>
);
