/** One example of each body, for the OpenAPI document. A test checks that each is valid. */
import type {
  ApiKey,
  ApiKeyWithSecret,
  CreateApiKey,
  ReportLeakedKey,
  RotateApiKey,
  UpdateApiKey,
} from "@realtime-avatar/domain/api-key";
import type { AuditEvent } from "@realtime-avatar/domain/audit";
import type { Avatar, CreateAvatar, UpdateAvatar } from "@realtime-avatar/domain/avatar";
import { PROBLEMS, type ProblemCode, type ProblemExtras } from "@realtime-avatar/domain/problem";

const suffix = "01h455vb4pex5vsknk084sn02q";
/** Well-formed, but not the secret of any key. */
const secret = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
const time = "2026-11-20T12:00:00.000Z";

/** The same UUID as in the suffix of the ids. */
export const REQUEST_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

const apiKey: ApiKey = {
  id: `key_${suffix}`,
  keyId: "0123456789ABCDEF",
  tenantId: `ten_${suffix}`,
  name: "Website",
  environment: "live",
  redactedKey: "rta_live_0123456789ABCDEF_****",
  scopes: ["avatars:read", "realtime:write"],
  status: "active",
  spendLimitCreditMicros: 5_000_000,
  effectiveSpendLimitCreditMicros: 5_000_000,
  expiresAt: null,
  effectiveExpiresAt: null,
  lastUsedAt: null,
  createdAt: time,
};

const avatar: Avatar = {
  id: `ava_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  displayName: "Ada",
  sourceKind: "image",
  modelId: "realtime-avatar-live-v1",
  status: "draft",
  sourceAssetId: null,
  defaultVoiceId: "voice-en-01",
  cacheManifestId: null,
  cacheVersion: 0,
  settings: { background: "#ffffff" },
  metadata: { team: "support" },
  createdAt: time,
  updatedAt: time,
};

const auditEvent: AuditEvent = {
  id: `aud_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  action: "avatar.updated",
  targetId: avatar.id,
  changedFields: ["displayName"],
  actorId: apiKey.id,
  actorKeyId: apiKey.keyId,
  requestId: REQUEST_ID,
  createdAt: time,
};

const page = <Item>(item: Item) => ({ data: [item], nextCursor: null });

/** By the name of the schema in the document. */
export const EXAMPLES = {
  ApiKey: apiKey,
  ApiKeyPage: page(apiKey),
  ApiKeyWithSecret: { ...apiKey, apiKey: secret } satisfies ApiKeyWithSecret,
  AuditEvent: auditEvent,
  AuditEventPage: page(auditEvent),
  Avatar: avatar,
  AvatarPage: page(avatar),
  CreateApiKey: {
    name: "Website",
    environment: "live",
    scopes: ["avatars:read", "realtime:write"],
    spendLimitCreditMicros: 5_000_000,
  } satisfies CreateApiKey,
  CreateAvatar: {
    displayName: "Ada",
    sourceKind: "image",
    defaultVoiceId: "voice-en-01",
    settings: { background: "#ffffff" },
    metadata: { team: "support" },
  } satisfies CreateAvatar,
  LeakedKeyReport: { status: "accepted" },
  ProblemType: {
    type: "/problems/not_found",
    code: "not_found",
    status: PROBLEMS.not_found.status,
    title: PROBLEMS.not_found.title,
    meaning: PROBLEMS.not_found.meaning,
    remedy: PROBLEMS.not_found.remedy,
  },
  ReportLeakedKey: { apiKey: secret } satisfies ReportLeakedKey,
  RotateApiKey: { overlapSeconds: 86_400 } satisfies RotateApiKey,
  UpdateApiKey: { name: "Shop", spendLimitCreditMicros: null } satisfies UpdateApiKey,
  UpdateAvatar: { displayName: "Ada Lovelace", metadata: { team: "sales" } } satisfies UpdateAvatar,
};

/** The additional members of problem examples. */
export const PROBLEM_EXAMPLES: Partial<Record<ProblemCode, ProblemExtras>> = {
  insufficient_scope: { requiredScope: "avatars:write", grantedScopes: ["avatars:read"] },
  grant_exceeds_caller: {
    errors: [
      {
        pointer: "#/spendLimitCreditMicros",
        code: "exceeds_caller",
        detail: "Must be at most the spend cap of the calling key.",
        allowed: { maximum: 1_000_000 },
      },
    ],
  },
  invalid_transition: { currentStatus: "draft", allowedStatuses: ["deleted"] },
  validation_failed: { errors: [{ pointer: "#/name", code: "too_short", detail: "Must have 1 to 120 characters." }] },
  rate_limited: { retryable: true },
  unavailable: { retryable: true },
};
