/** The audit trail in words. */
import type { AuditEvent, components } from "@realtime-avatar/client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { midnight } from "../api/pages.ts";
import { useAccount } from "../layout/context.tsx";
import { useTotal } from "../layout/use-list-search.ts";
import type { Search } from "../search.ts";

const REFRESH_MS = 15_000;

/** The label of each action. */
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
  "usage_session.ended": "Call ended",
  "transcript.deleted": "Transcript deleted",
  "recording.deleted": "Recording deleted",
  "settings.updated": "Settings changed",
  "user.created": "Member joined",
  "user.updated": "Member changed",
  "user.deleted": "Member removed",
  "user_session.created": "Signed in",
  "user_session.verified": "Sign-in confirmed",
  "user_session.ended": "Sign-in ended",
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

type Schemas = components["schemas"];
/** The fields that an event can name: the fields of each change, and those that only the service changes. */
type ChangedField =
  | keyof (Schemas["UpdateApiKey"] &
      Schemas["UpdateAvatar"] &
      Schemas["UpdateCreditBalance"] &
      Schemas["UpdatePasskey"] &
      Schemas["UpdateUser"] &
      Schemas["UpdateWebhookEndpoint"])
  | "keyId"
  | "pendingSourceAssetId"
  | "redactedKey";

/** The label of each changed field. */
const FIELD_TEXTS: Record<ChangedField, string> = {
  name: "name",
  displayName: "name",
  scopes: "permissions",
  spendLimitCreditMicros: "spend cap",
  maxConcurrentSessions: "calls at once",
  keyId: "secret",
  redactedKey: "secret",
  expiresAt: "expiry",
  sourceAssetId: "photo or video",
  pendingSourceAssetId: "photo or video",
  modelId: "model",
  defaultVoiceId: "voice",
  settings: "settings",
  metadata: "metadata",
  status: "status",
  lowThresholdCreditMicros: "threshold of low credits",
  role: "role",
  url: "URL",
  description: "description",
  events: "events",
  ordered: "order",
};

/** The changed fields in words. A field of a later version of the service is shown by its name. */
export const fieldsText = ({ changedFields }: Pick<AuditEvent, "changedFields">): string => {
  const texts: Record<string, string> = FIELD_TEXTS;
  return [...new Set(changedFields.map((field) => texts[field] ?? field))].join(", ");
};

/** The actor, if it is neither a key nor a person. */
export const serviceText = (action: AuditEvent["action"]): string => {
  if (action === "api_key.reported_leaked") return "a report of its secret";
  if (action.startsWith("credits.")) return "the operator of the service";
  return /^avatar\.prep|^asset\.|^webhook_endpoint\./.test(action)
    ? "the service itself"
    : "the service or its operator";
};

export type Filters = Pick<Search, "action" | "target" | "actor" | "since" | "until">;

/** The query of the events, without the parameters of pages. */
export const auditQuery = ({ action, target, actor, since, until }: Filters) => ({
  ...(action !== undefined && { action: action as AuditEvent["action"] }),
  ...(target !== undefined && { targetId: target }),
  ...(actor !== undefined && { actorId: actor }),
  ...(since !== undefined && { from: midnight(since) }),
  ...(until !== undefined && { to: midnight(until, 1) }),
});

export const useAuditEvents = (filters: Filters) => {
  const { client, environment } = useAccount();
  const query = auditQuery(filters);
  const pages = useInfiniteQuery({
    queryKey: ["audit", environment, query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const page = { limit: 50, ...query, ...(pageParam !== undefined && { cursor: pageParam }) };
      return (await client.GET("/api/v1/audit-events", { params: { query: page } })).data;
    },
    refetchInterval: REFRESH_MS,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const total = useTotal(["audit", query], pages.hasNextPage, async (first) => {
    return (await client.GET("/api/v1/audit-events", { params: { query: { ...query, ...first } } })).data;
  });
  return { ...pages, total };
};
