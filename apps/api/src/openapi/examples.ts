/** One example of each body, for the OpenAPI document. A test checks that each is valid. */
import type * as apiKeys from "@realtime-avatar/domain/api-keys/schemas";
import type { Asset, CreateRemoteAsset, CreateUpload } from "@realtime-avatar/domain/assets/schemas";
import type { AuditEvent } from "@realtime-avatar/domain/audit";
import { LIVE_MODEL_ID, listModels } from "@realtime-avatar/domain/avatars/models";
import type { Avatar, CreateAvatar, UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import * as calls from "@realtime-avatar/domain/calls/schemas";
import type { CreateTurn, InterruptCall, InterruptedCall, Turn } from "@realtime-avatar/domain/calls/turns";
import type * as credits from "@realtime-avatar/domain/credits/schemas";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import type { CreateVideo, Video } from "@realtime-avatar/domain/videos/schemas";
import type { Voice } from "@realtime-avatar/domain/voices/schemas";
import { KEPT_EXAMPLES } from "./kept-examples.ts";
import { PEOPLE_EXAMPLES } from "./people-examples.ts";
import { WEBHOOK_EXAMPLES } from "./webhook-examples.ts";

const suffix = "01h455vb4pex5vsknk084sn02q";
/** Well-formed, but not the secret of any key. */
const secret = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
const time = "2026-11-20T12:00:00.000Z";

/** The UUID in the suffix of the ids. */
export const REQUEST_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

const apiKey: apiKeys.ApiKey = {
  id: `key_${suffix}`,
  keyId: "0123456789ABCDEF",
  tenantId: `ten_${suffix}`,
  parentId: null,
  name: "Website",
  environment: "live",
  redactedKey: "rta_live_0123456789ABCDEF_****",
  scopes: ["avatars:read", "realtime:write"],
  status: "active",
  spendLimitCreditMicros: 5_000_000,
  effectiveSpendLimitCreditMicros: 5_000_000,
  spentCreditMicros: 1_200_000,
  reservedCreditMicros: 0,
  maxConcurrentSessions: 20,
  effectiveMaxConcurrentSessions: 20,
  expiresAt: null,
  effectiveExpiresAt: null,
  lastUsedAt: null,
  createdAt: time,
};

const apiKeyWithCreator: apiKeys.ApiKeyWithCreator = {
  ...apiKey,
  createdBy: `usr_${suffix}`,
  createdByName: "Ada Lovelace",
};

const asset: Asset = {
  id: `ast_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  kind: "image",
  origin: "uploaded",
  status: "uploaded",
  contentType: "image/jpeg",
  sizeBytes: 48_213,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  publicUrl: "https://assets.example.com/public/assets/GIFvPYwcsnwJ3q0hR2bTz6mWk1xUe8dLoA4yNfSgQ7E",
  error: null,
  originalFilename: "ada.jpg",
  metadata: {},
  createdAt: time,
  updatedAt: time,
};
const unknownFile = { contentType: null, sizeBytes: null, sha256: null };

const voice: Voice = {
  id: "flite-slt",
  name: "Flite slt (female, American)",
  language: "en-US",
  provider: "flite",
  isDefault: true,
  sampleUrl: "https://avatars.example.com/api/v1/voices/flite-slt/sample",
};

const avatar: Avatar = {
  id: `ava_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  displayName: "Ada",
  sourceKind: "image",
  modelId: LIVE_MODEL_ID,
  status: "ready",
  sourceAssetId: `ast_${suffix}`,
  pendingSourceAssetId: null,
  defaultVoiceId: "voice-en-01",
  error: null,
  checks: [
    { code: "face_count", verdict: "pass", measured: 1, limit: 1, detail: "There is exactly one face." },
    {
      code: "face_size",
      verdict: "warn",
      measured: 24,
      limit: 30,
      detail: "The face is 24 % of the height of the picture; at least 30 % is better. Use a photo taken from nearer.",
    },
  ],
  previewUrl: "https://assets.example.com/public/avatars/0q7XoH3sW5Yb1cD9eKfLmNpRtUvZ2a4g6i8jAxBzCwE",
  animatedPreviewUrl: "https://assets.example.com/public/avatars/0q7XoH3sW5Yb1cD9eKfLmNpRtUvZ2a4g6i8jAxBzCwE/animated",
  cacheManifestId: "man_1_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  cacheVersion: 1,
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
  targetName: avatar.displayName,
  changedFields: ["displayName"],
  actorType: "api_key",
  actorId: apiKey.id,
  actorName: apiKey.name,
  actorKeyId: apiKey.keyId,
  requestId: REQUEST_ID,
  createdAt: time,
};

const video: Video = {
  id: `vid_${suffix}`,
  tenantId: `ten_${suffix}`,
  environment: "live",
  avatarId: avatar.id,
  text: "Hello, and welcome to our shop.",
  audioAssetId: null,
  status: "ready",
  progress: 1,
  assetId: asset.id,
  videoUrl: "https://assets.example.com/public/assets/GIFvPYwcsnwJ3q0hR2bTz6mWk1xUe8dLoA4yNfSgQ7E",
  durationSeconds: 3.48,
  billedSeconds: 4,
  billedCreditMicros: 4_000_000,
  sessionId: `ses_${suffix}`,
  error: null,
  createdBy: apiKey.id,
  createdAt: time,
  updatedAt: time,
  voiceId: "flite-slt",
  reservedCreditMicros: 4_000_000,
  warnings: [],
  metadata: { user_id: "user-17" },
};

const session: credits.UsageSession = {
  sessionId: `ses_${suffix}`,
  environment: "live",
  apiKeyId: apiKey.id,
  avatarId: avatar.id,
  avatarName: avatar.displayName,
  videoId: null,
  status: "reserved",
  startedAt: null,
  endedAt: null,
  activeSeconds: null,
  billedCreditMicros: null,
  usedCreditMicros: 0,
  priceCreditMicrosPerSecond: 1_000_000,
  metadata: { user_id: "user-17" },
  createdAt: time,
  reservedCreditMicros: 300_000_000,
  expiresAt: "2026-11-20T12:01:00.000Z",
  mustEnd: false,
  reportedBy: null,
  closedBy: null,
  endReason: null,
  releaseReason: null,
};

const sessionWithNames: credits.UsageSessionWithNames = {
  ...session,
  apiKeyName: apiKey.name,
  reportedByName: null,
  closedByName: null,
};

const balance: credits.CreditBalance = {
  tenantId: `ten_${suffix}`,
  environment: "live",
  balanceCreditMicros: 3_558_000_000,
  reservedCreditMicros: 300_000_000,
  availableCreditMicros: 3_258_000_000,
  lifetimeGrantedCreditMicros: 3_600_000_000,
  lifetimeUsedCreditMicros: 42_000_000,
  lowThresholdCreditMicros: 600_000_000,
  updatedAt: time,
};

const entry: credits.CreditEntry = {
  id: `ent_${suffix}`,
  environment: "live",
  kind: "hold",
  amountCreditMicros: 300_000_000,
  sessionId: session.sessionId,
  apiKeyId: apiKey.id,
  apiKeyName: apiKey.name,
  reportedBy: null,
  reportedByName: null,
  closedBy: null,
  closedByName: null,
  reference: null,
  requestId: REQUEST_ID,
  createdAt: time,
};

const conversationSum: credits.ConversationSum = {
  ...{ day: "2026-11-20", inputTokens: 41_200, outputTokens: 5300, estimatedTokens: 0 },
  ...{ heardSeconds: 380, spokenCharacters: 20_400 },
};
const sum: credits.UsageSum = {
  day: "2026-11-20",
  apiKeyId: apiKey.id,
  apiKeyName: apiKey.name,
  avatarId: null,
  avatarName: null,
  sessions: 2,
  activeSeconds: 42,
  billedCreditMicros: 42_000_000,
  reservedCreditMicros: 300_000_000,
};
const window = { from: "2026-10-21T12:00:00.000Z", to: time };

const page = <Item>(item: Item) => ({ data: [item], nextCursor: null });

/** The examples, by the name of the schema in the document. */
export const EXAMPLES = {
  ...KEPT_EXAMPLES,
  ...PEOPLE_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
  ApiKey: apiKey,
  ApiKeyPage: page(apiKeyWithCreator),
  ApiKeyWithCreator: apiKeyWithCreator,
  ApiKeyWithSecret: { ...apiKey, apiKey: secret } satisfies apiKeys.ApiKeyWithSecret,
  Asset: asset,
  AssetPage: page(asset),
  AssetWithUpload: {
    ...asset,
    ...unknownFile,
    kind: "video",
    status: "pending_upload",
    originalFilename: "ada.mp4",
    upload: {
      method: "PUT",
      url: `https://avatars.s3.example.com/uploads/ten_${suffix}/ast_${suffix}?X-Amz-Expires=900&X-Amz-Signature=0123`,
      headers: { "Content-Type": "video/mp4", "Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg==" },
      expiresAt: "2026-11-20T12:15:00.000Z",
    },
  },
  AuditEvent: auditEvent,
  AuditEventPage: page(auditEvent),
  Avatar: avatar,
  AvatarPage: page(avatar),
  CallGrant: {
    status: "ready",
    session_id: session.sessionId,
    room_name: `rta-k3j9x2mw-${session.sessionId}`,
    livekit_url: "wss://livekit.example.com",
    participant_token: "eyJhbGciOiJIUzI1NiJ9.…",
    participant_identity: "person",
    stt_mode: "server",
    room_created: true,
    dispatch_created: true,
    join_timeout_seconds: 120,
    idle_timeout_seconds: 120,
    reservation_expires_at: "2026-11-20T12:02:00.000Z",
    max_session_seconds: 600,
    held_seconds: 600,
    price_credit_micros_per_second: 1_000_000,
    ignored: [],
  } satisfies calls.CallGrant,
  CompleteUpload: {},
  CreateApiKey: {
    name: "Website",
    environment: "live",
    scopes: ["avatars:read", "realtime:write"],
    spendLimitCreditMicros: 5_000_000,
  } satisfies apiKeys.CreateApiKey,
  CreateAvatar: {
    displayName: "Ada",
    sourceKind: "image",
    defaultVoiceId: "voice-en-01",
    settings: { background: "#ffffff" },
    metadata: { team: "support" },
  } satisfies CreateAvatar,
  CreateRemoteAsset: {
    kind: "image",
    remoteUrl: "https://www.example.com/ada.jpg",
    originalFilename: "ada.jpg",
  } satisfies CreateRemoteAsset,
  CreateUpload: {
    kind: "video",
    contentType: "video/mp4",
    sizeBytes: 41_943_040,
    md5: "1B2M2Y8AsgTpgAmY7PhCfg==",
    originalFilename: "ada.mp4",
  } satisfies CreateUpload,
  CreateUsageSession: {
    maxSessionSeconds: 300,
    minSessionSeconds: 60,
    metadata: { user_id: "user-17" },
  } satisfies credits.CreateUsageSession,
  CreditBalance: balance,
  CreditEntry: entry,
  CreditEntryPage: page(entry),
  LeakedKeyReport: { status: "accepted" },
  ModelPage: { data: listModels(LIVE_MODEL_ID), nextCursor: null },
  PrepareAvatar: {},
  ProblemType: {
    type: "/problems/not_found",
    code: "not_found",
    status: PROBLEMS.not_found.status,
    title: PROBLEMS.not_found.title,
    meaning: PROBLEMS.not_found.meaning,
    remedy: PROBLEMS.not_found.remedy,
  },
  QueuedCall: {
    message: "All slots are in use. Send the same request again.",
    queue_size: 3,
    queue_position: 1,
    queue_ticket_id: `tkt_${suffix}`,
    recommended_retry_ms: 2000,
  } satisfies calls.QueuedCall,
  ResumeCall: { session_id: "ses_01h455vb4pex5vsknk084sn03s" } satisfies calls.ResumeCall,
  ReleaseCall: { session_id: session.sessionId, reason: "manual" } satisfies calls.ReleaseCall,
  ReleasedCall: { ok: true },
  PrepareCall: { avatar_id: "ava_01h455vb4pex5vsknk084sn03r" } satisfies calls.PrepareCall,
  PreparedCall: {
    avatar_id: "ava_01h455vb4pex5vsknk084sn03r",
    expires_in_seconds: calls.PREPARED_SECONDS,
  } satisfies calls.PreparedCall,
  CreateTurn: { session_id: session.sessionId, kind: "say", text: "Your table is booked." } satisfies CreateTurn,
  Turn: {
    id: "trn_01h455vb4pex5vsknk084sn0aa",
    session_id: session.sessionId,
    kind: "say",
    status: "said",
    heard: "Your table is booked.",
    created_at: time,
  } satisfies Turn,
  InterruptCall: { session_id: session.sessionId } satisfies InterruptCall,
  InterruptedCall: { session_id: session.sessionId } satisfies InterruptedCall,
  ReleaseSession: { reason: "hung up" } satisfies credits.ReleaseSession,
  ReportedSession: { ...session, status: "started", startedAt: time, mustEnd: false },
  ReportLeakedKey: { apiKey: secret } satisfies apiKeys.ReportLeakedKey,
  ReportUsage: { usedCreditMicros: 42_000_000 } satisfies credits.ReportUsage,
  RotateApiKey: { overlapSeconds: 86_400 } satisfies apiKeys.RotateApiKey,
  StartCall: {
    // Differs from the id of the other examples: a test creates this avatar, and another test needs an unknown one.
    avatar_id: "ava_01h455vb4pex5vsknk084sn03r",
    max_session_seconds: 600,
    client_metadata: { user_id: "user-17" },
  } satisfies calls.StartCall,
  UpdateApiKey: { name: "Shop", spendLimitCreditMicros: null } satisfies apiKeys.UpdateApiKey,
  UpdateCreditBalance: { lowThresholdCreditMicros: 600_000_000 },
  UpdateAvatar: { displayName: "Ada Lovelace", metadata: { team: "sales" } } satisfies UpdateAvatar,
  CreateVideo: {
    // The same avatar as in the example of a call.
    avatarId: "ava_01h455vb4pex5vsknk084sn03r",
    text: "Hello, and welcome to our shop.",
    voiceId: "flite-slt",
    metadata: { user_id: "user-17" },
  } satisfies CreateVideo,
  Video: video,
  VideoPage: page(video),
  Voice: voice,
  VoicePage: page(voice),
  UsageSession: session,
  UsageSessionPage: { ...window, ...page(sessionWithNames) },
  UsageSessionWithNames: sessionWithNames,
  UsageSum: sum,
  UsageSummaryPage: { ...window, conversations: [conversationSum], ...page(sum) },
};
