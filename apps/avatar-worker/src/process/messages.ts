/**
 * The messages between the avatar worker and the process of a call, over the channel of `node:child_process`. The
 * process reads untrusted data, so the worker validates each of its messages.
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
import type { Access } from "../room/connection.ts";
import type { Limits } from "../room/presence.ts";

/** A worker's report of a call, without the id of the call. */
export type CallReport = Pick<ReportedCall, "state" | "used_seconds" | "reason" | "resume" | "usage">;

/** The operator's settings for the pictures of calls. `label`: see `createMarks`. */
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
  /** null: the call echoes. Contains the keys of the providers, so the process of a brought room does not get it. */
  conversation: PackedSettings | null;
  /** The voices of a call that echoes; null in a brought room. */
  speech: PackedSpeech | null;
};

/** Loads an avatar, so that its call, which follows, starts faster. */
export type PreloadMessage = { kind: "preload"; avatar: CallAvatar; pictures: PictureSettings };

export type ToCallProcess =
  | Start
  | PreloadMessage
  /** The remaining lease, in milliseconds. */
  | { kind: "lease"; ms: number }
  /** Move to another room. */
  | { kind: "move"; access: Access }
  /** Continue until more seconds are used. */
  | ({ kind: "grow" } & Limits)
  /** Say turns of programs, and report each. */
  | { kind: "turns"; turns: ProgramTurn[] }
  /** Tell the person the reason, leave, and report `ended`. */
  | { kind: "end"; reason: EndReason }
  /** Leave silently, and send `left`. */
  | { kind: "leave" }
  /** The service has counted tokens of the call. */
  | ({ kind: "tokens" } & Budget)
  /** The file that `load` has requested; null when it cannot be read. */
  | { kind: "file"; id: number; bytes: Uint8Array | null };

const MESSAGES = {
  /** The avatar of `preload` was loaded. `isLoaded` is false when it could not be. */
  preloaded: ClosedObject({ kind: OneOf(["preloaded"]), isLoaded: Type.Boolean() }),
  /** The process can take a call. */
  ready: ClosedObject({ kind: OneOf(["ready"]) }),
  /** Sent at each change, and at least once a second, as a sign that the process is alive. */
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
  /** Why the call shows a portrait, although the operator has chosen faces, for the log. */
  portrait: ClosedObject({ kind: OneOf(["portrait"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** Why the call shows the photo of an avatar, although it has an idle loop, for the log. */
  still: ClosedObject({ kind: OneOf(["still"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** An event of the conversation, for metrics. */
  count: ClosedObject({ kind: OneOf(["count"]), counted: OneOf(COUNTED) }),
  /** The stages of a turn, for metrics and traces. */
  timings: ClosedObject({ kind: OneOf(["timings"]), timings: TurnTimings }),
  /** A segment of the transcript. */
  segment: ClosedObject({ kind: OneOf(["segment"]), segment: TranscriptSegment }),
  /** The heard part of the speech in progress. null: the speech has ended, and no word was heard. */
  speaking: ClosedObject({ kind: OneOf(["speaking"]), segment: Nullable(TranscriptSegment) }),
  /** A provider of the conversation has failed, for the log and for metrics. */
  provider: ClosedObject({ kind: OneOf(["provider"]), provider: OneOf(PROVIDERS), why: OneOf(FAILURES) }),
  /** The state of a program's turn. */
  turn: ClosedObject({ kind: OneOf(["turn"]), turn: Type.Unsafe<ReportedTurn>(ReportedTurn) }),
  /** Requests a prepared file of the avatar. */
  load: ClosedObject({ kind: OneOf(["load"]), id: Count({}), file: Text({ minLength: 1, maxLength: 200 }) }),
  /** The person knows that the call is recorded. */
  told: ClosedObject({ kind: OneOf(["told"]) }),
  /** The reason why the recording has ended early, for the log. */
  unrecorded: ClosedObject({ kind: OneOf(["unrecorded"]), cause: Text({ minLength: 1, maxLength: 200 }) }),
  /** The process has left the call silently. */
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

/** Parses a message of a call process; null when it is invalid. */
export const readMessage = (message: unknown): FromCallProcess | null => {
  const kind = (message as { kind?: unknown } | null)?.kind;
  if (kind === "fragment") return readFragmentMessage(message as object);
  if (typeof kind !== "string" || !Object.hasOwn(MESSAGES, kind)) return null;
  return isValid(MESSAGES[kind as keyof typeof MESSAGES], message) ? message : null;
};
