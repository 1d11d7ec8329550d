/** The request and response schemas of calls, with the names that the published SDK sends and reads. */
import { type Static, Type } from "@sinclair/typebox";
import { REMOTE_URL_PATTERN } from "../assets/schemas.ts";
import { MAX_SESSION_SECONDS } from "../credits/schemas.ts";
import { RECORDED_MODES } from "../recordings/modes.ts";
import { Recording } from "../recordings/schemas.ts";
import { ClosedObject, Count, DateTime, JsonObject, Metadata, Nullable, Off, OneOf, Text } from "../schema.ts";
import { ConnectionHistoryGrant } from "./kept/connection-history.ts";
import { MAX_CALL_SECONDS } from "./limits.ts";

export const CALL_MODES = ["avatar", "voice"] as const;
export type CallMode = (typeof CALL_MODES)[number];
export const STT_MODES = ["server", "off"] as const;

const Id = (description?: string) => Text({ minLength: 1, maxLength: 160, ...(description && { description }) });

const ContextMessage = ClosedObject({
  role: OneOf(["system", "user", "assistant"]),
  content: Text({ minLength: 1, maxLength: 4000 }),
});

/** The fields of the published SDK. `backend` names a provider of another service. */
const LanguageModel = ClosedObject({
  backend: Type.Optional(OneOf(["local", "gemini", "openai"], { description: "Not used." })),
  model: Type.Optional(
    Nullable(Text({ minLength: 1, maxLength: 200 }), {
      description: "A language model that the operator offers. Default: the operator's.",
    }),
  ),
});

/** The fields of a request for the renderer, which may not be able to use all of them. */
const input = {
  instructions: Type.Optional(Text({ minLength: 1, maxLength: 8000, description: "How the avatar behaves." })),
  initial_context: Type.Optional(
    Type.Array(ContextMessage, { minItems: 0, maxItems: 32, description: "The conversation before the call." }),
  ),
  voice: Type.Optional(JsonObject({ "x-maxBytes": 4096, description: "The voice, as its provider describes it." })),
  llm: Type.Optional(Nullable(LanguageModel, { description: "The language model." })),
  transcription: Type.Optional(
    ClosedObject({
      language_codes: Type.Optional(Type.Array(Text({ minLength: 2, maxLength: 64 }), { minItems: 0, maxItems: 100 })),
      custom_vocabulary: Type.Optional(
        Type.Array(Text({ minLength: 1, maxLength: 160 }), { minItems: 0, maxItems: 1000 }),
      ),
    }),
  ),
  capabilities: Type.Optional(Type.Array(OneOf(["client_tools"]), { minItems: 0, maxItems: 1 })),
};
/** The fields of a request that only a renderer can use. */
export const INPUT_FIELDS = Object.keys(input) as (keyof typeof input)[];

export const CallInput = ClosedObject({
  stt_mode: OneOf(STT_MODES, { description: "`off`: the person is not listened to." }),
  ...input,
});
export type CallInput = Static<typeof CallInput>;

/** The receiver of a transcript, and the secret that signs it. */
export const TranscriptWebhook = ClosedObject({
  /** `transcriptUrlErrors` tests the pattern, and rules that a pattern cannot express. */
  url: Type.Unsafe<string>({
    ...Text({
      minLength: 1,
      maxLength: 500,
      description:
        "The https URL that receives the transcript, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address.",
    }),
    pattern: REMOTE_URL_PATTERN,
  }),
  secret: Text({ minLength: 16, maxLength: 200, description: "Your own secret. It signs the transcript." }),
});
export type TranscriptWebhook = Static<typeof TranscriptWebhook>;

export const StartCall = ClosedObject({
  avatar_id: Id("The avatar of the call. It must be `ready`."),
  mode: Type.Optional(OneOf(CALL_MODES, { description: "`voice`: no picture. Default: `avatar`." })),
  stt_mode: Type.Optional(
    OneOf(STT_MODES, { description: "`off`: the person is not listened to. Default: `server`." }),
  ),
  ...input,
  max_session_seconds: Type.Optional(
    Count({
      minimum: 1,
      maximum: MAX_CALL_SECONDS,
      description: `The maximum length of the call in seconds. More than ${MAX_SESSION_SECONDS} only if the operator allows the tenant longer calls. Default: ${MAX_SESSION_SECONDS}. Credits are held for as many of these seconds as fit, at most ${MAX_SESSION_SECONDS} at first; the hold of a longer call grows while it goes on.`,
    }),
  ),
  client_metadata: Type.Optional(
    Metadata(
      { maxProperties: 16, names: { minLength: 1, maxLength: 64 }, values: { minLength: 0, maxLength: 200 } },
      { description: "Your own data: at most 16 strings of at most 200 characters, with names of 1 to 64 characters." },
    ),
  ),
  queue_ticket_id: Type.Optional(Id("The ticket of the previous response, when the call was queued.")),
  recording: Type.Optional(
    Type.Union([OneOf([...RECORDED_MODES, "video"]), Type.Literal("off"), Type.Literal(false)], {
      description:
        "`audio` records both sides, `audio_video` with the pictures of the avatar, `participants` each side in its own file. The person is told. `video` is refused, because the camera of the person is not subscribed to. Default: nothing.",
    }),
  ),
  transcript_webhook: Type.Optional(
    Type.Union([TranscriptWebhook, Type.Literal("off"), Type.Literal(false)], {
      description: "Where the transcript of the call is sent after its end. Default: nowhere.",
    }),
  ),
  connection_history: Type.Optional(
    Type.Union([Type.Boolean(), Type.Literal("off")], {
      description:
        "Whether the page of the person may upload how well it is connected (`connection_history` of the grant). Default: no.",
    }),
  ),
  camera: Type.Optional(Off()),
  render_backend: Type.Optional(Off()),
  support_edits: Type.Optional(Off()),
});
export type StartCall = Static<typeof StartCall>;

/** The grant: the server, the room and the token with which the person joins. */
export const CallGrant = ClosedObject({
  status: OneOf(["ready"]),
  session_id: Id(),
  room_name: Id(),
  livekit_url: Text({ minLength: 1, maxLength: 2048, description: "The LiveKit server." }),
  participant_token: Text({ minLength: 1, maxLength: 4096, description: "A secret: its holder can join the call." }),
  participant_identity: Id(),
  reservation_expires_at: DateTime({
    description: "When the call ends without a charge, unless the person has joined.",
  }),
  stt_mode: OneOf(STT_MODES),
  room_created: Type.Boolean(),
  dispatch_created: Type.Boolean(),
  join_timeout_seconds: Count(),
  idle_timeout_seconds: Count(),
  max_session_seconds: Count({
    description: "The maximum length of the call: `held_seconds`, or the requested length if the hold grows.",
  }),
  held_seconds: Count({ description: "For how many seconds credits are held now." }),
  price_credit_micros_per_second: Count({
    description: "The price of a second: that of a conversation where the avatar answers, else that of a call.",
  }),
  recording_mode: Type.Optional(OneOf(RECORDED_MODES, { description: "Only of a call that is recorded." })),
  recording: Type.Optional(Recording),
  recordings: Type.Optional(
    Type.Array(Recording, {
      minItems: 1,
      maxItems: 2,
      description: "The recordings of a recorded call. `recording`: set if the call has only one.",
    }),
  ),
  connection_history: Type.Optional(ConnectionHistoryGrant),
  ignored: Type.Array(OneOf(INPUT_FIELDS), {
    minItems: 0,
    maxItems: INPUT_FIELDS.length,
    description: "Fields of the request that the renderer cannot use.",
  }),
});
export type CallGrant = Static<typeof CallGrant>;

const {
  reservation_expires_at: _,
  max_session_seconds: __,
  held_seconds: _____,
  price_credit_micros_per_second: ___,
  ignored: ____,
  ...known
} = CallGrant.properties;
/** The grant of a call that is about to be opened: `CallGrant` without the fields that only the write knows. */
export const PlannedGrant = ClosedObject(known);
export type PlannedGrant = Static<typeof PlannedGrant>;

/** The 429 of a call that waits for a slot. The SDK takes this shape for a queue; `code` would make it an error. */
export const QueuedCall = ClosedObject({
  message: Text({ minLength: 1, maxLength: 200 }),
  queue_size: Count({ description: "Number of calls that wait, this one included." }),
  queue_position: Count({ minimum: 1 }),
  queue_ticket_id: Id(),
  recommended_retry_ms: Count({ description: "When to send the same request again." }),
});
export type QueuedCall = Static<typeof QueuedCall>;

/** How long a worker keeps an avatar that was prepared for a call. */
export const PREPARED_SECONDS = 60;

export const PrepareCall = ClosedObject({
  avatar_id: Id("The avatar of the next call. It must be `ready`."),
});
export type PrepareCall = Static<typeof PrepareCall>;

export const PreparedCall = ClosedObject({
  avatar_id: Id(),
  expires_in_seconds: Count({ description: "After this time, the avatar is loaded at the start of a call again." }),
});
export type PreparedCall = Static<typeof PreparedCall>;

export const ResumeCall = ClosedObject({ session_id: Id("The call to which the person comes back.") });
export type ResumeCall = Static<typeof ResumeCall>;

/** The reasons for which a program ends a call. */
export const RELEASE_REASONS = [
  "page_hide",
  "disconnected",
  "superseded",
  "unmount",
  "manual",
  "idle_timeout",
] as const;
export type ReleaseReason = (typeof RELEASE_REASONS)[number];
/** The reasons after which the person can come back. */
export const AWAY_REASONS: readonly ReleaseReason[] = ["page_hide", "unmount", "disconnected"];

export const ReleaseCall = ClosedObject({
  session_id: Type.Optional(Id("The call to end.")),
  queue_ticket_id: Type.Optional(Id("The ticket to give up.")),
  reason: Type.Optional(OneOf(RELEASE_REASONS)),
  capacity_pool: Type.Optional(Id("Ignored.")),
});
export type ReleaseCall = Static<typeof ReleaseCall>;

/** The response is the same for unknown, foreign and ended ids. */
export const ReleasedCall = ClosedObject({ ok: Type.Boolean() });
export type ReleasedCall = Static<typeof ReleasedCall>;
