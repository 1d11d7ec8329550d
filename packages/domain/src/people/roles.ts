/**
 * The permissions of people. A key has scopes, and rules for the keys that it manages. For a person, one table has the
 * least role for each operation.
 */
import { Problem } from "../problem.ts";

/** From the least role to the greatest. Each role includes the roles before it. */
export const ROLES = ["viewer", "developer", "owner"] as const;
export type Role = (typeof ROLES)[number];

/**
 * The least role for each operation of the API that takes credentials, by operation id; null: not for people. An
 * operation that is missing here is refused. Some operations require a greater role, depending on their target: see
 * `docs/people.md`.
 */
export const MINIMUM_ROLES: Readonly<Record<string, Role | null>> = {
  listApiKeys: "viewer",
  getApiKey: "viewer",
  createApiKey: "developer",
  updateApiKey: "developer",
  revokeApiKey: "developer",
  rotateApiKey: "developer",
  // A person has no calling key.
  getCallingApiKey: null,

  listAssets: "viewer",
  getAsset: "viewer",
  uploadAsset: "developer",
  createRemoteAsset: "developer",
  createUpload: "developer",
  completeUpload: "developer",
  deleteAsset: "developer",

  listAvatars: "viewer",
  getAvatar: "viewer",
  createAvatar: "developer",
  updateAvatar: "developer",
  deleteAvatar: "developer",
  prepareAvatar: "developer",
  listModels: "viewer",
  listVoices: "viewer",
  getVoiceSample: "viewer",

  getCreditBalance: "viewer",
  updateCreditBalance: "developer",
  listCreditEntries: "viewer",
  exportCreditEntries: "viewer",
  listUsageSessions: "viewer",
  exportUsageSessions: "viewer",
  getUsageSession: "viewer",
  getUsageSummary: "viewer",
  getTranscript: "viewer",
  deleteTranscript: "owner",
  listRecordings: "viewer",
  getRecording: "viewer",
  getRecordingAccess: "viewer",
  deleteRecording: "owner",
  getConnectionHistory: "viewer",
  getSettings: "viewer",
  updateSettings: "owner",
  // Only keys open calls, because each call is charged to a key, under its cap.
  openUsageSession: null,
  reportUsage: null,
  releaseSession: null,
  startCall: null,
  resumeCall: null,
  prepareCall: null,
  createTurn: null,
  getTurn: null,
  interruptCall: null,
  releaseCall: null,

  listVideos: "viewer",
  getVideo: "viewer",
  // Like a call, a video is charged to a key, under its cap.
  createVideo: null,
  deleteVideo: "developer",

  listWebhookEndpoints: "viewer",
  getWebhookEndpoint: "viewer",
  createWebhookEndpoint: "developer",
  updateWebhookEndpoint: "developer",
  deleteWebhookEndpoint: "developer",
  rotateWebhookSecret: "developer",
  testWebhookEndpoint: "developer",
  recoverWebhookDeliveries: "developer",
  listWebhookDeliveries: "viewer",
  getWebhookDelivery: "viewer",
  resendWebhookDelivery: "developer",

  listAuditEvents: "viewer",
  exportAuditEvents: "viewer",

  getCurrentUserSession: "viewer",
  endCurrentUserSession: "viewer",
  beginVerification: "viewer",
  verifyUserSession: "viewer",
  // Only an owner lists the sessions of others.
  listUserSessions: "viewer",
  endUserSession: "viewer",

  listUsers: "viewer",
  getUser: "viewer",
  // A person may change their name. Other changes need an owner.
  updateUser: "viewer",
  deleteUser: "owner",

  listInvitations: "viewer",
  createInvitation: "owner",
  deleteInvitation: "owner",

  // Only the person's own passkeys.
  listPasskeys: "viewer",
  beginPasskey: "viewer",
  createPasskey: "viewer",
  updatePasskey: "viewer",
  deletePasskey: "viewer",
  createPasskeyInvitation: "viewer",

  // Only the person's own identities.
  listIdentities: "viewer",
  deleteIdentity: "viewer",
  beginOidcIdentity: "viewer",
  beginOidcVerification: "viewer",
};

/** Whether `role` includes `required`. */
export const includesRole = (role: Role, required: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(required);

/**
 * Throws the problem `insufficient_role`. `role` is null for a key, `requiredRole` null for an operation that only keys
 * may call.
 */
export const refuseRole = (requiredRole: Role | null, role: Role | null): never => {
  const detail =
    requiredRole === null
      ? "This operation is for API keys, not for people."
      : role === null
        ? "This operation is for people, not for API keys."
        : `This operation needs the role ${requiredRole}.`;
  throw new Problem("insufficient_role", detail, { requiredRole, role });
};

/** Throws the problem `insufficient_role` unless `role` includes `required`. */
export const checkRole = (role: Role, required: Role | null | undefined): void => {
  if (required === null || required === undefined) refuseRole(null, role);
  else if (!includesRole(role, required)) refuseRole(required, role);
};
