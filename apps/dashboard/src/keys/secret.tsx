import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { CopyText } from "../components/copy.tsx";
import { SecretDialog } from "../components/secret.tsx";

/** A call that every key may make. */
const curlLine = (secret: string): string =>
  `curl -sS ${location.origin}/api/v1/api-keys/self -H "Authorization: Bearer ${secret}"`;

/** Shows the secret of a new or rotated key. */
export const KeySecretDialog = ({ issued, onClose }: { issued: ApiKeyWithSecret; onClose: () => void }) => (
  <SecretDialog title={`The secret of ${issued.name}`} onClose={onClose}>
    <CopyText label={`${issued.environment === "live" ? "Live" : "Test"} API key`} text={issued.apiKey} />
    <CopyText label="Try it" text={curlLine(issued.apiKey)} />
  </SecretDialog>
);
