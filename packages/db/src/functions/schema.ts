/// <reference path="../sql-files.d.ts" />
/**
 * The schema of the database functions, which make the writes of callers and of root keys. Its name has a hash of their text, and it is never
 * changed: replicas of two versions use two schemas side by side. `migrate` creates it.
 *
 * The files are valid SQL as they are, in a schema `rta`, so that they can be tried in psql.
 */
import { createHash } from "node:crypto";
import acceptInvitation from "../../functions/accept_invitation.sql" with { type: "text" };
import changeSessionLimit from "../../functions/change_session_limit.sql" with { type: "text" };
import claimJob from "../../functions/claim_job.sql" with { type: "text" };
import completeAsset from "../../functions/complete_asset.sql" with { type: "text" };
import createApiKeys from "../../functions/create_api_keys.sql" with { type: "text" };
import createAsset from "../../functions/create_asset.sql" with { type: "text" };
import createAvatars from "../../functions/create_avatars.sql" with { type: "text" };
import createFirstApiKey from "../../functions/create_first_api_key.sql" with { type: "text" };
import createIdentity from "../../functions/create_identity.sql" with { type: "text" };
import createInvitation from "../../functions/create_invitation.sql" with { type: "text" };
import createPasskey from "../../functions/create_passkey.sql" with { type: "text" };
import createRootApiKey from "../../functions/create_root_api_key.sql" with { type: "text" };
import createTenant from "../../functions/create_tenant.sql" with { type: "text" };
import createUserSession from "../../functions/create_user_session.sql" with { type: "text" };
import deleteAsset from "../../functions/delete_asset.sql" with { type: "text" };
import deleteIdentity from "../../functions/delete_identity.sql" with { type: "text" };
import deleteInvitation from "../../functions/delete_invitation.sql" with { type: "text" };
import deletePasskey from "../../functions/delete_passkey.sql" with { type: "text" };
import deleteUser from "../../functions/delete_user.sql" with { type: "text" };
import endUserSession from "../../functions/end_user_session.sql" with { type: "text" };
import failAbandonedUploads from "../../functions/fail_abandoned_uploads.sql" with { type: "text" };
import finishAsset from "../../functions/finish_asset.sql" with { type: "text" };
import finishPreparation from "../../functions/finish_preparation.sql" with { type: "text" };
import admitSessions from "../../functions/internal/admit_sessions.sql" with { type: "text" };
import allWritten from "../../functions/internal/all_written.sql" with { type: "text" };
import changeAsset from "../../functions/internal/change_asset.sql" with { type: "text" };
import changeAvatar from "../../functions/internal/change_avatar.sql" with { type: "text" };
import changeSource from "../../functions/internal/change_source.sql" with { type: "text" };
import changedAvatar from "../../functions/internal/changed_avatar.sql" with { type: "text" };
import changedFields from "../../functions/internal/changed_fields.sql" with { type: "text" };
import checkSources from "../../functions/internal/check_sources.sql" with { type: "text" };
import claimIdempotencyKeys from "../../functions/internal/claim_idempotency_keys.sql" with { type: "text" };
import claimWrite from "../../functions/internal/claim_write.sql" with { type: "text" };
import closeSessions from "../../functions/internal/close_sessions.sql" with { type: "text" };
import countersOfCallers from "../../functions/internal/counters_of_callers.sql" with { type: "text" };
import deleteJobOf from "../../functions/internal/delete_job_of.sql" with { type: "text" };
import deletePasskeyLinks from "../../functions/internal/delete_passkey_links.sql" with { type: "text" };
import deleteRefusedClaims from "../../functions/internal/delete_refused_claims.sql" with { type: "text" };
import endAttempt from "../../functions/internal/end_attempt.sql" with { type: "text" };
import endJob from "../../functions/internal/end_job.sql" with { type: "text" };
import endPreparation from "../../functions/internal/end_preparation.sql" with { type: "text" };
import freeSlot from "../../functions/internal/free_slot.sql" with { type: "text" };
import giveBackJob from "../../functions/internal/give_back_job.sql" with { type: "text" };
import hasOtherSignIn from "../../functions/internal/has_other_sign_in.sql" with { type: "text" };
import insertApiKeys from "../../functions/internal/insert_api_keys.sql" with { type: "text" };
import insertAuditEvents from "../../functions/internal/insert_audit_events.sql" with { type: "text" };
import insertIdentity from "../../functions/internal/insert_identity.sql" with { type: "text" };
import insertJobs from "../../functions/internal/insert_jobs.sql" with { type: "text" };
import insertPasskey from "../../functions/internal/insert_passkey.sql" with { type: "text" };
import insertUsageSessions from "../../functions/internal/insert_usage_sessions.sql" with { type: "text" };
import insertUserSession from "../../functions/internal/insert_user_session.sql" with { type: "text" };
import isLastOwner from "../../functions/internal/is_last_owner.sql" with { type: "text" };
import lockAccounts from "../../functions/internal/lock_accounts.sql" with { type: "text" };
import lockAsset from "../../functions/internal/lock_asset.sql" with { type: "text" };
import lockAssetMeter from "../../functions/internal/lock_asset_meter.sql" with { type: "text" };
import lockAvatar from "../../functions/internal/lock_avatar.sql" with { type: "text" };
import lockCaller from "../../functions/internal/lock_caller.sql" with { type: "text" };
import lockCallers from "../../functions/internal/lock_callers.sql" with { type: "text" };
import lockCounters from "../../functions/internal/lock_counters.sql" with { type: "text" };
import lockMeters from "../../functions/internal/lock_meters.sql" with { type: "text" };
import lockPeople from "../../functions/internal/lock_people.sql" with { type: "text" };
import lockPerson from "../../functions/internal/lock_person.sql" with { type: "text" };
import lockTarget from "../../functions/internal/lock_target.sql" with { type: "text" };
import lockUserSessions from "../../functions/internal/lock_user_sessions.sql" with { type: "text" };
import mayAccept from "../../functions/internal/may_accept.sql" with { type: "text" };
import mayReport from "../../functions/internal/may_report.sql" with { type: "text" };
import mustEnd from "../../functions/internal/must_end.sql" with { type: "text" };
import presentSession from "../../functions/internal/present_session.sql" with { type: "text" };
import refuseWrite from "../../functions/internal/refuse_write.sql" with { type: "text" };
import requestsToAdmit from "../../functions/internal/requests_to_admit.sql" with { type: "text" };
import sessionFigures from "../../functions/internal/session_figures.sql" with { type: "text" };
import sourceOutcome from "../../functions/internal/source_outcome.sql" with { type: "text" };
import spendChallenge from "../../functions/internal/spend_challenge.sql" with { type: "text" };
import startGeneration from "../../functions/internal/start_generation.sql" with { type: "text" };
import stopAsset from "../../functions/internal/stop_asset.sql" with { type: "text" };
import storeSessionChange from "../../functions/internal/store_session_change.sql" with { type: "text" };
import storedSessionChange from "../../functions/internal/stored_session_change.sql" with { type: "text" };
import tenantsToServe from "../../functions/internal/tenants_to_serve.sql" with { type: "text" };
import useIdentity from "../../functions/internal/use_identity.sql" with { type: "text" };
import usePasskey from "../../functions/internal/use_passkey.sql" with { type: "text" };
import moveCredits from "../../functions/move_credits.sql" with { type: "text" };
import openUsageSessions from "../../functions/open_usage_sessions.sql" with { type: "text" };
import prepareAvatar from "../../functions/prepare_avatar.sql" with { type: "text" };
import releaseSession from "../../functions/release_session.sql" with { type: "text" };
import renewJob from "../../functions/renew_job.sql" with { type: "text" };
import reportUsage from "../../functions/report_usage.sql" with { type: "text" };
import retryJob from "../../functions/retry_job.sql" with { type: "text" };
import revokeApiKey from "../../functions/revoke_api_key.sql" with { type: "text" };
import rotateApiKey from "../../functions/rotate_api_key.sql" with { type: "text" };
import startAsset from "../../functions/start_asset.sql" with { type: "text" };
import startPreparation from "../../functions/start_preparation.sql" with { type: "text" };
import sweepSessions from "../../functions/sweep_sessions.sql" with { type: "text" };
import types from "../../functions/types.sql" with { type: "text" };
import updateApiKey from "../../functions/update_api_key.sql" with { type: "text" };
import updateAvatar from "../../functions/update_avatar.sql" with { type: "text" };
import updatePasskey from "../../functions/update_passkey.sql" with { type: "text" };
import updateUser from "../../functions/update_user.sql" with { type: "text" };
import verifyUserSession from "../../functions/verify_user_session.sql" with { type: "text" };

/** The types first: a function names those that it takes. Of functions the order does not matter. */
export const FUNCTION_FILES = [
  types,
  allWritten,
  claimIdempotencyKeys,
  closeSessions,
  countersOfCallers,
  insertApiKeys,
  insertAuditEvents,
  insertUsageSessions,
  admitSessions,
  lockAccounts,
  lockCaller,
  lockCallers,
  lockCounters,
  lockMeters,
  lockTarget,
  mayReport,
  mustEnd,
  presentSession,
  requestsToAdmit,
  sessionFigures,
  storeSessionChange,
  storedSessionChange,
  changeAsset,
  checkSources,
  deletePasskeyLinks,
  deleteRefusedClaims,
  endJob,
  freeSlot,
  changeAvatar,
  changeSource,
  changedAvatar,
  changedFields,
  deleteJobOf,
  endAttempt,
  endPreparation,
  giveBackJob,
  insertJobs,
  lockAsset,
  lockAssetMeter,
  lockAvatar,
  sourceOutcome,
  startGeneration,
  stopAsset,
  tenantsToServe,
  changeSessionLimit,
  claimJob,
  completeAsset,
  createAsset,
  deleteAsset,
  failAbandonedUploads,
  finishAsset,
  finishPreparation,
  renewJob,
  retryJob,
  startAsset,
  startPreparation,
  createApiKeys,
  createAvatars,
  createFirstApiKey,
  createRootApiKey,
  createTenant,
  moveCredits,
  openUsageSessions,
  prepareAvatar,
  releaseSession,
  reportUsage,
  revokeApiKey,
  rotateApiKey,
  sweepSessions,
  spendChallenge,
  mayAccept,
  isLastOwner,
  claimWrite,
  refuseWrite,
  lockPerson,
  lockPeople,
  lockUserSessions,
  usePasskey,
  useIdentity,
  insertPasskey,
  insertIdentity,
  hasOtherSignIn,
  insertUserSession,
  createInvitation,
  deleteInvitation,
  acceptInvitation,
  createUserSession,
  verifyUserSession,
  endUserSession,
  createPasskey,
  updatePasskey,
  deletePasskey,
  createIdentity,
  deleteIdentity,
  updateUser,
  deleteUser,
  updateApiKey,
  updateAvatar,
];

/** The names of the schemas of functions, of every version: a regular expression of PostgreSQL. */
export const SCHEMA_NAMES = "^rta_[0-9a-f]{12}$";

/** The schema of these files, and the text that creates it with its types and functions, to be run in one transaction. */
export const functionsSchema = (files: readonly string[]): { name: string; create: string } => {
  const name = `rta_${createHash("sha256").update(files.join("\0")).digest("hex").slice(0, 12)}`;
  const create = [
    `create schema ${name};`,
    ...files.map((text) => text.replaceAll(/\brta\./g, `${name}.`)),
    `revoke execute on all functions in schema ${name} from public;`,
  ].join("\n");
  return { name, create };
};

/** The schema of the functions of this program, and the text that creates it. */
export const { name: FUNCTIONS_SCHEMA, create: CREATE_FUNCTIONS } = functionsSchema(FUNCTION_FILES);
