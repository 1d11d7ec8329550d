/** Generated from the catalog by `bun run functions`. Do not edit. */

import { composite, databaseFunction, list } from "../src/functions/call.ts";

export type ApiKey = {
  tenantId: string | null;
  id: string | null;
  keyId: string | null;
  environment: string | null;
  name: string | null;
  scopes: readonly string[] | null;
  spendLimitCreditMicros: number | null;
  maxConcurrentSessions: number | null;
  expiresAt: Date | null;
  lineage: readonly string[] | null;
  version: number | null;
  createdAt: Date | null;
};
const apiKey = composite<ApiKey>(
  "tenantId",
  "id",
  "keyId",
  "environment",
  "name",
  "scopes",
  "spendLimitCreditMicros",
  "maxConcurrentSessions",
  "expiresAt",
  "lineage",
  "version",
  "createdAt",
);

export type Assertion = {
  tenantId: string | null;
  passkeyId: string | null;
  userId: string | null;
  counter: number | null;
  isBackedUp: boolean | null;
  usedAt: Date | null;
};
const assertion = composite<Assertion>("tenantId", "passkeyId", "userId", "counter", "isBackedUp", "usedAt");

export type Asset = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  status: string | null;
  contentType: string | null;
  sizeBytes: number | null;
  sha256: string | null;
  publicToken: string | null;
  publicType: string | null;
  remoteUrl: string | null;
  reservedBytes: number | null;
  errorCode: string | null;
  errorDetail: string | null;
  originalFilename: string | null;
  metadata: Record<string, unknown> | string | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  origin: string | null;
  durationMs: number | null;
};
const asset = composite<Asset>(
  "tenantId",
  "id",
  "environment",
  "kind",
  "status",
  "contentType",
  "sizeBytes",
  "sha256",
  "publicToken",
  "publicType",
  "remoteUrl",
  "reservedBytes",
  "errorCode",
  "errorDetail",
  "originalFilename",
  "metadata",
  "version",
  "createdAt",
  "updatedAt",
  "origin",
  "durationMs",
);

export type AssetResult = {
  status: string | null;
  contentType: string | null;
  sizeBytes: number | null;
  sha256: string | null;
  publicType: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  durationMs: number | null;
};
const assetResult = composite<AssetResult>(
  "status",
  "contentType",
  "sizeBytes",
  "sha256",
  "publicType",
  "errorCode",
  "errorDetail",
  "durationMs",
);

export type AuditEvent = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  actorId: string | null;
  actorKeyId: string | null;
  action: string | null;
  targetId: string | null;
  changedFields: readonly string[] | null;
  requestId: string | null;
  createdAt: Date | null;
};
const auditEvent = composite<AuditEvent>(
  "tenantId",
  "id",
  "environment",
  "actorId",
  "actorKeyId",
  "action",
  "targetId",
  "changedFields",
  "requestId",
  "createdAt",
);

export type Avatar = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  displayName: string | null;
  sourceKind: string | null;
  modelId: string | null;
  status: string | null;
  sourceAssetId: string | null;
  pendingSourceAssetId: string | null;
  defaultVoiceId: string | null;
  generation: number | null;
  error: string | null;
  checks: Record<string, unknown> | string | null;
  previewToken: string | null;
  previewFile: string | null;
  cacheManifestId: string | null;
  cacheVersion: number | null;
  settings: Record<string, unknown> | string | null;
  metadata: Record<string, unknown> | string | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
const avatar = composite<Avatar>(
  "tenantId",
  "id",
  "environment",
  "displayName",
  "sourceKind",
  "modelId",
  "status",
  "sourceAssetId",
  "pendingSourceAssetId",
  "defaultVoiceId",
  "generation",
  "error",
  "checks",
  "previewToken",
  "previewFile",
  "cacheManifestId",
  "cacheVersion",
  "settings",
  "metadata",
  "version",
  "createdAt",
  "updatedAt",
);

export type AvatarChange = {
  fields: readonly string[] | null;
  displayName: string | null;
  modelId: string | null;
  sourceAssetId: string | null;
  defaultVoiceId: string | null;
  settings: Record<string, unknown> | string | null;
  metadata: Record<string, unknown> | string | null;
  status: string | null;
};
const avatarChange = composite<AvatarChange>(
  "fields",
  "displayName",
  "modelId",
  "sourceAssetId",
  "defaultVoiceId",
  "settings",
  "metadata",
  "status",
);

export type CallRequest = {
  mode: string | null;
  roomName: string | null;
  input: Record<string, unknown> | string | null;
  maxSeconds: number | null;
  defaultLimit: number | null;
  ticketId: string | null;
  newTicketId: string | null;
  fingerprint: string | null;
  isQueued: boolean | null;
  awaitsAgent: boolean | null;
  joinUrl: string | null;
  joinToken: Uint8Array | null;
  tokenDigest: Uint8Array | null;
  agentIdentity: string | null;
  conversationPrice: number | null;
  voiceId: string | null;
  model: string | null;
  transcript: Uint8Array | null;
  recording: Record<string, unknown> | string | null;
  hasConnectionHistory: boolean | null;
};
const callRequest = composite<CallRequest>(
  "mode",
  "roomName",
  "input",
  "maxSeconds",
  "defaultLimit",
  "ticketId",
  "newTicketId",
  "fingerprint",
  "isQueued",
  "awaitsAgent",
  "joinUrl",
  "joinToken",
  "tokenDigest",
  "agentIdentity",
  "conversationPrice",
  "voiceId",
  "model",
  "transcript",
  "recording",
  "hasConnectionHistory",
);

export type Caller = {
  tenantId: string | null;
  id: string | null;
  version: number | null;
  credentialKeyId: string | null;
  lineage: readonly string[] | null;
  sessionId: string | null;
  needsPasskey: boolean | null;
};
const caller = composite<Caller>(
  "tenantId",
  "id",
  "version",
  "credentialKeyId",
  "lineage",
  "sessionId",
  "needsPasskey",
);

export type Challenge = {
  nonce: Uint8Array | null;
  expiresAt: Date | null;
};
const challenge = composite<Challenge>("nonce", "expiresAt");

export type Claim = {
  request: string | null;
  idempotencyKey: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
const claim = composite<Claim>(
  "request",
  "idempotencyKey",
  "bodyHash",
  "status",
  "location",
  "etag",
  "responseBody",
  "sealedFor",
);

export type CreditEntry = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  amount: number | null;
  sessionId: string | null;
  reference: string | null;
  requestId: string | null;
  createdAt: Date | null;
};
const creditEntry = composite<CreditEntry>(
  "tenantId",
  "id",
  "environment",
  "kind",
  "amount",
  "sessionId",
  "reference",
  "requestId",
  "createdAt",
);

export type FinishedDelivery = {
  tenantId: string | null;
  id: string | null;
  lease: string | null;
  attemptCount: number | null;
  attempt: Record<string, unknown> | string | null;
  outcome: string | null;
  delayMs: number | null;
  slowMs: number | null;
};
const finishedDelivery = composite<FinishedDelivery>(
  "tenantId",
  "id",
  "lease",
  "attemptCount",
  "attempt",
  "outcome",
  "delayMs",
  "slowMs",
);

export type GrowthTerms = {
  aheadSeconds: number | null;
  lastSeconds: number | null;
  stepSeconds: number | null;
  leastSeconds: number | null;
};
const growthTerms = composite<GrowthTerms>("aheadSeconds", "lastSeconds", "stepSeconds", "leastSeconds");

export type Identity = {
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  issuer: string | null;
  subject: string | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};
const identity = composite<Identity>("tenantId", "id", "userId", "issuer", "subject", "createdAt", "lastUsedAt");

export type IdentityUse = {
  tenantId: string | null;
  identityId: string | null;
  userId: string | null;
  usedAt: Date | null;
};
const identityUse = composite<IdentityUse>("tenantId", "identityId", "userId", "usedAt");

export type Invitation = {
  tenantId: string | null;
  id: string | null;
  digest: Uint8Array | null;
  email: string | null;
  role: string | null;
  userId: string | null;
  createdBy: string | null;
  createdAt: Date | null;
  expiresAt: Date | null;
};
const invitation = composite<Invitation>(
  "tenantId",
  "id",
  "digest",
  "email",
  "role",
  "userId",
  "createdBy",
  "createdAt",
  "expiresAt",
);

export type Job = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  targetId: string | null;
  generation: number | null;
  runAt: Date | null;
};
const job = composite<Job>("tenantId", "id", "environment", "kind", "targetId", "generation", "runAt");

export type Member = {
  tenantId: string | null;
  id: string | null;
  email: string | null;
  name: string | null;
  role: string | null;
  version: number | null;
  createdAt: Date | null;
};
const member = composite<Member>("tenantId", "id", "email", "name", "role", "version", "createdAt");

export type NewTurn = {
  id: string | null;
  sessionId: string | null;
  kind: string | null;
  text: string | null;
  instructions: string | null;
  interrupts: boolean | null;
  createdAt: Date | null;
};
const newTurn = composite<NewTurn>("id", "sessionId", "kind", "text", "instructions", "interrupts", "createdAt");

export type Passkey = {
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  credentialId: Uint8Array | null;
  publicKey: Uint8Array | null;
  counter: number | null;
  transports: readonly string[] | null;
  isBackedUp: boolean | null;
  name: string | null;
  version: number | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};
const passkey = composite<Passkey>(
  "tenantId",
  "id",
  "userId",
  "credentialId",
  "publicKey",
  "counter",
  "transports",
  "isBackedUp",
  "name",
  "version",
  "createdAt",
  "lastUsedAt",
);

export type PreparationResult = {
  status: string | null;
  error: string | null;
  checks: Record<string, unknown> | string | null;
  cacheManifestId: string | null;
  previewToken: string | null;
  previewFile: string | null;
};
const preparationResult = composite<PreparationResult>(
  "status",
  "error",
  "checks",
  "cacheManifestId",
  "previewToken",
  "previewFile",
);

export type PreparationRules = {
  onSource: readonly string[] | null;
  onModel: readonly string[] | null;
  inBackground: readonly string[] | null;
};
const preparationRules = composite<PreparationRules>("onSource", "onModel", "inBackground");

export type RecordingFile = {
  id: string | null;
  key: string | null;
  sizeBytes: number | null;
  durationMs: number | null;
  mediaStartedAt: Date | null;
  mediaEndedAt: Date | null;
};
const recordingFile = composite<RecordingFile>(
  "id",
  "key",
  "sizeBytes",
  "durationMs",
  "mediaStartedAt",
  "mediaEndedAt",
);

export type ReportedCall = {
  sessionId: string | null;
  generation: number | null;
  state: string | null;
  usedSeconds: number | null;
  reason: string | null;
  roomNumber: number | null;
  gapCount: number | null;
  gapSeconds: number | null;
  lostProcesses: number | null;
  heldSeconds: number | null;
};
const reportedCall = composite<ReportedCall>(
  "sessionId",
  "generation",
  "state",
  "usedSeconds",
  "reason",
  "roomNumber",
  "gapCount",
  "gapSeconds",
  "lostProcesses",
  "heldSeconds",
);

export type ReportedTurn = {
  sessionId: string | null;
  generation: number | null;
  turnId: string | null;
  status: string | null;
  heard: string | null;
};
const reportedTurn = composite<ReportedTurn>("sessionId", "generation", "turnId", "status", "heard");

export type ReportedUsage = {
  sessionId: string | null;
  generation: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  estimatedTokens: number | null;
  heardSeconds: number | null;
  spokenCharacters: number | null;
};
const reportedUsage = composite<ReportedUsage>(
  "sessionId",
  "generation",
  "inputTokens",
  "outputTokens",
  "estimatedTokens",
  "heardSeconds",
  "spokenCharacters",
);

export type SessionChange = {
  environment: string | null;
  sessionId: string | null;
  isEngine: boolean | null;
  used: number | null;
  leaseSeconds: number | null;
  reason: string | null;
  settleEntryId: string | null;
  restEntryId: string | null;
  requestId: string | null;
};
const sessionChange = composite<SessionChange>(
  "environment",
  "sessionId",
  "isEngine",
  "used",
  "leaseSeconds",
  "reason",
  "settleEntryId",
  "restEntryId",
  "requestId",
);

export type SessionRequest = {
  id: string | null;
  environment: string | null;
  avatarId: string | null;
  maxSeconds: number | null;
  minSeconds: number | null;
  price: number | null;
  startSeconds: number | null;
  metadata: Record<string, unknown> | string | null;
  entryId: string | null;
  requestId: string | null;
  createdAt: Date | null;
};
const sessionRequest = composite<SessionRequest>(
  "id",
  "environment",
  "avatarId",
  "maxSeconds",
  "minSeconds",
  "price",
  "startSeconds",
  "metadata",
  "entryId",
  "requestId",
  "createdAt",
);

export type Target = {
  tenantId: string | null;
  id: string | null;
  version: number | null;
};
const target = composite<Target>("tenantId", "id", "version");

export type UserSession = {
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  passkeyId: string | null;
  digest: Uint8Array | null;
  userAgent: string | null;
  version: number | null;
  verifiedUntil: Date | null;
  createdAt: Date | null;
  expiresAt: Date | null;
  identityId: string | null;
};
const userSession = composite<UserSession>(
  "tenantId",
  "id",
  "userId",
  "passkeyId",
  "digest",
  "userAgent",
  "version",
  "verifiedUntil",
  "createdAt",
  "expiresAt",
  "identityId",
);

export type VideoErrorDetails = {
  keyEnded: string | null;
  sessionEnded: string | null;
  quotaExceeded: string | null;
};
const videoErrorDetails = composite<VideoErrorDetails>("keyEnded", "sessionEnded", "quotaExceeded");

export type VideoRequest = {
  id: string | null;
  environment: string | null;
  avatarId: string | null;
  text: string | null;
  audioAssetId: string | null;
  voiceId: string | null;
  voiceIds: readonly string[] | null;
  defaultVoiceId: string | null;
  seconds: number | null;
  maxAudioSeconds: number | null;
  price: number | null;
  maxVideos: number | null;
  sessionId: string | null;
  sessionMetadata: Record<string, unknown> | string | null;
  sessionSeconds: number | null;
  jobId: string | null;
  entryId: string | null;
  requestId: string | null;
  metadata: Record<string, unknown> | string | null;
  createdAt: Date | null;
};
const videoRequest = composite<VideoRequest>(
  "id",
  "environment",
  "avatarId",
  "text",
  "audioAssetId",
  "voiceId",
  "voiceIds",
  "defaultVoiceId",
  "seconds",
  "maxAudioSeconds",
  "price",
  "maxVideos",
  "sessionId",
  "sessionMetadata",
  "sessionSeconds",
  "jobId",
  "entryId",
  "requestId",
  "metadata",
  "createdAt",
);

export type VideoResult = {
  status: string | null;
  durationMs: number | null;
  warnings: readonly string[] | null;
  errorCode: string | null;
  errorDetail: string | null;
};
const videoResult = composite<VideoResult>("status", "durationMs", "warnings", "errorCode", "errorDetail");

export type WebhookEndpoint = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  url: string | null;
  description: string | null;
  events: readonly string[] | null;
  ordered: boolean | null;
  status: string | null;
  disabledReason: string | null;
  secret: Uint8Array | null;
  previousSecret: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  failingSince: Date | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
const webhookEndpoint = composite<WebhookEndpoint>(
  "tenantId",
  "id",
  "environment",
  "url",
  "description",
  "events",
  "ordered",
  "status",
  "disabledReason",
  "secret",
  "previousSecret",
  "previousSecretExpiresAt",
  "failingSince",
  "version",
  "createdAt",
  "updatedAt",
);

export type WebhookEndpointChange = {
  fields: readonly string[] | null;
  url: string | null;
  description: string | null;
  events: readonly string[] | null;
  ordered: boolean | null;
  status: string | null;
};
const webhookEndpointChange = composite<WebhookEndpointChange>(
  "fields",
  "url",
  "description",
  "events",
  "ordered",
  "status",
);

export type AcceptInvitationInput = {
  invitation: Invitation | null;
  user: Member | null;
  passkey: Passkey | null;
  identity: Identity | null;
  session: UserSession | null;
  challenge: Challenge | null;
  maxPasskeys: number | null;
  maxIdentities: number | null;
  maxSessions: number | null;
  idleSeconds: number | null;
  auditEvents: readonly (AuditEvent | null)[] | null;
  endedEvent: AuditEvent | null;
};
export type AcceptInvitationRow = {
  result: string | null;
};
export const acceptInvitation = databaseFunction<AcceptInvitationInput, AcceptInvitationRow>(
  "accept_invitation",
  {
    invitation: invitation,
    user: member,
    passkey: passkey,
    identity: identity,
    session: userSession,
    challenge: challenge,
    maxPasskeys: null,
    maxIdentities: null,
    maxSessions: null,
    idleSeconds: null,
    auditEvents: list(auditEvent),
    endedEvent: auditEvent,
  },
  'accept_invitation as "result"',
);

export type AddObservationsInput = {
  tenantId: string | null;
  sessionId: string | null;
  observations: string | null;
};
export type AddObservationsRow = {
  result: boolean | null;
};
export const addObservations = databaseFunction<AddObservationsInput, AddObservationsRow>(
  "add_observations",
  { tenantId: null, sessionId: null, observations: null },
  'add_observations as "result"',
);

export type AnnounceExpiringKeysInput = {
  limit: number | null;
};
export type AnnounceExpiringKeysRow = {
  result: number | null;
};
export const announceExpiringKeys = databaseFunction<AnnounceExpiringKeysInput, AnnounceExpiringKeysRow>(
  "announce_expiring_keys",
  { limit: null },
  'announce_expiring_keys as "result"',
);

export type AttachAgentInput = {
  tenantId: string | null;
  sessionId: string | null;
  avatarId: string | null;
  url: string | null;
  token: Uint8Array | null;
  digest: Uint8Array | null;
  identity: string | null;
};
export type AttachAgentRow = {
  result: string | null;
};
export const attachAgent = databaseFunction<AttachAgentInput, AttachAgentRow>(
  "attach_agent",
  { tenantId: null, sessionId: null, avatarId: null, url: null, token: null, digest: null, identity: null },
  'attach_agent as "result"',
);

export type ChangeCallLimitInput = {
  tenantId: string | null;
  environment: string | null;
  maxSeconds: number | null;
  auditEvent: AuditEvent | null;
};
export type ChangeCallLimitRow = {
  result: boolean | null;
};
export const changeCallLimit = databaseFunction<ChangeCallLimitInput, ChangeCallLimitRow>(
  "change_call_limit",
  { tenantId: null, environment: null, maxSeconds: null, auditEvent: auditEvent },
  'change_call_limit as "result"',
);

export type ChangeLowThresholdInput = {
  caller: Caller | null;
  tenantId: string | null;
  environment: string | null;
  lowThreshold: number | null;
  auditEvent: AuditEvent | null;
};
export type ChangeLowThresholdRow = {
  result: string | null;
};
export const changeLowThreshold = databaseFunction<ChangeLowThresholdInput, ChangeLowThresholdRow>(
  "change_low_threshold",
  { caller: caller, tenantId: null, environment: null, lowThreshold: null, auditEvent: auditEvent },
  'change_low_threshold as "result"',
);

export type ChangeSessionLimitInput = {
  tenantId: string | null;
  environment: string | null;
  sessionLimit: number | null;
  auditEvent: AuditEvent | null;
};
export type ChangeSessionLimitRow = {
  result: boolean | null;
};
export const changeSessionLimit = databaseFunction<ChangeSessionLimitInput, ChangeSessionLimitRow>(
  "change_session_limit",
  { tenantId: null, environment: null, sessionLimit: null, auditEvent: auditEvent },
  'change_session_limit as "result"',
);

export type ChangeTenantSettingsInput = {
  caller: Caller | null;
  tenantId: string | null;
  environment: string | null;
  keepsTranscripts: boolean | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type ChangeTenantSettingsRow = {
  outcome: string | null;
  keepsTranscripts: boolean | null;
  version: number | null;
  updatedAt: Date | null;
};
export const changeTenantSettings = databaseFunction<ChangeTenantSettingsInput, ChangeTenantSettingsRow>(
  "change_tenant_settings",
  { caller: caller, tenantId: null, environment: null, keepsTranscripts: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", keeps_transcripts as "keepsTranscripts", version as "version", updated_at as "updatedAt"',
);

export type ClaimDeliveriesInput = {
  lease: string | null;
  leaseSeconds: number | null;
  limit: number | null;
  perEndpoint: number | null;
  perTenant: number | null;
};
export type ClaimDeliveriesRow = {
  tenantId: string | null;
  environment: string | null;
  id: string | null;
  endpointId: string | null;
  eventId: string | null;
  eventType: string | null;
  targetId: string | null;
  sequence: string | null;
  eventCreatedAt: Date | null;
  body: string | null;
  attemptCount: number | null;
  url: string | null;
  secret: Uint8Array | null;
  previousSecret: Uint8Array | null;
};
export const claimDeliveries = databaseFunction<ClaimDeliveriesInput, ClaimDeliveriesRow>(
  "claim_deliveries",
  { lease: null, leaseSeconds: null, limit: null, perEndpoint: null, perTenant: null },
  'tenant_id as "tenantId", environment as "environment", id as "id", endpoint_id as "endpointId", event_id as "eventId", event_type as "eventType", target_id as "targetId", sequence as "sequence", event_created_at as "eventCreatedAt", body as "body", attempt_count as "attemptCount", url as "url", secret as "secret", previous_secret as "previousSecret"',
);

export type ClaimJobInput = {
  lease: string | null;
  leaseSeconds: number | null;
  slots: number | null;
  kinds: readonly string[] | null;
  isIdle: boolean | null;
};
export type ClaimJobRow = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  targetId: string | null;
  generation: number | null;
  runAt: Date | null;
  attempts: number | null;
  runsAlone: boolean | null;
};
export const claimJob = databaseFunction<ClaimJobInput, ClaimJobRow>(
  "claim_job",
  { lease: null, leaseSeconds: null, slots: null, kinds: null, isIdle: null },
  '(job).tenant_id as "tenantId", (job).id as "id", (job).environment as "environment", (job).kind as "kind", (job).target_id as "targetId", (job).generation as "generation", (job).run_at as "runAt", attempts as "attempts", runs_alone as "runsAlone"',
);

export type ClaimRecordingsInput = {
  lease: string | null;
  leaseSeconds: number | null;
  after: string | null;
  limit: number | null;
  perTenant: number | null;
  busyTenants: readonly string[] | null;
};
export type ClaimRecordingsRow = {
  tenantId: string | null;
  sessionId: string | null;
  environment: string | null;
  avatarId: string | null;
  callMode: string | null;
  startedAt: Date | null;
  endedAt: Date | null;
  attemptCount: number | null;
  recordings: object | null;
  fragments: object | null;
};
export const claimRecordings = databaseFunction<ClaimRecordingsInput, ClaimRecordingsRow>(
  "claim_recordings",
  { lease: null, leaseSeconds: null, after: null, limit: null, perTenant: null, busyTenants: null },
  'tenant_id as "tenantId", session_id as "sessionId", environment as "environment", avatar_id as "avatarId", call_mode as "callMode", started_at as "startedAt", ended_at as "endedAt", attempt_count as "attemptCount", recordings as "recordings", fragments as "fragments"',
);

export type ClaimTranscriptsInput = {
  lease: string | null;
  leaseSeconds: number | null;
  after: string | null;
  limit: number | null;
  perTenant: number | null;
  busyTenants: readonly string[] | null;
};
export type ClaimTranscriptsRow = {
  tenantId: string | null;
  sessionId: string | null;
  attemptCount: number | null;
  receiver: Uint8Array | null;
  avatarId: string | null;
  mode: string | null;
  startedAt: Date | null;
  endedAt: Date | null;
  metadata: object | null;
  isTruncated: boolean | null;
  segments: string[] | null;
};
export const claimTranscripts = databaseFunction<ClaimTranscriptsInput, ClaimTranscriptsRow>(
  "claim_transcripts",
  { lease: null, leaseSeconds: null, after: null, limit: null, perTenant: null, busyTenants: null },
  'tenant_id as "tenantId", session_id as "sessionId", attempt_count as "attemptCount", receiver as "receiver", avatar_id as "avatarId", mode as "mode", started_at as "startedAt", ended_at as "endedAt", metadata as "metadata", is_truncated as "isTruncated", segments as "segments"',
);

export type CompleteAssetInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  contentType: string | null;
  sizeBytes: number | null;
  job: Job | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type CompleteAssetRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  status: string | null;
  contentType: string | null;
  sizeBytes: string | null;
  sha256: string | null;
  publicToken: string | null;
  publicType: string | null;
  remoteUrl: string | null;
  reservedBytes: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  originalFilename: string | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  origin: string | null;
  durationMs: number | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const completeAsset = databaseFunction<CompleteAssetInput, CompleteAssetRow>(
  "complete_asset",
  {
    caller: caller,
    environment: null,
    id: null,
    contentType: null,
    sizeBytes: null,
    job: job,
    auditEvent: auditEvent,
    claim: claim,
  },
  'outcome as "outcome", (asset).tenant_id as "tenantId", (asset).id as "id", (asset).environment as "environment", (asset).kind as "kind", (asset).status as "status", (asset).content_type as "contentType", (asset).size_bytes as "sizeBytes", (asset).sha256 as "sha256", (asset).public_token as "publicToken", (asset).public_type as "publicType", (asset).remote_url as "remoteUrl", (asset).reserved_bytes as "reservedBytes", (asset).error_code as "errorCode", (asset).error_detail as "errorDetail", (asset).original_filename as "originalFilename", (asset).metadata as "metadata", (asset).version as "version", (asset).created_at as "createdAt", (asset).updated_at as "updatedAt", (asset).origin as "origin", (asset).duration_ms as "durationMs", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type ConfirmFirstUseInput = {
  keyId: string | null;
};
export type ConfirmFirstUseRow = {
  result: boolean | null;
};
export const confirmFirstUse = databaseFunction<ConfirmFirstUseInput, ConfirmFirstUseRow>(
  "confirm_first_use",
  { keyId: null },
  'confirm_first_use as "result"',
);

export type ConfirmRoomInput = {
  tenantId: string | null;
  sessionId: string | null;
  roomName: string | null;
};
export type ConfirmRoomRow = {
  result: string | null;
};
export const confirmRoom = databaseFunction<ConfirmRoomInput, ConfirmRoomRow>(
  "confirm_room",
  { tenantId: null, sessionId: null, roomName: null },
  'confirm_room as "result"',
);

export type CountJobsInput = {
  kinds: readonly string[] | null;
};
export type CountJobsRow = {
  queued: string | null;
  running: string | null;
  oldestSeconds: number | null;
};
export const countJobs = databaseFunction<CountJobsInput, CountJobsRow>(
  "count_jobs",
  { kinds: null },
  'queued as "queued", running as "running", oldest_seconds as "oldestSeconds"',
);

export type CountWebhookDeliveriesInput = Record<string, never>;
export type CountWebhookDeliveriesRow = {
  due: string | null;
  pending: string | null;
  oldestDueSeconds: number | null;
  disabledEndpoints: string | null;
};
export const countWebhookDeliveries = databaseFunction<CountWebhookDeliveriesInput, CountWebhookDeliveriesRow>(
  "count_webhook_deliveries",
  {},
  'due as "due", pending as "pending", oldest_due_seconds as "oldestDueSeconds", disabled_endpoints as "disabledEndpoints"',
);

export type CreateApiKeysInput = {
  callers: readonly (Caller | null)[] | null;
  callerAt: readonly number[] | null;
  apiKeys: readonly (ApiKey | null)[] | null;
  digests: readonly Uint8Array[] | null;
  auditEvents: readonly (AuditEvent | null)[] | null;
  claims: readonly (Claim | null)[] | null;
  maxActiveKeys: number | null;
  wait: boolean | null;
};
export type CreateApiKeysRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createApiKeys = databaseFunction<CreateApiKeysInput, CreateApiKeysRow>(
  "create_api_keys",
  {
    callers: list(caller),
    callerAt: list(),
    apiKeys: list(apiKey),
    digests: list(),
    auditEvents: list(auditEvent),
    claims: list(claim),
    maxActiveKeys: null,
    wait: null,
  },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateAssetInput = {
  caller: Caller | null;
  asset: Asset | null;
  job: Job | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
  maxAssets: number | null;
  maxBytes: number | null;
};
export type CreateAssetRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createAsset = databaseFunction<CreateAssetInput, CreateAssetRow>(
  "create_asset",
  { caller: caller, asset: asset, job: job, auditEvent: auditEvent, claim: claim, maxAssets: null, maxBytes: null },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateAvatarsInput = {
  callers: readonly (Caller | null)[] | null;
  callerAt: readonly number[] | null;
  avatars: readonly (Avatar | null)[] | null;
  jobs: readonly (Job | null)[] | null;
  auditEvents: readonly (AuditEvent | null)[] | null;
  claims: readonly (Claim | null)[] | null;
  wait: boolean | null;
};
export type CreateAvatarsRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createAvatars = databaseFunction<CreateAvatarsInput, CreateAvatarsRow>(
  "create_avatars",
  {
    callers: list(caller),
    callerAt: list(),
    avatars: list(avatar),
    jobs: list(job),
    auditEvents: list(auditEvent),
    claims: list(claim),
    wait: null,
  },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateFirstApiKeyInput = {
  tenantId: string | null;
  name: string | null;
  createdAt: Date | null;
  grants: readonly (CreditEntry | null)[] | null;
  apiKey: ApiKey | null;
  digest: Uint8Array | null;
  auditEvent: AuditEvent | null;
};
export type CreateFirstApiKeyRow = {
  result: boolean | null;
};
export const createFirstApiKey = databaseFunction<CreateFirstApiKeyInput, CreateFirstApiKeyRow>(
  "create_first_api_key",
  {
    tenantId: null,
    name: null,
    createdAt: null,
    grants: list(creditEntry),
    apiKey: apiKey,
    digest: null,
    auditEvent: auditEvent,
  },
  'create_first_api_key as "result"',
);

export type CreateIdentityInput = {
  caller: Caller | null;
  identity: Identity | null;
  attempt: Challenge | null;
  maxIdentities: number | null;
  auditEvent: AuditEvent | null;
};
export type CreateIdentityRow = {
  result: string | null;
};
export const createIdentity = databaseFunction<CreateIdentityInput, CreateIdentityRow>(
  "create_identity",
  { caller: caller, identity: identity, attempt: challenge, maxIdentities: null, auditEvent: auditEvent },
  'create_identity as "result"',
);

export type CreateInvitationInput = {
  caller: Caller | null;
  invitation: Invitation | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type CreateInvitationRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createInvitation = databaseFunction<CreateInvitationInput, CreateInvitationRow>(
  "create_invitation",
  { caller: caller, invitation: invitation, auditEvent: auditEvent, claim: claim },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreatePasskeyInput = {
  caller: Caller | null;
  passkey: Passkey | null;
  challenge: Challenge | null;
  maxPasskeys: number | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type CreatePasskeyRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createPasskey = databaseFunction<CreatePasskeyInput, CreatePasskeyRow>(
  "create_passkey",
  { caller: caller, passkey: passkey, challenge: challenge, maxPasskeys: null, auditEvent: auditEvent, claim: claim },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateRootApiKeyInput = {
  apiKey: ApiKey | null;
  digest: Uint8Array | null;
  auditEvent: AuditEvent | null;
};
export type CreateRootApiKeyRow = {
  result: boolean | null;
};
export const createRootApiKey = databaseFunction<CreateRootApiKeyInput, CreateRootApiKeyRow>(
  "create_root_api_key",
  { apiKey: apiKey, digest: null, auditEvent: auditEvent },
  'create_root_api_key as "result"',
);

export type CreateTenantInput = {
  tenantId: string | null;
  name: string | null;
  createdAt: Date | null;
  isFirst: boolean | null;
  grants: readonly (CreditEntry | null)[] | null;
};
export type CreateTenantRow = {
  result: boolean | null;
};
export const createTenant = databaseFunction<CreateTenantInput, CreateTenantRow>(
  "create_tenant",
  { tenantId: null, name: null, createdAt: null, isFirst: null, grants: list(creditEntry) },
  'create_tenant as "result"',
);

export type CreateTestDeliveryInput = {
  caller: Caller | null;
  environment: string | null;
  endpointId: string | null;
  eventId: string | null;
  deliveryId: string | null;
  createdAt: Date | null;
  attemptId: string | null;
  claim: Claim | null;
};
export type CreateTestDeliveryRow = {
  outcome: string | null;
  waitSeconds: number | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
  responseFields: object | null;
};
export const createTestDelivery = databaseFunction<CreateTestDeliveryInput, CreateTestDeliveryRow>(
  "create_test_delivery",
  {
    caller: caller,
    environment: null,
    endpointId: null,
    eventId: null,
    deliveryId: null,
    createdAt: null,
    attemptId: null,
    claim: claim,
  },
  'outcome as "outcome", wait_seconds as "waitSeconds", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor", response_fields as "responseFields"',
);

export type CreateTurnInput = {
  caller: Caller | null;
  environment: string | null;
  turn: NewTurn | null;
  maxWaiting: number | null;
  feature: string | null;
  answerFeature: string | null;
  attemptId: string | null;
  claim: Claim | null;
};
export type CreateTurnRow = {
  outcome: string | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createTurn = databaseFunction<CreateTurnInput, CreateTurnRow>(
  "create_turn",
  {
    caller: caller,
    environment: null,
    turn: newTurn,
    maxWaiting: null,
    feature: null,
    answerFeature: null,
    attemptId: null,
    claim: claim,
  },
  'outcome as "outcome", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateUserSessionInput = {
  session: UserSession | null;
  assertion: Assertion | null;
  identityUse: IdentityUse | null;
  challenge: Challenge | null;
  maxSessions: number | null;
  idleSeconds: number | null;
  auditEvent: AuditEvent | null;
  endedEvent: AuditEvent | null;
};
export type CreateUserSessionRow = {
  result: boolean | null;
};
export const createUserSession = databaseFunction<CreateUserSessionInput, CreateUserSessionRow>(
  "create_user_session",
  {
    session: userSession,
    assertion: assertion,
    identityUse: identityUse,
    challenge: challenge,
    maxSessions: null,
    idleSeconds: null,
    auditEvent: auditEvent,
    endedEvent: auditEvent,
  },
  'create_user_session as "result"',
);

export type CreateVideoInput = {
  caller: Caller | null;
  request: VideoRequest | null;
  claim: Claim | null;
};
export type CreateVideoRow = {
  kind: string | null;
  avatarStatus: string | null;
  assetStatus: string | null;
  limitedBy: string | null;
  required: string | null;
  decided: object | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createVideo = databaseFunction<CreateVideoInput, CreateVideoRow>(
  "create_video",
  { caller: caller, request: videoRequest, claim: claim },
  'kind as "kind", avatar_status as "avatarStatus", asset_status as "assetStatus", limited_by as "limitedBy", required as "required", decided as "decided", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type CreateWebhookEndpointInput = {
  caller: Caller | null;
  endpoint: WebhookEndpoint | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
  maxEndpoints: number | null;
};
export type CreateWebhookEndpointRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const createWebhookEndpoint = databaseFunction<CreateWebhookEndpointInput, CreateWebhookEndpointRow>(
  "create_webhook_endpoint",
  { caller: caller, endpoint: webhookEndpoint, auditEvent: auditEvent, claim: claim, maxEndpoints: null },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type DeleteAssetInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type DeleteAssetRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  status: string | null;
  contentType: string | null;
  sizeBytes: string | null;
  sha256: string | null;
  publicToken: string | null;
  publicType: string | null;
  remoteUrl: string | null;
  reservedBytes: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  originalFilename: string | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  origin: string | null;
  durationMs: number | null;
};
export const deleteAsset = databaseFunction<DeleteAssetInput, DeleteAssetRow>(
  "delete_asset",
  { caller: caller, environment: null, id: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (asset).tenant_id as "tenantId", (asset).id as "id", (asset).environment as "environment", (asset).kind as "kind", (asset).status as "status", (asset).content_type as "contentType", (asset).size_bytes as "sizeBytes", (asset).sha256 as "sha256", (asset).public_token as "publicToken", (asset).public_type as "publicType", (asset).remote_url as "remoteUrl", (asset).reserved_bytes as "reservedBytes", (asset).error_code as "errorCode", (asset).error_detail as "errorDetail", (asset).original_filename as "originalFilename", (asset).metadata as "metadata", (asset).version as "version", (asset).created_at as "createdAt", (asset).updated_at as "updatedAt", (asset).origin as "origin", (asset).duration_ms as "durationMs"',
);

export type DeleteGeneratedFilesInput = {
  eventIds: readonly string[] | null;
  requestId: string | null;
  createdAt: Date | null;
  createdBefore: Date | null;
};
export type DeleteGeneratedFilesRow = {
  result: number | null;
};
export const deleteGeneratedFiles = databaseFunction<DeleteGeneratedFilesInput, DeleteGeneratedFilesRow>(
  "delete_generated_files",
  { eventIds: null, requestId: null, createdAt: null, createdBefore: null },
  'delete_generated_files as "result"',
);

export type DeleteIdentityInput = {
  caller: Caller | null;
  id: string | null;
  issuer: string | null;
  auditEvent: AuditEvent | null;
};
export type DeleteIdentityRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  issuer: string | null;
  subject: string | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};
export const deleteIdentity = databaseFunction<DeleteIdentityInput, DeleteIdentityRow>(
  "delete_identity",
  { caller: caller, id: null, issuer: null, auditEvent: auditEvent },
  'outcome as "outcome", (identity).tenant_id as "tenantId", (identity).id as "id", (identity).user_id as "userId", (identity).issuer as "issuer", (identity).subject as "subject", (identity).created_at as "createdAt", (identity).last_used_at as "lastUsedAt"',
);

export type DeleteInvitationInput = {
  caller: Caller | null;
  id: string | null;
  auditEvent: AuditEvent | null;
};
export type DeleteInvitationRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  digest: Uint8Array | null;
  email: string | null;
  role: string | null;
  userId: string | null;
  createdBy: string | null;
  createdAt: Date | null;
  expiresAt: Date | null;
};
export const deleteInvitation = databaseFunction<DeleteInvitationInput, DeleteInvitationRow>(
  "delete_invitation",
  { caller: caller, id: null, auditEvent: auditEvent },
  'outcome as "outcome", (invitation).tenant_id as "tenantId", (invitation).id as "id", (invitation).digest as "digest", (invitation).email as "email", (invitation).role as "role", (invitation).user_id as "userId", (invitation).created_by as "createdBy", (invitation).created_at as "createdAt", (invitation).expires_at as "expiresAt"',
);

export type DeleteKeptTranscriptInput = {
  caller: Caller | null;
  environment: string | null;
  sessionId: string | null;
  auditEvent: AuditEvent | null;
};
export type DeleteKeptTranscriptRow = {
  result: string | null;
};
export const deleteKeptTranscript = databaseFunction<DeleteKeptTranscriptInput, DeleteKeptTranscriptRow>(
  "delete_kept_transcript",
  { caller: caller, environment: null, sessionId: null, auditEvent: auditEvent },
  'delete_kept_transcript as "result"',
);

export type DeletePasskeyInput = {
  caller: Caller | null;
  id: string | null;
  versions: readonly string[] | null;
  issuer: string | null;
  auditEvent: AuditEvent | null;
};
export type DeletePasskeyRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  credentialId: Uint8Array | null;
  publicKey: Uint8Array | null;
  counter: string | null;
  transports: string[] | null;
  isBackedUp: boolean | null;
  name: string | null;
  version: number | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};
export const deletePasskey = databaseFunction<DeletePasskeyInput, DeletePasskeyRow>(
  "delete_passkey",
  { caller: caller, id: null, versions: null, issuer: null, auditEvent: auditEvent },
  'outcome as "outcome", (passkey).tenant_id as "tenantId", (passkey).id as "id", (passkey).user_id as "userId", (passkey).credential_id as "credentialId", (passkey).public_key as "publicKey", (passkey).counter as "counter", (passkey).transports as "transports", (passkey).is_backed_up as "isBackedUp", (passkey).name as "name", (passkey).version as "version", (passkey).created_at as "createdAt", (passkey).last_used_at as "lastUsedAt"',
);

export type DeleteRecordingInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  auditEvent: AuditEvent | null;
};
export type DeleteRecordingRow = {
  result: string | null;
};
export const deleteRecording = databaseFunction<DeleteRecordingInput, DeleteRecordingRow>(
  "delete_recording",
  { caller: caller, environment: null, id: null, auditEvent: auditEvent },
  'delete_recording as "result"',
);

export type DeleteUserInput = {
  caller: Caller | null;
  tenantId: string | null;
  id: string | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type DeleteUserRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  email: string | null;
  name: string | null;
  role: string | null;
  version: number | null;
  createdAt: Date | null;
};
export const deleteUser = databaseFunction<DeleteUserInput, DeleteUserRow>(
  "delete_user",
  { caller: caller, tenantId: null, id: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (member).tenant_id as "tenantId", (member).id as "id", (member).email as "email", (member).name as "name", (member).role as "role", (member).version as "version", (member).created_at as "createdAt"',
);

export type DeleteVideoInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  versions: readonly string[] | null;
  manages: boolean | null;
  auditEvent: AuditEvent | null;
};
export type DeleteVideoRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  avatarId: string | null;
  text: string | null;
  audioAssetId: string | null;
  voiceId: string | null;
  status: string | null;
  progress: number | null;
  assetId: string | null;
  durationMs: number | null;
  billedSeconds: string | null;
  billedCreditMicros: string | null;
  reservedCreditMicros: string | null;
  sessionId: string | null;
  apiKeyId: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  warnings: string[] | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  deletedAssetId: string | null;
};
export const deleteVideo = databaseFunction<DeleteVideoInput, DeleteVideoRow>(
  "delete_video",
  { caller: caller, environment: null, id: null, versions: null, manages: null, auditEvent: auditEvent },
  'outcome as "outcome", (video).tenant_id as "tenantId", (video).id as "id", (video).environment as "environment", (video).avatar_id as "avatarId", (video).text as "text", (video).audio_asset_id as "audioAssetId", (video).voice_id as "voiceId", (video).status as "status", (video).progress as "progress", (video).asset_id as "assetId", (video).duration_ms as "durationMs", (video).billed_seconds as "billedSeconds", (video).billed_credit_micros as "billedCreditMicros", (video).reserved_credit_micros as "reservedCreditMicros", (video).session_id as "sessionId", (video).api_key_id as "apiKeyId", (video).error_code as "errorCode", (video).error_detail as "errorDetail", (video).warnings as "warnings", (video).metadata as "metadata", (video).version as "version", (video).created_at as "createdAt", (video).updated_at as "updatedAt", deleted_asset_id as "deletedAssetId"',
);

export type DeleteWebhookEndpointInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type DeleteWebhookEndpointRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  url: string | null;
  description: string | null;
  events: string[] | null;
  ordered: boolean | null;
  status: string | null;
  disabledReason: string | null;
  secret: Uint8Array | null;
  previousSecret: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  failingSince: Date | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const deleteWebhookEndpoint = databaseFunction<DeleteWebhookEndpointInput, DeleteWebhookEndpointRow>(
  "delete_webhook_endpoint",
  { caller: caller, environment: null, id: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (endpoint).tenant_id as "tenantId", (endpoint).id as "id", (endpoint).environment as "environment", (endpoint).url as "url", (endpoint).description as "description", (endpoint).events as "events", (endpoint).ordered as "ordered", (endpoint).status as "status", (endpoint).disabled_reason as "disabledReason", (endpoint).secret as "secret", (endpoint).previous_secret as "previousSecret", (endpoint).previous_secret_expires_at as "previousSecretExpiresAt", (endpoint).failing_since as "failingSince", (endpoint).version as "version", (endpoint).created_at as "createdAt", (endpoint).updated_at as "updatedAt"',
);

export type DisableWebhookEndpointInput = {
  tenantId: string | null;
  id: string | null;
  auditEvent: AuditEvent | null;
};
export type DisableWebhookEndpointRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  url: string | null;
  description: string | null;
  events: string[] | null;
  ordered: boolean | null;
  status: string | null;
  disabledReason: string | null;
  secret: Uint8Array | null;
  previousSecret: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  failingSince: Date | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const disableWebhookEndpoint = databaseFunction<DisableWebhookEndpointInput, DisableWebhookEndpointRow>(
  "disable_webhook_endpoint",
  { tenantId: null, id: null, auditEvent: auditEvent },
  'outcome as "outcome", (endpoint).tenant_id as "tenantId", (endpoint).id as "id", (endpoint).environment as "environment", (endpoint).url as "url", (endpoint).description as "description", (endpoint).events as "events", (endpoint).ordered as "ordered", (endpoint).status as "status", (endpoint).disabled_reason as "disabledReason", (endpoint).secret as "secret", (endpoint).previous_secret as "previousSecret", (endpoint).previous_secret_expires_at as "previousSecretExpiresAt", (endpoint).failing_since as "failingSince", (endpoint).version as "version", (endpoint).created_at as "createdAt", (endpoint).updated_at as "updatedAt"',
);

export type EndDueCallsInput = {
  entryIds: readonly string[] | null;
  requestId: string | null;
};
export type EndDueCallsRow = {
  ended: number | null;
  rooms: string[] | null;
};
export const endDueCalls = databaseFunction<EndDueCallsInput, EndDueCallsRow>(
  "end_due_calls",
  { entryIds: null, requestId: null },
  'ended as "ended", rooms as "rooms"',
);

export type EndLostCallInput = {
  tenantId: string | null;
  sessionId: string | null;
  reason: string | null;
  settleEntryId: string | null;
  restEntryId: string | null;
  requestId: string | null;
  auditEvent: AuditEvent | null;
};
export type EndLostCallRow = {
  result: string | null;
};
export const endLostCall = databaseFunction<EndLostCallInput, EndLostCallRow>(
  "end_lost_call",
  {
    tenantId: null,
    sessionId: null,
    reason: null,
    settleEntryId: null,
    restEntryId: null,
    requestId: null,
    auditEvent: auditEvent,
  },
  'end_lost_call as "result"',
);

export type EndUserSessionInput = {
  caller: Caller | null;
  id: string | null;
  ofOthers: boolean | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type EndUserSessionRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  passkeyId: string | null;
  digest: Uint8Array | null;
  userAgent: string | null;
  version: number | null;
  verifiedUntil: Date | null;
  createdAt: Date | null;
  expiresAt: Date | null;
  identityId: string | null;
};
export const endUserSession = databaseFunction<EndUserSessionInput, EndUserSessionRow>(
  "end_user_session",
  { caller: caller, id: null, ofOthers: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (user_session).tenant_id as "tenantId", (user_session).id as "id", (user_session).user_id as "userId", (user_session).passkey_id as "passkeyId", (user_session).digest as "digest", (user_session).user_agent as "userAgent", (user_session).version as "version", (user_session).verified_until as "verifiedUntil", (user_session).created_at as "createdAt", (user_session).expires_at as "expiresAt", (user_session).identity_id as "identityId"',
);

export type ExpireWorkersInput = {
  entryIds: readonly string[] | null;
  requestId: string | null;
};
export type ExpireWorkersRow = {
  moved: number | null;
  ended: number | null;
  rooms: string[] | null;
  waiting: number | null;
};
export const expireWorkers = databaseFunction<ExpireWorkersInput, ExpireWorkersRow>(
  "expire_workers",
  { entryIds: null, requestId: null },
  'moved as "moved", ended as "ended", rooms as "rooms", waiting as "waiting"',
);

export type FailAbandonedUploadsInput = {
  eventIds: readonly string[] | null;
  requestId: string | null;
  createdAt: Date | null;
  detail: string | null;
};
export type FailAbandonedUploadsRow = {
  result: number | null;
};
export const failAbandonedUploads = databaseFunction<FailAbandonedUploadsInput, FailAbandonedUploadsRow>(
  "fail_abandoned_uploads",
  { eventIds: null, requestId: null, createdAt: null, detail: null },
  'fail_abandoned_uploads as "result"',
);

export type FailCallInput = {
  tenantId: string | null;
  sessionId: string | null;
  callerId: string | null;
  claim: Claim | null;
  settleEntryId: string | null;
  restEntryId: string | null;
  requestId: string | null;
};
export type FailCallRow = {
  result: boolean | null;
};
export const failCall = databaseFunction<FailCallInput, FailCallRow>(
  "fail_call",
  {
    tenantId: null,
    sessionId: null,
    callerId: null,
    claim: claim,
    settleEntryId: null,
    restEntryId: null,
    requestId: null,
  },
  'fail_call as "result"',
);

export type FailWaitingVideosInput = {
  limit: number | null;
  maxHours: number | null;
  detail: string | null;
  requestId: string | null;
};
export type FailWaitingVideosRow = {
  result: number | null;
};
export const failWaitingVideos = databaseFunction<FailWaitingVideosInput, FailWaitingVideosRow>(
  "fail_waiting_videos",
  { limit: null, maxHours: null, detail: null, requestId: null },
  'fail_waiting_videos as "result"',
);

export type FindDueWorkInput = Record<string, never>;
export type FindDueWorkRow = {
  jobs: boolean | null;
  deliveries: boolean | null;
  transcripts: boolean | null;
  recordings: boolean | null;
};
export const findDueWork = databaseFunction<FindDueWorkInput, FindDueWorkRow>(
  "find_due_work",
  {},
  'jobs as "jobs", deliveries as "deliveries", transcripts as "transcripts", recordings as "recordings"',
);

export type FindFragmentOwnerInput = {
  workerId: string | null;
  sessionId: string | null;
  generation: number | null;
  n: number | null;
  sizeBytes: number | null;
  maxBytes: number | null;
};
export type FindFragmentOwnerRow = {
  tenantId: string | null;
  outcome: string | null;
};
export const findFragmentOwner = databaseFunction<FindFragmentOwnerInput, FindFragmentOwnerRow>(
  "find_fragment_owner",
  { workerId: null, sessionId: null, generation: null, n: null, sizeBytes: null, maxBytes: null },
  'tenant_id as "tenantId", outcome as "outcome"',
);

export type FindInvitationInput = {
  tenantId: string | null;
  id: string | null;
};
export type FindInvitationRow = {
  tenantId: string | null;
  id: string | null;
  digest: Uint8Array | null;
  email: string | null;
  role: string | null;
  userId: string | null;
  createdBy: string | null;
  createdAt: Date | null;
  expiresAt: Date | null;
  tenantName: string | null;
  isValid: boolean | null;
};
export const findInvitation = databaseFunction<FindInvitationInput, FindInvitationRow>(
  "find_invitation",
  { tenantId: null, id: null },
  '(invitation).tenant_id as "tenantId", (invitation).id as "id", (invitation).digest as "digest", (invitation).email as "email", (invitation).role as "role", (invitation).user_id as "userId", (invitation).created_by as "createdBy", (invitation).created_at as "createdAt", (invitation).expires_at as "expiresAt", tenant_name as "tenantName", is_valid as "isValid"',
);

export type FindOneCredentialInput = {
  keyId: string | null;
  targetId: string | null;
  including: string | null;
};
export type FindOneCredentialRow = {
  digest: Uint8Array | null;
  retired: boolean | null;
  isUnused: boolean | null;
  mayReport: boolean | null;
  isCaller: boolean | null;
  checkedAt: Date | null;
  hasPendingChange: boolean | null;
  headroom: object | null;
  balance: object | null;
  status: string | null;
  tenantId: string | null;
  id: string | null;
  keyId: string | null;
  environment: string | null;
  name: string | null;
  scopes: string[] | null;
  spendLimitCreditMicros: string | null;
  inheritedSpendLimitCreditMicros: string | null;
  maxConcurrentSessions: string | null;
  inheritedMaxConcurrentSessions: string | null;
  expiresAt: Date | null;
  inheritedExpiresAt: Date | null;
  lineage: string[] | null;
  version: number | null;
  spentCreditMicros: string | null;
  reservedCreditMicros: string | null;
  lastUsedAt: Date | null;
  createdAt: Date | null;
};
export const findOneCredential = databaseFunction<FindOneCredentialInput, FindOneCredentialRow>(
  "find_one_credential",
  { keyId: null, targetId: null, including: null },
  'digest as "digest", retired as "retired", is_unused as "isUnused", may_report as "mayReport", is_caller as "isCaller", checked_at as "checkedAt", has_pending_change as "hasPendingChange", headroom as "headroom", balance as "balance", status as "status", tenant_id as "tenantId", id as "id", key_id as "keyId", environment as "environment", name as "name", scopes as "scopes", spend_limit_credit_micros as "spendLimitCreditMicros", inherited_spend_limit_credit_micros as "inheritedSpendLimitCreditMicros", max_concurrent_sessions as "maxConcurrentSessions", inherited_max_concurrent_sessions as "inheritedMaxConcurrentSessions", expires_at as "expiresAt", inherited_expires_at as "inheritedExpiresAt", lineage as "lineage", version as "version", spent_credit_micros as "spentCreditMicros", reserved_credit_micros as "reservedCreditMicros", last_used_at as "lastUsedAt", created_at as "createdAt"',
);

export type FinishAssetInput = {
  job: Job | null;
  lease: string | null;
  result: AssetResult | null;
  auditEvent: AuditEvent | null;
};
export type FinishAssetRow = {
  result: boolean | null;
};
export const finishAsset = databaseFunction<FinishAssetInput, FinishAssetRow>(
  "finish_asset",
  { job: job, lease: null, result: assetResult, auditEvent: auditEvent },
  'finish_asset as "result"',
);

export type FinishDeliveriesInput = {
  finished: readonly (FinishedDelivery | null)[] | null;
  auditEventIds: readonly string[] | null;
  requestId: string | null;
  createdAt: Date | null;
};
export type FinishDeliveriesRow = {
  result: number | null;
};
export const finishDeliveries = databaseFunction<FinishDeliveriesInput, FinishDeliveriesRow>(
  "finish_deliveries",
  { finished: list(finishedDelivery), auditEventIds: null, requestId: null, createdAt: null },
  'finish_deliveries as "result"',
);

export type FinishPreparationInput = {
  job: Job | null;
  lease: string | null;
  result: PreparationResult | null;
  auditEvent: AuditEvent | null;
};
export type FinishPreparationRow = {
  result: boolean | null;
};
export const finishPreparation = databaseFunction<FinishPreparationInput, FinishPreparationRow>(
  "finish_preparation",
  { job: job, lease: null, result: preparationResult, auditEvent: auditEvent },
  'finish_preparation as "result"',
);

export type FinishRecordingsInput = {
  tenantId: string | null;
  sessionId: string | null;
  lease: string | null;
  delayMs: number | null;
  files: readonly (RecordingFile | null)[] | null;
  errorCode: string | null;
};
export type FinishRecordingsRow = {
  result: boolean | null;
};
export const finishRecordings = databaseFunction<FinishRecordingsInput, FinishRecordingsRow>(
  "finish_recordings",
  { tenantId: null, sessionId: null, lease: null, delayMs: null, files: list(recordingFile), errorCode: null },
  'finish_recordings as "result"',
);

export type FinishTranscriptInput = {
  tenantId: string | null;
  sessionId: string | null;
  lease: string | null;
  delayMs: number | null;
  isAttempt: boolean | null;
};
export type FinishTranscriptRow = {
  result: boolean | null;
};
export const finishTranscript = databaseFunction<FinishTranscriptInput, FinishTranscriptRow>(
  "finish_transcript",
  { tenantId: null, sessionId: null, lease: null, delayMs: null, isAttempt: null },
  'finish_transcript as "result"',
);

export type FinishVideoInput = {
  job: Job | null;
  lease: string | null;
  result: VideoResult | null;
  asset: Asset | null;
  maxAssets: number | null;
  maxBytes: number | null;
  details: VideoErrorDetails | null;
  requestId: string | null;
};
export type FinishVideoRow = {
  result: string | null;
};
export const finishVideo = databaseFunction<FinishVideoInput, FinishVideoRow>(
  "finish_video",
  {
    job: job,
    lease: null,
    result: videoResult,
    asset: asset,
    maxAssets: null,
    maxBytes: null,
    details: videoErrorDetails,
    requestId: null,
  },
  'finish_video as "result"',
);

export type FreezeBodiesInput = {
  tenantIds: readonly string[] | null;
  eventIds: readonly string[] | null;
  bodies: readonly string[] | null;
};
export type FreezeBodiesRow = {
  result: string | null;
};
export const freezeBodies = databaseFunction<FreezeBodiesInput, FreezeBodiesRow>(
  "freeze_bodies",
  { tenantIds: null, eventIds: null, bodies: null },
  'freeze_bodies as "result"',
);

export type GrowHoldsInput = {
  terms: GrowthTerms | null;
  entryIds: readonly string[] | null;
  requestId: string | null;
};
export type GrowHoldsRow = {
  grown: number | null;
};
export const growHolds = databaseFunction<GrowHoldsInput, GrowHoldsRow>(
  "grow_holds",
  { terms: growthTerms, entryIds: null, requestId: null },
  'grown as "grown"',
);

export type MoveCreditsInput = {
  entry: CreditEntry | null;
  auditEvent: AuditEvent | null;
};
export type MoveCreditsRow = {
  result: string | null;
};
export const moveCredits = databaseFunction<MoveCreditsInput, MoveCreditsRow>(
  "move_credits",
  { entry: creditEntry, auditEvent: auditEvent },
  'move_credits as "result"',
);

export type OpenUsageSessionsInput = {
  callers: readonly (Caller | null)[] | null;
  callerAt: readonly number[] | null;
  requests: readonly (SessionRequest | null)[] | null;
  calls: readonly (CallRequest | null)[] | null;
  claims: readonly (Claim | null)[] | null;
  wait: boolean | null;
};
export type OpenUsageSessionsRow = {
  kind: string | null;
  limitedBy: string | null;
  sessionLimit: string | null;
  reserved: string | null;
  expiresAt: Date | null;
  avatarName: string | null;
  avatarStatus: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
  responseFields: object | null;
  ticketId: string | null;
  queuePosition: number | null;
  queueSize: number | null;
  sessionId: string | null;
  price: string | null;
  slotAt: number | null;
  unsupported: string[] | null;
};
export const openUsageSessions = databaseFunction<OpenUsageSessionsInput, OpenUsageSessionsRow>(
  "open_usage_sessions",
  {
    callers: list(caller),
    callerAt: list(),
    requests: list(sessionRequest),
    calls: list(callRequest),
    claims: list(claim),
    wait: null,
  },
  'kind as "kind", limited_by as "limitedBy", session_limit as "sessionLimit", reserved as "reserved", expires_at as "expiresAt", avatar_name as "avatarName", avatar_status as "avatarStatus", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor", response_fields as "responseFields", ticket_id as "ticketId", queue_position as "queuePosition", queue_size as "queueSize", session_id as "sessionId", price as "price", slot_at as "slotAt", unsupported as "unsupported"',
);

export type PreloadAvatarInput = {
  caller: Caller | null;
  environment: string | null;
  avatarId: string | null;
  preloadId: string | null;
  feature: string | null;
  seconds: number | null;
  claim: Claim | null;
};
export type PreloadAvatarRow = {
  outcome: string | null;
  avatarStatus: string | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const preloadAvatar = databaseFunction<PreloadAvatarInput, PreloadAvatarRow>(
  "preload_avatar",
  { caller: caller, environment: null, avatarId: null, preloadId: null, feature: null, seconds: null, claim: claim },
  'outcome as "outcome", avatar_status as "avatarStatus", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type PrepareAvatarInput = {
  caller: Caller | null;
  tenantId: string | null;
  environment: string | null;
  id: string | null;
  version: number | null;
  statuses: readonly string[] | null;
  inBackground: readonly string[] | null;
  jobId: string | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type PrepareAvatarRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  displayName: string | null;
  sourceKind: string | null;
  modelId: string | null;
  status: string | null;
  sourceAssetId: string | null;
  pendingSourceAssetId: string | null;
  defaultVoiceId: string | null;
  generation: number | null;
  error: string | null;
  checks: object | null;
  previewToken: string | null;
  previewFile: string | null;
  cacheManifestId: string | null;
  cacheVersion: string | null;
  settings: object | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const prepareAvatar = databaseFunction<PrepareAvatarInput, PrepareAvatarRow>(
  "prepare_avatar",
  {
    caller: caller,
    tenantId: null,
    environment: null,
    id: null,
    version: null,
    statuses: null,
    inBackground: null,
    jobId: null,
    auditEvent: auditEvent,
    claim: claim,
  },
  'outcome as "outcome", (avatar).tenant_id as "tenantId", (avatar).id as "id", (avatar).environment as "environment", (avatar).display_name as "displayName", (avatar).source_kind as "sourceKind", (avatar).model_id as "modelId", (avatar).status as "status", (avatar).source_asset_id as "sourceAssetId", (avatar).pending_source_asset_id as "pendingSourceAssetId", (avatar).default_voice_id as "defaultVoiceId", (avatar).generation as "generation", (avatar).error as "error", (avatar).checks as "checks", (avatar).preview_token as "previewToken", (avatar).preview_file as "previewFile", (avatar).cache_manifest_id as "cacheManifestId", (avatar).cache_version as "cacheVersion", (avatar).settings as "settings", (avatar).metadata as "metadata", (avatar).version as "version", (avatar).created_at as "createdAt", (avatar).updated_at as "updatedAt", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type RecoverDeliveriesInput = {
  caller: Caller | null;
  tenantId: string | null;
  environment: string | null;
  endpointId: string | null;
  firstId: string | null;
  limit: number | null;
  attemptId: string | null;
  claim: Claim | null;
};
export type RecoverDeliveriesRow = {
  outcome: string | null;
  recovered: number | null;
  pausedUntil: string | null;
  nextRecoveryAt: string | null;
  waitSeconds: number | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
  responseFields: object | null;
};
export const recoverDeliveries = databaseFunction<RecoverDeliveriesInput, RecoverDeliveriesRow>(
  "recover_deliveries",
  {
    caller: caller,
    tenantId: null,
    environment: null,
    endpointId: null,
    firstId: null,
    limit: null,
    attemptId: null,
    claim: claim,
  },
  'outcome as "outcome", recovered as "recovered", paused_until as "pausedUntil", next_recovery_at as "nextRecoveryAt", wait_seconds as "waitSeconds", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor", response_fields as "responseFields"',
);

export type ReleaseCallInput = {
  caller: Caller | null;
  environment: string | null;
  sessionId: string | null;
  ticketId: string | null;
  reason: string | null;
  isAway: boolean | null;
  settleEntryId: string | null;
  restEntryId: string | null;
  requestId: string | null;
  claim: Claim | null;
};
export type ReleaseCallRow = {
  kind: string | null;
  hasEnded: boolean | null;
  roomName: string | null;
  bodyHash: Uint8Array | null;
};
export const releaseCall = databaseFunction<ReleaseCallInput, ReleaseCallRow>(
  "release_call",
  {
    caller: caller,
    environment: null,
    sessionId: null,
    ticketId: null,
    reason: null,
    isAway: null,
    settleEntryId: null,
    restEntryId: null,
    requestId: null,
    claim: claim,
  },
  'kind as "kind", has_ended as "hasEnded", room_name as "roomName", body_hash as "bodyHash"',
);

export type ReleaseSessionsInput = {
  callers: readonly (Caller | null)[] | null;
  callerAt: readonly number[] | null;
  changes: readonly (SessionChange | null)[] | null;
  claims: readonly (Claim | null)[] | null;
  wait: boolean | null;
};
export type ReleaseSessionsRow = {
  kind: string | null;
  hasEnded: boolean | null;
  session: object | null;
  bodyHash: Uint8Array | null;
  etag: string | null;
};
export const releaseSessions = databaseFunction<ReleaseSessionsInput, ReleaseSessionsRow>(
  "release_sessions",
  { callers: list(caller), callerAt: list(), changes: list(sessionChange), claims: list(claim), wait: null },
  'kind as "kind", has_ended as "hasEnded", session as "session", body_hash as "bodyHash", etag as "etag"',
);

export type RenewJobInput = {
  job: Job | null;
  lease: string | null;
  leaseSeconds: number | null;
};
export type RenewJobRow = {
  result: boolean | null;
};
export const renewJob = databaseFunction<RenewJobInput, RenewJobRow>(
  "renew_job",
  { job: job, lease: null, leaseSeconds: null },
  'renew_job as "result"',
);

export type RenewRecordingsInput = {
  tenantId: string | null;
  sessionId: string | null;
  lease: string | null;
  leaseSeconds: number | null;
};
export type RenewRecordingsRow = {
  result: boolean | null;
};
export const renewRecordings = databaseFunction<RenewRecordingsInput, RenewRecordingsRow>(
  "renew_recordings",
  { tenantId: null, sessionId: null, lease: null, leaseSeconds: null },
  'renew_recordings as "result"',
);

export type ReportUsagesInput = {
  callers: readonly (Caller | null)[] | null;
  callerAt: readonly number[] | null;
  changes: readonly (SessionChange | null)[] | null;
  claims: readonly (Claim | null)[] | null;
  wait: boolean | null;
};
export type ReportUsagesRow = {
  kind: string | null;
  hasEnded: boolean | null;
  session: object | null;
  bodyHash: Uint8Array | null;
  etag: string | null;
};
export const reportUsages = databaseFunction<ReportUsagesInput, ReportUsagesRow>(
  "report_usages",
  { callers: list(caller), callerAt: list(), changes: list(sessionChange), claims: list(claim), wait: null },
  'kind as "kind", has_ended as "hasEnded", session as "session", body_hash as "bodyHash", etag as "etag"',
);

export type ReportVideoInput = {
  job: Job | null;
  lease: string | null;
  progress: number | null;
};
export type ReportVideoRow = {
  result: string | null;
};
export const reportVideo = databaseFunction<ReportVideoInput, ReportVideoRow>(
  "report_video",
  { job: job, lease: null, progress: null },
  'report_video as "result"',
);

export type ResendDeliveryInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  attemptId: string | null;
  claim: Claim | null;
};
export type ResendDeliveryRow = {
  outcome: string | null;
  waitSeconds: number | null;
  bodyHash: Uint8Array | null;
  responseStatus: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
  responseFields: object | null;
};
export const resendDelivery = databaseFunction<ResendDeliveryInput, ResendDeliveryRow>(
  "resend_delivery",
  { caller: caller, environment: null, id: null, attemptId: null, claim: claim },
  'outcome as "outcome", wait_seconds as "waitSeconds", body_hash as "bodyHash", response_status as "responseStatus", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor", response_fields as "responseFields"',
);

export type ResumeCallInput = {
  caller: Caller | null;
  environment: string | null;
  sessionId: string | null;
  roomNumber: number | null;
  roomName: string | null;
  claim: Claim | null;
};
export type ResumeCallRow = {
  result: string | null;
};
export const resumeCall = databaseFunction<ResumeCallInput, ResumeCallRow>(
  "resume_call",
  { caller: caller, environment: null, sessionId: null, roomNumber: null, roomName: null, claim: claim },
  'resume_call as "result"',
);

export type RetryJobInput = {
  job: Job | null;
  lease: string | null;
  error: string | null;
  delayMs: number | null;
  maxAttempts: number | null;
  detail: string | null;
  auditEvent: AuditEvent | null;
  requestId: string | null;
};
export type RetryJobRow = {
  result: string | null;
};
export const retryJob = databaseFunction<RetryJobInput, RetryJobRow>(
  "retry_job",
  {
    job: job,
    lease: null,
    error: null,
    delayMs: null,
    maxAttempts: null,
    detail: null,
    auditEvent: auditEvent,
    requestId: null,
  },
  'retry_job as "result"',
);

export type RevokeApiKeyInput = {
  caller: Caller | null;
  reporterKeyId: string | null;
  target: Target | null;
  auditEvent: AuditEvent | null;
};
export type RevokeApiKeyRow = {
  tenantId: string | null;
  id: string | null;
  keyId: string | null;
  environment: string | null;
  name: string | null;
  scopes: string[] | null;
  spendLimitCreditMicros: string | null;
  maxConcurrentSessions: string | null;
  expiresAt: Date | null;
  lineage: string[] | null;
  version: number | null;
  createdAt: Date | null;
};
export const revokeApiKey = databaseFunction<RevokeApiKeyInput, RevokeApiKeyRow>(
  "revoke_api_key",
  { caller: caller, reporterKeyId: null, target: target, auditEvent: auditEvent },
  'tenant_id as "tenantId", id as "id", key_id as "keyId", environment as "environment", name as "name", scopes as "scopes", spend_limit_credit_micros as "spendLimitCreditMicros", max_concurrent_sessions as "maxConcurrentSessions", expires_at as "expiresAt", lineage as "lineage", version as "version", created_at as "createdAt"',
);

export type RotateApiKeyInput = {
  caller: Caller | null;
  target: Target | null;
  keyId: string | null;
  digest: Uint8Array | null;
  overlapSeconds: number | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type RotateApiKeyRow = {
  kind: string | null;
  waitSeconds: number | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const rotateApiKey = databaseFunction<RotateApiKeyInput, RotateApiKeyRow>(
  "rotate_api_key",
  {
    caller: caller,
    target: target,
    keyId: null,
    digest: null,
    overlapSeconds: null,
    auditEvent: auditEvent,
    claim: claim,
  },
  'kind as "kind", wait_seconds as "waitSeconds", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type RotateWebhookSecretInput = {
  caller: Caller | null;
  endpoint: WebhookEndpoint | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type RotateWebhookSecretRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const rotateWebhookSecret = databaseFunction<RotateWebhookSecretInput, RotateWebhookSecretRow>(
  "rotate_webhook_secret",
  { caller: caller, endpoint: webhookEndpoint, auditEvent: auditEvent, claim: claim },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type StartAssetInput = {
  job: Job | null;
  lease: string | null;
};
export type StartAssetRow = {
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  kind: string | null;
  status: string | null;
  contentType: string | null;
  sizeBytes: string | null;
  sha256: string | null;
  publicToken: string | null;
  publicType: string | null;
  remoteUrl: string | null;
  reservedBytes: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  originalFilename: string | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  origin: string | null;
  durationMs: number | null;
};
export const startAsset = databaseFunction<StartAssetInput, StartAssetRow>(
  "start_asset",
  { job: job, lease: null },
  'tenant_id as "tenantId", id as "id", environment as "environment", kind as "kind", status as "status", content_type as "contentType", size_bytes as "sizeBytes", sha256 as "sha256", public_token as "publicToken", public_type as "publicType", remote_url as "remoteUrl", reserved_bytes as "reservedBytes", error_code as "errorCode", error_detail as "errorDetail", original_filename as "originalFilename", metadata as "metadata", version as "version", created_at as "createdAt", updated_at as "updatedAt", origin as "origin", duration_ms as "durationMs"',
);

export type StartPreparationInput = {
  job: Job | null;
  lease: string | null;
};
export type StartPreparationRow = {
  outcome: string | null;
  detail: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  displayName: string | null;
  sourceKind: string | null;
  modelId: string | null;
  status: string | null;
  sourceAssetId: string | null;
  pendingSourceAssetId: string | null;
  defaultVoiceId: string | null;
  generation: number | null;
  error: string | null;
  checks: object | null;
  previewToken: string | null;
  previewFile: string | null;
  cacheManifestId: string | null;
  cacheVersion: string | null;
  settings: object | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const startPreparation = databaseFunction<StartPreparationInput, StartPreparationRow>(
  "start_preparation",
  { job: job, lease: null },
  'outcome as "outcome", detail as "detail", (avatar).tenant_id as "tenantId", (avatar).id as "id", (avatar).environment as "environment", (avatar).display_name as "displayName", (avatar).source_kind as "sourceKind", (avatar).model_id as "modelId", (avatar).status as "status", (avatar).source_asset_id as "sourceAssetId", (avatar).pending_source_asset_id as "pendingSourceAssetId", (avatar).default_voice_id as "defaultVoiceId", (avatar).generation as "generation", (avatar).error as "error", (avatar).checks as "checks", (avatar).preview_token as "previewToken", (avatar).preview_file as "previewFile", (avatar).cache_manifest_id as "cacheManifestId", (avatar).cache_version as "cacheVersion", (avatar).settings as "settings", (avatar).metadata as "metadata", (avatar).version as "version", (avatar).created_at as "createdAt", (avatar).updated_at as "updatedAt"',
);

export type StartVideoInput = {
  job: Job | null;
  lease: string | null;
};
export type StartVideoRow = {
  outcome: string | null;
  reason: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  avatarId: string | null;
  text: string | null;
  audioAssetId: string | null;
  voiceId: string | null;
  status: string | null;
  progress: number | null;
  assetId: string | null;
  durationMs: number | null;
  billedSeconds: string | null;
  billedCreditMicros: string | null;
  reservedCreditMicros: string | null;
  sessionId: string | null;
  apiKeyId: string | null;
  errorCode: string | null;
  errorDetail: string | null;
  warnings: string[] | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const startVideo = databaseFunction<StartVideoInput, StartVideoRow>(
  "start_video",
  { job: job, lease: null },
  'outcome as "outcome", reason as "reason", (video).tenant_id as "tenantId", (video).id as "id", (video).environment as "environment", (video).avatar_id as "avatarId", (video).text as "text", (video).audio_asset_id as "audioAssetId", (video).voice_id as "voiceId", (video).status as "status", (video).progress as "progress", (video).asset_id as "assetId", (video).duration_ms as "durationMs", (video).billed_seconds as "billedSeconds", (video).billed_credit_micros as "billedCreditMicros", (video).reserved_credit_micros as "reservedCreditMicros", (video).session_id as "sessionId", (video).api_key_id as "apiKeyId", (video).error_code as "errorCode", (video).error_detail as "errorDetail", (video).warnings as "warnings", (video).metadata as "metadata", (video).version as "version", (video).created_at as "createdAt", (video).updated_at as "updatedAt"',
);

export type SweepConnectionHistoriesInput = {
  before: Date | null;
  limit: number | null;
};
export type SweepConnectionHistoriesRow = {
  result: number | null;
};
export const sweepConnectionHistories = databaseFunction<SweepConnectionHistoriesInput, SweepConnectionHistoriesRow>(
  "sweep_connection_histories",
  { before: null, limit: null },
  'sweep_connection_histories as "result"',
);

export type SweepDeliveriesInput = {
  limit: number | null;
  firstKeptId: string | null;
};
export type SweepDeliveriesRow = {
  result: number | null;
};
export const sweepDeliveries = databaseFunction<SweepDeliveriesInput, SweepDeliveriesRow>(
  "sweep_deliveries",
  { limit: null, firstKeptId: null },
  'sweep_deliveries as "result"',
);

export type SweepKeptTranscriptsInput = {
  before: Date | null;
  limit: number | null;
};
export type SweepKeptTranscriptsRow = {
  result: number | null;
};
export const sweepKeptTranscripts = databaseFunction<SweepKeptTranscriptsInput, SweepKeptTranscriptsRow>(
  "sweep_kept_transcripts",
  { before: null, limit: null },
  'sweep_kept_transcripts as "result"',
);

export type SweepRecordingsInput = {
  limit: number | null;
};
export type SweepRecordingsRow = {
  result: number | null;
};
export const sweepRecordings = databaseFunction<SweepRecordingsInput, SweepRecordingsRow>(
  "sweep_recordings",
  { limit: null },
  'sweep_recordings as "result"',
);

export type SweepSessionsInput = {
  tenantId: string | null;
  entryIds: readonly string[] | null;
  requestId: string | null;
};
export type SweepSessionsRow = {
  closed: number | null;
  visited: number | null;
};
export const sweepSessions = databaseFunction<SweepSessionsInput, SweepSessionsRow>(
  "sweep_sessions",
  { tenantId: null, entryIds: null, requestId: null },
  'closed as "closed", visited as "visited"',
);

export type SyncWorkerInput = {
  workerId: string | null;
  slots: number | null;
  features: readonly string[] | null;
  voices: readonly string[] | null;
  models: readonly string[] | null;
  calls: readonly (ReportedCall | null)[] | null;
  usage: readonly (ReportedUsage | null)[] | null;
  dailyTokens: number | null;
  turns: readonly (ReportedTurn | null)[] | null;
  maxTurns: number | null;
  leaseSeconds: number | null;
  sessionLeaseSeconds: number | null;
  entryIds: readonly string[] | null;
  requestId: string | null;
};
export type SyncWorkerRow = {
  result: object | null;
  leaseEnds: Date | null;
  hasVoices: boolean | null;
  usage: object | null;
  shared: object | null;
};
export const syncWorker = databaseFunction<SyncWorkerInput, SyncWorkerRow>(
  "sync_worker",
  {
    workerId: null,
    slots: null,
    features: null,
    voices: null,
    models: null,
    calls: list(reportedCall),
    usage: list(reportedUsage),
    dailyTokens: null,
    turns: list(reportedTurn),
    maxTurns: null,
    leaseSeconds: null,
    sessionLeaseSeconds: null,
    entryIds: null,
    requestId: null,
  },
  'result as "result", lease_ends as "leaseEnds", has_voices as "hasVoices", usage as "usage", shared as "shared"',
);

export type UpdateApiKeyInput = {
  caller: Caller | null;
  target: Target | null;
  apiKey: ApiKey | null;
  auditEvent: AuditEvent | null;
};
export type UpdateApiKeyRow = {
  result: boolean | null;
};
export const updateApiKey = databaseFunction<UpdateApiKeyInput, UpdateApiKeyRow>(
  "update_api_key",
  { caller: caller, target: target, apiKey: apiKey, auditEvent: auditEvent },
  'update_api_key as "result"',
);

export type UpdateAvatarInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  change: AvatarChange | null;
  versions: readonly string[] | null;
  statuses: readonly string[] | null;
  rules: PreparationRules | null;
  jobId: string | null;
  auditEvent: AuditEvent | null;
};
export type UpdateAvatarRow = {
  kind: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  displayName: string | null;
  sourceKind: string | null;
  modelId: string | null;
  status: string | null;
  sourceAssetId: string | null;
  pendingSourceAssetId: string | null;
  defaultVoiceId: string | null;
  generation: number | null;
  error: string | null;
  checks: object | null;
  previewToken: string | null;
  previewFile: string | null;
  cacheManifestId: string | null;
  cacheVersion: string | null;
  settings: object | null;
  metadata: object | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const updateAvatar = databaseFunction<UpdateAvatarInput, UpdateAvatarRow>(
  "update_avatar",
  {
    caller: caller,
    environment: null,
    id: null,
    change: avatarChange,
    versions: null,
    statuses: null,
    rules: preparationRules,
    jobId: null,
    auditEvent: auditEvent,
  },
  'kind as "kind", (avatar).tenant_id as "tenantId", (avatar).id as "id", (avatar).environment as "environment", (avatar).display_name as "displayName", (avatar).source_kind as "sourceKind", (avatar).model_id as "modelId", (avatar).status as "status", (avatar).source_asset_id as "sourceAssetId", (avatar).pending_source_asset_id as "pendingSourceAssetId", (avatar).default_voice_id as "defaultVoiceId", (avatar).generation as "generation", (avatar).error as "error", (avatar).checks as "checks", (avatar).preview_token as "previewToken", (avatar).preview_file as "previewFile", (avatar).cache_manifest_id as "cacheManifestId", (avatar).cache_version as "cacheVersion", (avatar).settings as "settings", (avatar).metadata as "metadata", (avatar).version as "version", (avatar).created_at as "createdAt", (avatar).updated_at as "updatedAt"',
);

export type UpdatePasskeyInput = {
  caller: Caller | null;
  id: string | null;
  name: string | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type UpdatePasskeyRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  userId: string | null;
  credentialId: Uint8Array | null;
  publicKey: Uint8Array | null;
  counter: string | null;
  transports: string[] | null;
  isBackedUp: boolean | null;
  name: string | null;
  version: number | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};
export const updatePasskey = databaseFunction<UpdatePasskeyInput, UpdatePasskeyRow>(
  "update_passkey",
  { caller: caller, id: null, name: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (passkey).tenant_id as "tenantId", (passkey).id as "id", (passkey).user_id as "userId", (passkey).credential_id as "credentialId", (passkey).public_key as "publicKey", (passkey).counter as "counter", (passkey).transports as "transports", (passkey).is_backed_up as "isBackedUp", (passkey).name as "name", (passkey).version as "version", (passkey).created_at as "createdAt", (passkey).last_used_at as "lastUsedAt"',
);

export type UpdateUserInput = {
  caller: Caller | null;
  id: string | null;
  name: string | null;
  role: string | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type UpdateUserRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  email: string | null;
  name: string | null;
  role: string | null;
  version: number | null;
  createdAt: Date | null;
};
export const updateUser = databaseFunction<UpdateUserInput, UpdateUserRow>(
  "update_user",
  { caller: caller, id: null, name: null, role: null, versions: null, auditEvent: auditEvent },
  'outcome as "outcome", (member).tenant_id as "tenantId", (member).id as "id", (member).email as "email", (member).name as "name", (member).role as "role", (member).version as "version", (member).created_at as "createdAt"',
);

export type UpdateWebhookEndpointInput = {
  caller: Caller | null;
  environment: string | null;
  id: string | null;
  change: WebhookEndpointChange | null;
  versions: readonly string[] | null;
  auditEvent: AuditEvent | null;
};
export type UpdateWebhookEndpointRow = {
  outcome: string | null;
  tenantId: string | null;
  id: string | null;
  environment: string | null;
  url: string | null;
  description: string | null;
  events: string[] | null;
  ordered: boolean | null;
  status: string | null;
  disabledReason: string | null;
  secret: Uint8Array | null;
  previousSecret: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  failingSince: Date | null;
  version: number | null;
  createdAt: Date | null;
  updatedAt: Date | null;
};
export const updateWebhookEndpoint = databaseFunction<UpdateWebhookEndpointInput, UpdateWebhookEndpointRow>(
  "update_webhook_endpoint",
  {
    caller: caller,
    environment: null,
    id: null,
    change: webhookEndpointChange,
    versions: null,
    auditEvent: auditEvent,
  },
  'outcome as "outcome", (endpoint).tenant_id as "tenantId", (endpoint).id as "id", (endpoint).environment as "environment", (endpoint).url as "url", (endpoint).description as "description", (endpoint).events as "events", (endpoint).ordered as "ordered", (endpoint).status as "status", (endpoint).disabled_reason as "disabledReason", (endpoint).secret as "secret", (endpoint).previous_secret as "previousSecret", (endpoint).previous_secret_expires_at as "previousSecretExpiresAt", (endpoint).failing_since as "failingSince", (endpoint).version as "version", (endpoint).created_at as "createdAt", (endpoint).updated_at as "updatedAt"',
);

export type VerifyUserSessionInput = {
  caller: Caller | null;
  version: number | null;
  assertion: Assertion | null;
  identityUse: IdentityUse | null;
  challenge: Challenge | null;
  verifiedUntil: Date | null;
  auditEvent: AuditEvent | null;
  claim: Claim | null;
};
export type VerifyUserSessionRow = {
  kind: string | null;
  bodyHash: Uint8Array | null;
  status: number | null;
  location: string | null;
  etag: string | null;
  responseBody: Uint8Array | null;
  sealedFor: string | null;
};
export const verifyUserSession = databaseFunction<VerifyUserSessionInput, VerifyUserSessionRow>(
  "verify_user_session",
  {
    caller: caller,
    version: null,
    assertion: assertion,
    identityUse: identityUse,
    challenge: challenge,
    verifiedUntil: null,
    auditEvent: auditEvent,
    claim: claim,
  },
  'kind as "kind", body_hash as "bodyHash", status as "status", location as "location", etag as "etag", response_body as "responseBody", sealed_for as "sealedFor"',
);

export type WriteFragmentInput = {
  workerId: string | null;
  sessionId: string | null;
  generation: number | null;
  n: number | null;
  sizeBytes: number | null;
  maxBytes: number | null;
};
export type WriteFragmentRow = {
  result: string | null;
};
export const writeFragment = databaseFunction<WriteFragmentInput, WriteFragmentRow>(
  "write_fragment",
  { workerId: null, sessionId: null, generation: null, n: null, sizeBytes: null, maxBytes: null },
  'write_fragment as "result"',
);

export type WriteTranscriptInput = {
  workerId: string | null;
  sessionId: string | null;
  generation: number | null;
  first: number | null;
  segments: readonly Uint8Array[] | null;
  isComplete: boolean | null;
  speaking: Uint8Array | null;
};
export type WriteTranscriptRow = {
  result: number | null;
};
export const writeTranscript = databaseFunction<WriteTranscriptInput, WriteTranscriptRow>(
  "write_transcript",
  {
    workerId: null,
    sessionId: null,
    generation: null,
    first: null,
    segments: list(),
    isComplete: null,
    speaking: null,
  },
  'write_transcript as "result"',
);
