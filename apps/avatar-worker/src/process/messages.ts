/**
 * What the avatar worker and the process of a call say to each other, over the channel of `node:child_process`. The process of a
 * call reads what strangers send, so the worker validates each message that it receives from it.
 */
import { END_REASONS, type EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import {
  type AssignedCall,
  type CallAvatar,
  ReportedCall,
  ReportedTurn,
  WORKER_CALL_STATES,
} from "@realtime-avatar/domain/calls/worker-sync";
import { readFragment } from "@realtime-avatar/domain/recordings/fragment";
import { ClosedObject, Count, isValid, Nullable, OneOf, Text } from "@realtime-avatar/domain/schema";
import { type Static, Type } from "@sinclair/typebox";
import { COUNTED } from "../conversation/counted.ts";
import { FAILURES, PROVIDERS } from "../conversation/providers/errors.ts";
import type { PackedSettings, PackedSpeech } from "../conversation/settings.ts";
import type { ProgramTurn } from "../conversation/speaking/program-turns.ts";
import { TurnTimings } from "../conversation/timings/turn-timings.ts";
import type { Budget } from "../conversation/usage-meter.ts";
import type { Access } from "../room/call.ts";
import type { Limits } from "../room/presence.ts";

/** What a worker reports of a call, without the id of the call. */
export type CallReport = Pick<ReportedCall, "state" | "used_seconds" | "reason" | "resume" | "usage">;

/** What the operator has set for the pictures of calls. `label`: see `createMarks`. */
export type PictureSettings = { renderer: "face" | "portrait"; label: string };

/**
 * The first message. `isRestart`: an earlier process of this worker had the call. `isTold`: it has told the person that the call is
 * recorded.
 */
export type Start = {
  kind: "start";
  assigned: AssignedCall;
  isRestart: boolean;
  isTold: boolean;
  leaseMs: number;
  pictures: PictureSettings;
  /** null: the call echoes. It has the keys of the providers: the process of a room that is not ours does not get it. */
  conversation: PackedSettings | null;
  /** The voices of a call that echoes; null in a room that is not ours. */
  speech: PackedSpeech | null;
};

/** Load an avatar: the call of it that follows starts faster. */
export type PreloadMessage = { kind: "preload"; avatar: CallAvatar; pictures: PictureSettings };

export type ToCallProcess =
  | Start
  | PreloadMessage
  /** The call may go on for this long. */
  | { kind: "lease"; ms: number }
  /** Go on in another room. */
  | { kind: "move"; access: Access }
  /** Go on until more seconds are used. */
  | ({ kind: "grow" } & Limits)
  /** Say the turns of a program, and report each. */
  | { kind: "turns"; turns: ProgramTurn[] }
  /** Tell the person why, leave, and report `ended`. */
  | { kind: "end"; reason: EndReason }
  /** Leave without a word, and say `left`. */
  | { kind: "leave" }
  /** The service has counted tokens of the call. */
  | ({ kind: "tokens" } & Budget)
  /** The file that `load` has asked for; null when it cannot be read. */
  | { kind: "file"; id: number; bytes: Uint8Array | null };

const MESSAGES = {
  /** The avatar of `preload` was loaded, or cannot be. */
  preloaded: ClosedObject({ kind: OneOf(["preloaded"]), isLoaded: Type.Boolean() }),
  /** The process can take a call. */
  ready: ClosedObject({ kind: OneOf(["ready"]) }),
  /** Sent at each change, and otherwise once a second, which shows that the process is alive. */
  report: ClosedObject({
    kind: OneOf(["report"]),
    state: OneOf(WORKER_CALL_STATES),
    used_seconds: Count({}),
    reason: Type.Optional(OneOf(END_REASONS)),
    usage: ReportedCall.properties.usage,
    resume: ReportedCall.properties.resume,
  }),
  /** Why the call has failed, for the log. */
  failure: ClosedObject({ kind: OneOf(["failure"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** Why the call shows a portrait, although faces are drawn, for the log. */
  portrait: ClosedObject({ kind: OneOf(["portrait"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** Something happened in the conversation, for metrics. */
  count: ClosedObject({ kind: OneOf(["count"]), counted: OneOf(COUNTED) }),
  /** The stages of a turn, for metrics and traces. */
  timings: ClosedObject({ kind: OneOf(["timings"]), timings: TurnTimings }),
  /** Something was said. */
  segment: ClosedObject({ kind: OneOf(["segment"]), segment: TranscriptSegment }),
  /** What the avatar is saying, as far as it was heard; null: it has ended, and nothing was heard. */
  speaking: ClosedObject({ kind: OneOf(["speaking"]), segment: Nullable(TranscriptSegment) }),
  /** A provider of the conversation has failed, for the log and for metrics. */
  provider: ClosedObject({ kind: OneOf(["provider"]), provider: OneOf(PROVIDERS), why: OneOf(FAILURES) }),
  /** What becomes of a turn of a program. */
  turn: ClosedObject({ kind: OneOf(["turn"]), turn: Type.Unsafe<ReportedTurn>(ReportedTurn) }),
  /** Asks for a prepared file of the avatar. */
  load: ClosedObject({ kind: OneOf(["load"]), id: Count({}), file: Text({ minLength: 1, maxLength: 200 }) }),
  /** The person knows that the call is recorded. */
  told: ClosedObject({ kind: OneOf(["told"]) }),
  /** Why the call is not recorded any more, for the log. */
  unrecorded: ClosedObject({ kind: OneOf(["unrecorded"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** The call was left without a word. */
  left: ClosedObject({ kind: OneOf(["left"]) }),
};
/** A fragment of the recording of the call. */
type FragmentMessage = { kind: "fragment"; bytes: Uint8Array };
export type FromCallProcess =
  | { [Kind in keyof typeof MESSAGES]: Static<(typeof MESSAGES)[Kind]> }[keyof typeof MESSAGES]
  | FragmentMessage;

const readFragmentMessage = (message: object): FragmentMessage | null => {
  const { bytes } = message as Partial<FragmentMessage>;
  return bytes instanceof Uint8Array && readFragment(bytes) !== null ? { kind: "fragment", bytes } : null;
};

/** The message of a call process; null when it is not valid. */
export const readMessage = (message: unknown): FromCallProcess | null => {
  const kind = (message as { kind?: unknown } | null)?.kind;
  if (kind === "fragment") return readFragmentMessage(message as object);
  if (typeof kind !== "string" || !Object.hasOwn(MESSAGES, kind)) return null;
  return isValid(MESSAGES[kind as keyof typeof MESSAGES], message) ? message : null;
};
