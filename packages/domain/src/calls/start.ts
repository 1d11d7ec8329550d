/** Starting and releasing a call. */
import { type PlannedSession, plannedSession, type SessionTerms } from "../credits/open.ts";
import { MAX_SESSION_SECONDS } from "../credits/schemas.ts";
import type { Environment } from "../environment.ts";
import { newId, type RandomBytes } from "../id.ts";
import { type FieldError, Problem, validationFailed } from "../problem.ts";
import { RECORDED_MODES, type RecordedMode } from "../recordings/modes.ts";
import { plannedRecordings, presentPlannedRecording } from "../recordings/planned.ts";
import type { PlannedRecording } from "../recordings/schemas.ts";
import type { ConnectionHistoryGrant } from "./kept/connection-history.ts";
import { IDLE_TIMEOUT_SECONDS, JOIN_TIMEOUT_SECONDS, MAX_TEST_CALL_SECONDS, MIN_CALL_SECONDS } from "./limits.ts";
import { PERSON_IDENTITY, roomName } from "./room.ts";
import {
  type CallGrant,
  type CallInput,
  type CallMode,
  INPUT_FIELDS,
  type PlannedGrant,
  type ReleaseCall,
  type StartCall,
  type TranscriptWebhook,
} from "./schemas.ts";

/** The outcomes that a test key can request by `client_metadata.test_outcome`. */
export const TEST_OUTCOMES = [
  "queued",
  "concurrency_limit_reached",
  "never_joined",
  "worker_lost",
  "out_of_credits",
] as const;
export type TestOutcome = (typeof TEST_OUTCOMES)[number];

/** A requested call. The session holds the credits. */
export type PlannedCall = {
  /** The session that holds the credits of the start. */
  session: PlannedSession;
  /** The requested length, when it exceeds the seconds that the call holds credits for at first; else null. */
  longestSeconds: number | null;
  mode: CallMode;
  roomName: string;
  input: CallInput;
  ticketId: string | null;
  /** The receiver of its transcript; null without one. */
  transcript: TranscriptWebhook | null;
  /** Its recordings; null: none. */
  recording: { mode: RecordedMode; files: readonly PlannedRecording[] } | null;
  /** For tests; null for a live key, whose metadata is plain data. */
  testOutcome: TestOutcome | null;
};

/** The mode in which a call is recorded, of a `request` without `recordingErrors`; null: it is not. */
const recordedMode = ({ recording }: Pick<StartCall, "recording">): RecordedMode | null =>
  RECORDED_MODES.find((mode) => mode === recording) ?? null;

/** Why a call cannot be recorded as `request` asks. */
export const recordingErrors = (request: Pick<StartCall, "recording" | "stt_mode">): FieldError[] => {
  const refused = (detail: string): FieldError[] => [{ pointer: "#/recording", code: "not_supported", detail }];
  if (request.recording === "video") return refused("The camera of the person is not subscribed to.");
  return recordedMode(request) !== null && request.stt_mode === "off"
    ? refused("With `stt_mode` `off`, the person is not listened to, and is not recorded.")
    : [];
};

/**
 * The call that `request`, a valid `StartCall`, asks for: as many seconds as fit, at least 60, or the requested length
 * if that is less. Throws the problem `not_found` when `avatar_id` is not the id of an avatar.
 */
export const plannedCall = (
  request: StartCall,
  { priceCreditMicrosPerSecond, instance }: Pick<SessionTerms, "priceCreditMicrosPerSecond"> & { instance: string },
  context: { environment: Environment; now: Date; random: RandomBytes },
): PlannedCall => {
  const { environment } = context;
  const asked = request.max_session_seconds ?? MAX_SESSION_SECONDS;
  const first = environment === "test" ? MAX_TEST_CALL_SECONDS : MAX_SESSION_SECONDS;
  const maxSessionSeconds = Math.min(asked, first);
  const metadata = request.client_metadata ?? {};
  const session = plannedSession(
    {
      avatarId: request.avatar_id,
      maxSessionSeconds,
      minSessionSeconds: Math.min(MIN_CALL_SECONDS, maxSessionSeconds),
      metadata,
    },
    { priceCreditMicrosPerSecond, startSeconds: JOIN_TIMEOUT_SECONDS },
    context,
  );
  const {
    stt_mode = "server",
    instructions,
    initial_context,
    voice,
    llm = null,
    transcription,
    capabilities,
  } = request;
  const input: CallInput = {
    stt_mode,
    ...(instructions !== undefined && { instructions }),
    ...(initial_context !== undefined && { initial_context }),
    ...(voice !== undefined && { voice }),
    ...(llm !== null && { llm }),
    ...(transcription !== undefined && { transcription }),
    ...(capabilities !== undefined && { capabilities }),
  };
  const outcome = environment === "test" ? TEST_OUTCOMES.find((name) => name === metadata["test_outcome"]) : undefined;
  const mode = request.mode ?? "avatar";
  const recorded = recordedMode(request);
  return {
    session,
    longestSeconds: environment === "live" && asked > first ? asked : null,
    mode,
    roomName: roomName(instance, session.id),
    input,
    ticketId: request.queue_ticket_id ?? null,
    transcript: typeof request.transcript_webhook === "object" ? request.transcript_webhook : null,
    recording: recorded && {
      mode: recorded,
      files: plannedRecordings(recorded, mode, () => newId("rec", context.now, context.random)),
    },
    testOutcome: outcome ?? null,
  };
};

/** The voice and the model that a start names; null for each that it does not name. */
export type NamedByStart = { voiceId: string | null; model: string | null };

/** The voice and the model that `input` names. A `voice_id` that is not text names a voice that does not exist. */
export const namedByStart = ({ voice, llm }: Pick<CallInput, "voice" | "llm">): NamedByStart => {
  const voiceId = voice?.["voice_id"] ?? null;
  return {
    voiceId: typeof voiceId === "string" || voiceId === null ? voiceId : JSON.stringify(voiceId),
    model: llm?.model ?? null,
  };
};

const UNSUPPORTED = {
  voice: { pointer: "#/voice/voice_id", code: "unsupported_voice", detail: "No avatar worker has this voice." },
  model: { pointer: "#/llm/model", code: "unsupported_model", detail: "No avatar worker offers this model." },
} as const;

/**
 * The problem of a start that names a voice or a model that no worker has, or asks for a recording while no worker
 * records.
 */
export const unsupportedByWorkers = (fields: readonly (keyof typeof UNSUPPORTED | "recording")[]): Problem => {
  const named = fields.filter((field) => field !== "recording");
  if (named.length > 0) return validationFailed(named.map((field) => UNSUPPORTED[field]));
  return new Problem("recording_unavailable", "No avatar worker that runs can record.", {
    retryable: true,
    retryAfterSeconds: 5,
  });
};

/** The fields that the agent of a call gets and can use. */
const AGENT_FIELDS = ["instructions", "initial_context", "voice", "capabilities"] as const;

/**
 * The metadata that the agent of a call gets with its dispatch, as JSON. `apiUrl` and `apiKey` are for the plugin
 * `bey`, which brings the avatar.
 */
export const agentMetadata = (
  call: { sessionId: string; avatarId: string; input: Pick<CallInput, (typeof AGENT_FIELDS)[number]> },
  { apiUrl, apiKey }: { apiUrl: string; apiKey: string },
): string => {
  const { instructions, initial_context, voice, capabilities } = call.input;
  const ids = { session_id: call.sessionId, avatar_id: call.avatarId };
  // Without the members that are undefined.
  return JSON.stringify({
    ...ids,
    instructions,
    initial_context,
    voice,
    capabilities,
    api_url: apiUrl,
    api_key: apiKey,
  });
};

/** The fields of a request that a renderer with `features` cannot use. A feature has the name of the field. */
export const ignoredFields = (input: Omit<CallInput, "stt_mode">, features: readonly string[]): CallGrant["ignored"] =>
  INPUT_FIELDS.filter((field) => (input[field] ?? null) !== null && !features.includes(field));

/**
 * The fields of a request that a worker with `features` gets. The other fields are in `ignored`, or are for the agent
 * of the call.
 */
export const usableInput = ({ stt_mode, ...input }: CallInput, features: readonly string[]): CallInput => ({
  stt_mode,
  ...Object.fromEntries(Object.entries(input).filter(([field]) => features.includes(field))),
});

/** The recordings of a new call. */
const presentRecordings = (
  { mode, files }: NonNullable<PlannedCall["recording"]>,
  { id: sessionId, createdAt }: PlannedSession,
  retentionDays: number,
): Pick<PlannedGrant, "recording_mode" | "recording" | "recordings"> => {
  const recordings = files.map((file) => presentPlannedRecording(file, { sessionId, createdAt, retentionDays }));
  const [recording, ...others] = recordings;
  return { recording_mode: mode, ...(recording && others.length === 0 && { recording }), recordings };
};

/** The grant of a call, without the fields that only the write knows. */
export const presentPlannedGrant = (
  { session, roomName, input, recording }: Pick<PlannedCall, "session" | "roomName" | "input" | "recording">,
  {
    livekitUrl,
    token,
    retentionDays,
    connectionHistory,
  }: { livekitUrl: string; token: string; retentionDays: number; connectionHistory: ConnectionHistoryGrant | null },
): PlannedGrant => ({
  status: "ready",
  session_id: session.id,
  room_name: roomName,
  livekit_url: livekitUrl,
  participant_token: token,
  participant_identity: PERSON_IDENTITY,
  stt_mode: input.stt_mode,
  room_created: true,
  dispatch_created: true,
  join_timeout_seconds: JOIN_TIMEOUT_SECONDS,
  idle_timeout_seconds: IDLE_TIMEOUT_SECONDS,
  ...(recording && presentRecordings(recording, session, retentionDays)),
  ...(connectionHistory && { connection_history: connectionHistory }),
});

/**
 * The granted terms of a call: the held credits, the price of a second, the end if the person does not join, and the
 * features of its worker. Responses that the previous release stored lack the price, which was equal for all calls.
 */
export type Granted = {
  reservedCreditMicros: number;
  priceCreditMicrosPerSecond?: number;
  expiresAt: string;
  features: readonly string[];
  /** The maximum length of a call whose hold grows. Missing in responses that the previous release stored. */
  longestSeconds?: number | null;
};

/** The problem of a start that asks for more seconds than the operator allows the tenant. */
export const callTooLong = (limit: number): Problem =>
  validationFailed([
    {
      pointer: "#/max_session_seconds",
      code: "out_of_range",
      detail: `The operator allows the tenant calls of at most ${limit} seconds.`,
    },
  ]);

/**
 * The fields of the grant that only the write knows. `price`: of each second of a call. `hasAgent`: whether an agent
 * gets the fields of the request.
 */
export const presentGranted = (
  request: Omit<CallInput, "stt_mode">,
  { reservedCreditMicros, priceCreditMicrosPerSecond, expiresAt, features, longestSeconds = null }: Granted,
  { price, hasAgent }: { price: number; hasAgent: boolean },
): Omit<CallGrant, keyof PlannedGrant> => ({
  reservation_expires_at: new Date(expiresAt).toISOString(),
  max_session_seconds: longestSeconds ?? reservedCreditMicros / (priceCreditMicrosPerSecond ?? price),
  held_seconds: reservedCreditMicros / (priceCreditMicrosPerSecond ?? price),
  price_credit_micros_per_second: priceCreditMicrosPerSecond ?? price,
  ignored: ignoredFields(request, hasAgent ? [...features, ...AGENT_FIELDS] : features),
});

export type ReleaseTarget = { kind: "session"; id: string } | { kind: "ticket"; id: string };

/**
 * The session or the ticket of a valid `ReleaseCall`. Throws the problem `validation_failed` unless it names exactly
 * one.
 */
export const releaseTarget = ({ session_id, queue_ticket_id }: ReleaseCall): ReleaseTarget => {
  if (session_id !== undefined && queue_ticket_id === undefined) return { kind: "session", id: session_id };
  if (queue_ticket_id !== undefined && session_id === undefined) return { kind: "ticket", id: queue_ticket_id };
  const detail = "Exactly one of `session_id` and `queue_ticket_id` is required.";
  throw validationFailed([
    { pointer: "#/session_id", code: session_id === undefined ? "required" : "not_allowed", detail },
  ]);
};
