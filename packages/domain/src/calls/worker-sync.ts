/**
 * The wire between the service and avatar workers: `POST /internal/avatar-workers/{id}/sync`. One message registers the worker,
 * renews its lease, reports its calls, and brings work.
 *
 * Both sides send their state, not their changes, so that a lost, late or repeated message does no harm. `start` has
 * each call that is assigned to the worker and that the request does not list; `end` has each call of the request that
 * is not assigned to the worker any more, by its session and generation.
 *
 * The worker lists an ended call until a sync that lists it got a response. A worker that stops sends a last sync with
 * no slots and no calls. Its calls can then go to another worker at once.
 *
 * **The wire grows.** The two sides can be of different releases. Each side ignores fields that it does not know, and
 * names its capabilities in `features`. The first release (72fcdb50) refuses unknown fields. So a worker begins with
 * the form of that release, and names `WIRE_2` in its features, because that release accepts any name there. The
 * service sends `features` only to such a worker. To add a field:
 *
 * 1. Give the feature a name: for a field of a start, the name of the field; for other fields, a constant here. Add it
 * to
 *    `SERVICE_FEATURES`, or to the features of a renderer. Treat a new value of an old field like a new field.
 * 2. Add the field to the schema, as `Type.Optional`.
 * 3. The service sends it only to a worker whose features have the name. The worker sends it only while the features of the last
 *    response have it (`createForm` of `fleet/sync.ts`). Fields of a start that a worker cannot use are omitted from `input` (`usableInput`),
 *    and `ignored` of the grant names them, without further code.
 * 4. `previous-wire.system.test.ts` of the avatar worker runs the previous release on either side, with a call.
 */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../environment.ts";
import type { SessionId } from "../id.ts";
import { RECORDED_MODES } from "../recordings/modes.ts";
import { ClosedObject, Count, isValid, JsonObject, Nullable, OneOf, Text } from "../schema.ts";
import { END_REASONS } from "./end-reasons.ts";
import { withoutUnknownFields } from "./known-fields.ts";
import { CALL_MODES, CallInput } from "./schemas.ts";
import { MAX_HISTORY_SEGMENTS, TranscriptSegment } from "./transcript.ts";
import { COMMAND_KINDS, HEARD, TURN_STATUSES, TURN_TEXTS } from "./turns.ts";

/** Maximum number of slots of a worker. */
export const MAX_SLOTS = 1000;
/** An ended call takes no slot, and is listed once more. */
const MAX_CALLS = 2 * MAX_SLOTS;
const WORKER_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const isWorkerId = (text: string): boolean => WORKER_ID.test(text);

const SHARD_OF_WORKER = /-s(\d{1,4})$/;

/**
 * The shard whose calls an avatar worker takes, in an installation with shards. The id of the worker ends with `-s` and
 * the number; without that, it takes the calls of shard 0. An installation without shards ignores the number.
 */
export const shardOfWorkerId = (workerId: string): number => Number(SHARD_OF_WORKER.exec(workerId)?.[1] ?? 0);

export const syncPath = (workerId: string): string => `/internal/avatar-workers/${workerId}/sync`;

/** The path of a prepared file that the manifest of the avatar of a call names. */
export const callFilePath = (workerId: string, session: string, file: string): string =>
  `/internal/avatar-workers/${workerId}/calls/${session}/files/${file}`;

/**
 * The path of `PUT`, to which a worker sends the fragments of a recording (recordings/fragment.ts). `n`: counts those of its generation,
 * from 0. The same fragment again is the same request.
 */
export const fragmentPath = (workerId: string, session: string, generation: number, n: number): string =>
  `/internal/avatar-workers/${workerId}/calls/${session}/recording/${generation}/${n}`;

/** The path of a prepared file that the manifest of an avatar in `preload` names. */
export const preloadFilePath = (workerId: string, avatar: string, file: string): string =>
  `/internal/avatar-workers/${workerId}/preloads/${avatar}/files/${file}`;

/**
 * A worker with this feature reads `features` of a response, and always has a sync at the service: after each response
 * or failure it sends the next one within half a second. So the worker is lost when the connection of a sync ends, or a
 * response is sent, and no other sync follows.
 */
export const WIRE_2 = "wire-2";
/** A worker with this feature loads the avatars of `preload` before their calls. */
export const PRELOAD = "preload";
/** The start of a call in a room of the service has the voice of the avatar, for a worker with this feature. */
export const DEFAULT_VOICE = "default_voice_id";
/**
 * A worker with this feature moves calls of people to other rooms (`move`), and does not count the seconds for which the person is
 * away (`resume` of a start).
 */
export const RESUME = "resume";
/**
 * A worker with this feature takes the turns and interruptions of programs. With the feature `conversation`, it also
 * answers turns.
 */
export const TURNS = "turns";
/** A worker with this feature sends the segments of calls with `transcript`: see transcript.ts. */
export const TRANSCRIPT = "transcript";
/**
 * A worker with this feature continues the conversation of a call that another process had: it sends the segments of
 * each conversation (transcript.ts), and gets the newest ones with the start (`history`).
 */
export const RECOVERY = "recovery";
/** A worker with this feature sends the tool calls of a conversation among its segments, and gets those of earlier workers. */
export const TOOL_HISTORY = "tool_history";
/**
 * A worker with this feature learns when a call can go on for longer (`grow`). The hold of a call at a worker without
 * this feature does not grow. The functions of the database have the same name.
 */
export const GROWTH = "growth";
/** A worker with this feature records the calls whose start has `recording`. */
export const RECORDING = "recording";
/** Maximum number of turns that a response brings. */
export const MAX_TURNS = 32;
/**
 * Maximum number of turns of a call that a worker lists: the waiting ones, and the ended ones that were not yet
 * reported.
 */
export const MAX_LISTED_TURNS = 64;
/**
 * A worker with this feature holds conversations: it reports their usage, and its voices and models when the service asks for them
 * (`wants_catalog`).
 * The functions of the database have the same name.
 */
export const CONVERSATION = "conversation";
/**
 * A worker with this feature takes the calls of several shards with the same slots. In each shard, `slots` is the
 * number of its slots there now, with and without a call. It can be 0; then the worker waits for calls and does not
 * stop. A last sync does not name this feature.
 */
export const SHARED_SLOTS = "shared_slots";
/** The capabilities of the service beyond the form of the first release. */
export const SERVICE_FEATURES: readonly string[] = [
  ...[WIRE_2, PRELOAD, RESUME, TURNS, CONVERSATION, SHARED_SLOTS],
  ...[RECOVERY, GROWTH, TOOL_HISTORY],
];
/** Maximum number of avatars that a response asks a worker to load. */
export const MAX_PRELOADS = 4;
/** Maximum numbers of voices and models that a worker reports. */
export const MAX_CATALOG = { voices: 256, models: 64 } as const;
/** Maximum number of features in the first form of a request, which the first release accepts. */
export const MAX_FIRST_FEATURES = 16;

const Features = (description: string) =>
  Type.Array(Text({ minLength: 1, maxLength: 40 }), { minItems: 0, maxItems: 64, description });

/** The largest `integer` of PostgreSQL. */
export const MAX_INTEGER = 2 ** 31 - 1;

const callId = {
  session_id: Type.Unsafe<SessionId>(Text({ minLength: 1, maxLength: 64 })),
  generation: Count({ minimum: 1, maximum: MAX_INTEGER, description: "Counts the workers that have had the call." }),
};

/** Absences of the person after the start of the call, including those at earlier workers. */
const Gaps = {
  gap_count: Count({ maximum: MAX_INTEGER, description: "How often the person has left." }),
  gap_seconds: Count({ maximum: MAX_INTEGER, description: "Total seconds of these absences that were not charged." }),
};
const RoomNumber = Count({ minimum: 1, maximum: MAX_INTEGER, description: "Counts the rooms of the call." });

/**
 * The states of a call as its worker sees it. `started`: the avatar is published and the other side is present. `joined` follows it
 * while the person is away and is not charged.
 */
export const WORKER_CALL_STATES = ["joining", "joined", "started", "ended"] as const;

const turnId = { turn_id: Text({ minLength: 1, maxLength: 64 }) };

/** A turn as its worker sees it. The worker lists an ended turn until a sync that lists it got a response. */
export const ReportedTurn = ClosedObject({
  ...turnId,
  status: OneOf(TURN_STATUSES),
  heard: Nullable(Text(HEARD), { description: "The words that were heard; null before it is over." }),
});
export type ReportedTurn = Static<typeof ReportedTurn>;

/** A turn for a worker. */
export const AssignedTurn = ClosedObject({
  ...callId,
  ...turnId,
  kind: OneOf(COMMAND_KINDS),
  ...TURN_TEXTS,
  interrupt: Type.Boolean(),
});
export type AssignedTurn = Static<typeof AssignedTurn>;

const Used = (description: string) => Count({ maximum: MAX_INTEGER, description });
/** The usage of a conversation since the start of the call. Each number only grows. */
export const ConversationUsage = ClosedObject({
  input_tokens: Used("Tokens that the language model has read."),
  output_tokens: Used("Tokens that it has written."),
  estimated_tokens: Used("The part of both counts that the server did not report. It is estimated."),
  heard_seconds: Used("Seconds of sound that were sent to the recognizer, rounded up."),
  spoken_characters: Used("Characters that were sent to the voice."),
});
export type ConversationUsage = Static<typeof ConversationUsage>;

export const ReportedCall = ClosedObject({
  ...callId,
  state: OneOf(WORKER_CALL_STATES),
  used_seconds: Count({ description: "Seconds with both sides so far, rounded up, earlier workers included." }),
  reason: Type.Optional(OneOf(END_REASONS, { description: "Why the call has ended." })),
  /** Includes the reports of earlier workers. Only for a service with the feature `conversation`. */
  usage: Type.Optional(ConversationUsage),
  resume: Type.Optional(
    ClosedObject(
      { room_number: RoomNumber, ...Gaps },
      { description: "For a call whose start had `resume`. `room_number`: of the worker's newest room." },
    ),
  ),
  lost_processes: Type.Optional(
    Count({
      maximum: MAX_INTEGER,
      description:
        "How many of its processes the call has lost at this worker. Only for a service with the feature `recovery`.",
    }),
  ),
  growth: Type.Optional(
    ClosedObject(
      { max_seconds: Count({ minimum: 1, description: "The newest `max_seconds` that the worker has received." }) },
      { description: "For a call whose start had `growth`." },
    ),
  ),
  turns: Type.Optional(
    Type.Array(ReportedTurn, {
      minItems: 0,
      maxItems: MAX_LISTED_TURNS,
      description: "Only for a service with the feature `turns`.",
    }),
  ),
});
export type ReportedCall = Static<typeof ReportedCall>;

const Name = Text({ minLength: 1, maxLength: 160 });

export const SyncRequest = ClosedObject({
  slots: Count({ maximum: MAX_SLOTS, description: "How many calls the worker can have at once." }),
  features: Features(
    "What the worker can do: names of fields of the start of a call that its renderer can use, and parts of this wire.",
  ),
  calls: Type.Array(ReportedCall, { minItems: 0, maxItems: MAX_CALLS }),
  catalog: Type.Optional(
    ClosedObject(
      {
        voices: Type.Array(Name, { minItems: 0, maxItems: MAX_CATALOG.voices, description: "The ids of its voices." }),
        models: Type.Array(Name, {
          minItems: 0,
          maxItems: MAX_CATALOG.models,
          description: "The models that `llm` of a start can name.",
        }),
      },
      {
        description:
          "The voices and models that starts of its calls can name. Sent when the last response has asked for it.",
      },
    ),
  ),
});
export type SyncRequest = Static<typeof SyncRequest>;

const CallAvatar = ClosedObject({
  avatar_id: Text({ minLength: 1, maxLength: 64 }),
  manifest: Nullable(JsonObject({}), { description: "The manifest of the preparation." }),
});
export type CallAvatar = Static<typeof CallAvatar>;

export const AssignedCall = ClosedObject({
  ...callId,
  environment: OneOf(ENVIRONMENTS),
  url: Text({ minLength: 1, maxLength: 2048, description: "The LiveKit server." }),
  token: Text({ minLength: 1, maxLength: 4096, description: "Made for this call alone. A secret." }),
  agent_identity: Nullable(Text({ minLength: 1, maxLength: 512 }), {
    description:
      "The participant whose voice the avatar plays (`lk.publish_on_behalf`): an agent that brings its room, or CALL_AGENT_NAME. null: the avatar hears the person.",
  }),
  mode: OneOf(CALL_MODES),
  avatar: CallAvatar,
  input: CallInput,
  default_voice_id: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 160,
      description:
        "The voice of the avatar, for a call whose `input` names none. The voice may have been removed. Only for a worker with the feature `default_voice_id`.",
    }),
  ),
  transcript: Type.Optional(
    Type.Boolean({
      description:
        "Whether the worker sends what is said to `transcriptPath`. Only for a worker with the feature `transcript`.",
    }),
  ),
  recording: Type.Optional(
    ClosedObject(
      { mode: OneOf(RECORDED_MODES), is_told: Type.Optional(Type.Boolean()) },
      {
        description:
          "The worker records this, tells each page that joins, and sends the fragments to `fragmentPath`. `is_told`: an earlier process has told the person in the room. Only for a worker with the feature `recording`.",
      },
    ),
  ),
  history: Type.Optional(
    ClosedObject(
      {
        segments: Type.Array(TranscriptSegment, {
          minItems: 0,
          maxItems: MAX_HISTORY_SEGMENTS,
          description: "The newest segments that earlier workers have sent, in their order.",
        }),
        handed_over: Type.Boolean({
          description: "The earlier worker stays in the room until this one joins. Load the avatar before you join.",
        }),
        lost_processes: Count({
          maximum: MAX_INTEGER,
          description: "How many processes the call has lost, workers included. The second loss ends the call.",
        }),
        takes_tools: Type.Optional(
          Type.Boolean({
            description:
              "The worker sends tool calls among the segments, and gets them. Only for a worker with the feature `tool_history`.",
          }),
        ),
      },
      {
        description:
          "The conversation until now. The worker sends what is said to `transcriptPath`. Only for a worker with the feature `recovery`.",
      },
    ),
  ),
  usage: Type.Optional(ConversationUsage),
  tokens_left: Type.Optional(
    Count({
      description:
        "How many tokens the calls of the tenant may use today; absent without a limit. `usage` and this field are only for a worker with the feature `conversation`.",
    }),
  ),
  max_seconds: Count({ minimum: 1, description: "When the call ends, counted like `used_seconds`." }),
  limit: OneOf(["session_cap", "out_of_credits"], { description: "Reason of the end after `max_seconds`." }),
  growth: Type.Optional(
    ClosedObject(
      { longest_seconds: Count({ minimum: 1, description: "The maximum length of the call." }) },
      { description: "`max_seconds` can grow (`grow`). Only for a worker with the feature `growth`." },
    ),
  ),
  used_seconds: Count({ description: "The reports of earlier workers." }),
  idle_seconds: Count({ minimum: 1, description: "Time without speech or messages that ends the call." }),
  away_seconds: Count({
    minimum: 1,
    description: "How long the person may be away, or the worker's connection to the room lost, until the call ends.",
  }),
  resume: Type.Optional(
    ClosedObject(
      {
        room_number: RoomNumber,
        ...Gaps,
        return_seconds: Count({
          minimum: 1,
          description: "How long the person may be away, in place of `away_seconds`.",
        }),
      },
      { description: "The call can move to another room. Only for a worker with the feature `resume`." },
    ),
  ),
});
export type AssignedCall = Static<typeof AssignedCall>;

export const SyncResponse = ClosedObject({
  lease_seconds: Count({ minimum: 1, description: "The worker leaves its rooms this long after it sent the sync." }),
  start: Type.Array(AssignedCall, { minItems: 0, maxItems: MAX_SLOTS }),
  end: Type.Array(
    ClosedObject({
      ...callId,
      reason: Nullable(OneOf(END_REASONS), {
        description: "null: the worker has lost the call. It leaves silently.",
      }),
    }),
    { minItems: 0, maxItems: MAX_CALLS },
  ),
  move: Type.Optional(
    Type.Array(
      ClosedObject({
        ...callId,
        room_number: RoomNumber,
        url: AssignedCall.properties.url,
        token: AssignedCall.properties.token,
      }),
      {
        minItems: 0,
        maxItems: MAX_SLOTS,
        description:
          "Calls of the request that have moved to another room, where the person joins again. Only for a worker with the feature `resume`.",
      },
    ),
  ),
  grow: Type.Optional(
    Type.Array(
      ClosedObject({
        ...callId,
        max_seconds: AssignedCall.properties.max_seconds,
        limit: AssignedCall.properties.limit,
        token: Type.Optional(AssignedCall.properties.token),
      }),
      {
        minItems: 0,
        maxItems: MAX_SLOTS,
        description:
          "Calls of the request that can go on for longer than it says. `token` replaces the token of the start or the last move. Only for a worker with the feature `growth`.",
      },
    ),
  ),
  handed_over: Type.Optional(Type.Boolean({ description: "Other workers have calls of a worker that stops." })),
  preload: Type.Optional(
    Type.Array(ClosedObject({ preload_id: Text({ minLength: 1, maxLength: 64 }), avatar: CallAvatar }), {
      minItems: 0,
      maxItems: MAX_PRELOADS,
      description:
        "Avatars to load before a call, the latest request first. The same id again is the same request. Only for a worker with the feature `preload`.",
    }),
  ),
  turns: Type.Optional(
    Type.Array(AssignedTurn, {
      minItems: 0,
      maxItems: MAX_TURNS,
      description:
        "New turns of calls that the request lists as `started`, in their order. A turn is sent again until a request lists it. Only for a worker with the feature `turns`.",
    }),
  ),
  shared: Type.Optional(
    ClosedObject(
      {
        slots: Count({
          maximum: MAX_INTEGER,
          description:
            "The number of slots that the worker has in this shard. It exceeds the reported number while calls use more slots.",
        }),
        waiting: Count({ maximum: MAX_INTEGER, description: "How many calls of this shard wait for a slot." }),
      },
      { description: "Only for a worker with the feature `shared_slots`." },
    ),
  ),
  features: Type.Optional(Features("The features of the service. Only for a worker with the feature `wire-2`.")),
  tokens: Type.Optional(
    Type.Array(ClosedObject({ ...callId, used: Count({}), left: Count({}) }), {
      minItems: 0,
      maxItems: MAX_CALLS,
      description:
        "For each call that the request lists with `usage`, while tokens are limited: those of the call that are counted, and how many the calls of the tenant may use today. Only for a worker with the feature `conversation`.",
    }),
  ),
  wants_catalog: Type.Optional(
    Type.Boolean({
      description:
        "The service does not know the `catalog` of the worker. Only for a worker with the feature `conversation`.",
    }),
  ),
});
export type SyncResponse = Static<typeof SyncResponse>;
export type Grow = NonNullable<SyncResponse["grow"]>[number];
export type Move = NonNullable<SyncResponse["move"]>[number];

/** A response as the worker reads it, without unknown fields; null when the known fields are not valid. */
export const readSyncResponse = (content: unknown): SyncResponse | null => {
  const known = withoutUnknownFields(SyncResponse, content);
  return isValid(SyncResponse, known) ? known : null;
};
