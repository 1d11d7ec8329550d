/** The parts of a worker that its calls use. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import type { ConversationUsage } from "@realtime-avatar/domain/calls/worker-sync";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import type { Counted } from "../conversation/counted.ts";
import type { Failure, Provider } from "../conversation/providers/errors.ts";
import type { ConversationSettings } from "../conversation/settings.ts";
import type { TurnTimings } from "../conversation/timings/turn-timings.ts";
import type { PictureSettings } from "../process/messages.ts";
import type { CallProcesses } from "../process/spare.ts";
import type { CallTraces } from "../tracing.ts";
import type { Preloads } from "./preloads.ts";
import type { Service } from "./service.ts";

/** Receives the events of calls, for metrics. */
export type CallWatcher = {
  /**
   * The time from the start of the call until both sides were present. Not called for a call that came from another
   * worker.
   */
  joined(milliseconds: number): void;
  ended(reason: EndReason, usedSeconds: number): void;
  /** The further usage of a conversation. */
  used(growth: ConversationUsage): void;
  counted(what: Counted): void;
  turnTimed(timings: TurnTimings): void;
  providerFailed(provider: Provider, why: Failure): void;
  /** A fragment of a recording was sent, or is lost. */
  fragmentSent(): void;
  fragmentLost(): void;
};

export type CallParts = {
  service: Service;
  processes: CallProcesses;
  /** The processes that have loaded an avatar before its call. null: no processes load avatars in advance. */
  preloads: Pick<Preloads, "take"> | null;
  pictures: PictureSettings;
  /** null: no language model is configured, and calls echo. */
  conversation: ConversationSettings | null;
  speech: SpeechSettings;
  log: Logger;
  watcher: CallWatcher | null;
  traces: CallTraces | null;
  /** How long the worker may still be in its rooms, in milliseconds. */
  leaseMs: () => number;
  onChange: () => void;
  /** In milliseconds. Default: the worker's clock. */
  now?: () => number;
};
