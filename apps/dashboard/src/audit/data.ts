/** The audit trail in words. */
import type { AuditEvent } from "@realtime-avatar/client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useAccount } from "../layout/context.tsx";

const REFRESH_MS = 15_000;

/** What was done, by action. */
export const ACTION_TEXTS: Record<AuditEvent["action"], string> = {
  "api_key.created": "Key created",
  "api_key.updated": "Key changed",
  "api_key.rotated": "Key rotated",
  "api_key.revoked": "Key revoked",
  "api_key.reported_leaked": "Key reported as leaked",
  "avatar.created": "Avatar created",
  "avatar.updated": "Avatar changed",
  "avatar.deleted": "Avatar deleted",
  "avatar.prepared": "Avatar prepared",
  "avatar.preparation_failed": "Preparation failed",
  "asset.created": "File created",
  "asset.uploaded": "File uploaded",
  "asset.ready": "File ready",
  "asset.failed": "File refused",
  "asset.deleted": "File deleted",
  "credits.granted": "Credits granted",
  "credits.voided": "Grant withdrawn",
  "credits.adjusted": "Credits refunded",
  "credits.limit_changed": "Limit of open calls changed",
  "usage_session.ended": "Session ended",
  "user.created": "Member joined",
  "user.updated": "Member changed",
  "user.deleted": "Member removed",
  "user_session.created": "Signed in",
  "user_session.verified": "Session confirmed",
  "user_session.ended": "Session ended",
  "invitation.created": "Invitation created",
  "invitation.deleted": "Invitation withdrawn",
  "passkey.created": "Passkey added",
  "passkey.updated": "Passkey renamed",
  "passkey.deleted": "Passkey deleted",
  "identity.created": "Account linked",
  "identity.deleted": "Account unlinked",
  "webhook_endpoint.created": "Endpoint added",
  "webhook_endpoint.updated": "Endpoint changed",
  "webhook_endpoint.deleted": "Endpoint deleted",
  "webhook_endpoint.secret_rotated": "Endpoint's secret rotated",
  "webhook_endpoint.disabled": "Endpoint disabled",
};

/** What was changed, by field. */
const FIELD_TEXTS: Record<string, string> = {
  displayName: "name",
  scopes: "permissions",
  spendLimitCreditMicros: "spend cap",
  expiresAt: "expiry",
  sourceAssetId: "photo or video",
  modelId: "model",
  defaultVoiceId: "voice",
  lowThresholdCreditMicros: "threshold of low credits",
};

export const fieldText = (field: string): string => FIELD_TEXTS[field] ?? field;

/** What is shown for an object that has no name, by the prefix of its id. */
const KIND_TEXTS: Record<string, string> = {
  key: "A key",
  ava: "An avatar",
  ast: "A file",
  usr: "A former member",
  uss: "A session",
  inv: "An invitation",
  psk: "A passkey",
  idn: "A linked account",
  ses: "A call",
  ten: "The team",
  whe: "A webhook endpoint",
};

export const kindText = (id: string): string => KIND_TEXTS[id.slice(0, 3)] ?? id;

/** Who acted when neither a key nor a person did. */
export const serviceText = (action: AuditEvent["action"]): string => {
  if (action === "api_key.reported_leaked") return "a report of its secret";
  if (action.startsWith("credits.")) return "the operator of the service";
  return /^avatar\.prep|^asset\.|^webhook_endpoint\./.test(action)
    ? "the service itself"
    : "the service or its operator";
};

export type Filters = { action: string | undefined; target: string | undefined };

/** The query of the events, without those of a page. */
export const auditQuery = ({ action, target }: Filters) => ({
  ...(action !== undefined && { action: action as AuditEvent["action"] }),
  ...(target !== undefined && { targetId: target }),
});

export const useAuditEvents = ({ action, target }: Filters) => {
  const { client, environment } = useAccount();
  return useInfiniteQuery({
    queryKey: ["audit", environment, action ?? "", target ?? ""],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const query = {
        limit: 50,
        ...auditQuery({ action, target }),
        ...(pageParam !== undefined && { cursor: pageParam }),
      };
      return (await client.GET("/api/v1/audit-events", { params: { query } })).data;
    },
    refetchInterval: REFRESH_MS,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
};
