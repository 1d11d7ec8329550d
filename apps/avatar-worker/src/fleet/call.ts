/** A call as the avatar worker has it: a process that runs it, what that reports, and a new process when that one ends. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { FREE_GAP_SECONDS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall, ConversationUsage, Move, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { timeOfId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import type { Counted } from "../conversation/counted.ts";
import type { Failure, Provider } from "../conversation/providers/errors.ts";
import { type ConversationSettings, packSettings, packSpeech } from "../conversation/settings.ts";
import type { TurnTimings } from "../conversation/timings/turn-timings.ts";
import type { Budget } from "../conversation/usage-meter.ts";
import type { ProcessEnd } from "../process/call-process.ts";
import { watchLimits } from "../process/limits.ts";
import type { CallReport, FromCallProcess, PictureSettings, Start, ToCallProcess } from "../process/messages.ts";
import type { CallProcesses } from "../process/spare.ts";
import type { CallTraces } from "../tracing.ts";
import type { Preloads } from "./preloads.ts";
import type { Service } from "./service.ts";
import { createTranscriptSender, type TranscriptSender } from "./transcript.ts";
import { createTurns, type Turns } from "./turns.ts";
import { createUsageRecord } from "./usage-record.ts";

/** How often the process of a call is replaced. One that ends before its first report does not count, up to this many in all. */
const MAX_RESTARTS = 1;
const MAX_PROCESSES = 5;
/** A process reports once a second. After this long without a report, its call is not counted as started. */
const DOUBTFUL_SECONDS = 3;
/** A process that reports nothing for this long has stopped working. */
const MAX_SILENT_SECONDS = 10;
/** How long a process may take for the last message and to leave the room. */
const END_MS = 6000;
/** A room that is being joined is left afterwards. Joining takes ten seconds at most. */
const LEAVE_MS = 13_000;
/** A process that replaces another one rounds up a second time. */
const ROUNDING_SECONDS = 1;
/** Maximum number of files that the process of a call may ask for. */
const MAX_FILES = 64;

/** Receives what happens to calls, for metrics. */
export type CallWatcher = {
  /** The time from the start of the call until both sides were present. Not called for a call that another worker had before. */
  joined(milliseconds: number): void;
  ended(reason: EndReason, usedSeconds: number): void;
  /** A conversation has used this in addition. */
  used(growth: ConversationUsage): void;
  counted(what: Counted): void;
  turnTimed(timings: TurnTimings): void;
  providerFailed(provider: Provider, why: Failure): void;
};

export type CallParts = {
  service: Service;
  processes: CallProcesses;
  /** The processes that have loaded an avatar before its call; null: none. */
  preloads: Pick<Preloads, "take"> | null;
  pictures: PictureSettings;
  /** null: calls echo. */
  conversation: ConversationSettings | null;
  speech: SpeechSettings;
  log: Logger;
  watcher: CallWatcher | null;
  traces: CallTraces | null;
  /** The time for which the worker may still be in its rooms. */
  leaseMs: () => number;
  onChange: () => void;
  /** In milliseconds; that of the worker when it is not given. */
  now?: () => number;
};

export type Call = {
  report(): ReportedCall;
  turns: Pick<Turns, "take" | "answered">;
  /** Goes on in another room. Returns whether it was sent there now. */
  move(to: Move): boolean;
  /** Tells the person why, and leaves the room. */
  end(reason: EndReason): void;
  /** Leaves the room without a word: of a call that is joining, once it has joined. */
  leave(): Promise<void>;
  renewLease(): void;
  /** The service has counted tokens of the call. null: it does not limit them. */
  setBudget(budget: Budget | null): void;
};

const withoutTimes = ({ room_number, gap_count, gap_seconds }: NonNullable<AssignedCall["resume"]>) => ({
  ...{ room_number, gap_count, gap_seconds },
});

/** The absences of the person: a process cannot lower them, nor have more seconds of them than are free. */
const mergeAbsences = (current: ReportedCall["resume"], reported: ReportedCall["resume"]): ReportedCall["resume"] =>
  current && {
    ...current,
    gap_count: Math.max(current.gap_count, reported?.gap_count ?? 0),
    gap_seconds: Math.max(current.gap_seconds, Math.min(FREE_GAP_SECONDS, reported?.gap_seconds ?? 0)),
  };

/** What a call has reported, with metrics, traces and a line of log for each change. */
const createRecord = (assigned: AssignedCall, log: Logger, parts: CallParts) => {
  const { watcher, traces, onChange, now = () => performance.now() } = parts;
  const { session_id, generation, used_seconds, max_seconds, resume } = assigned;
  const startedAt = now();
  let newest = assigned;
  let current: CallReport = { state: "joining", used_seconds, ...(resume && { resume: withoutTimes(resume) }) };
  let hasJoined = false;
  let hasLeft = false;
  const noteJoin = (): void => {
    if (hasJoined) return;
    hasJoined = true;
    traces?.joined(assigned);
    if (generation === 1) watcher?.joined(Date.now() - timeOfId(session_id));
  };
  const noteLeft = (reason: EndReason | "left"): void => {
    if (!hasLeft) traces?.left(assigned, reason);
    hasLeft = true;
  };
  return {
    current: () => current,
    left: () => noteLeft("left"),
    report: (): ReportedCall => ({ session_id, generation, ...current }),
    /** As a new process gets it: in the newest room. */
    assigned: (): AssignedCall => {
      const rest = { ...newest, used_seconds: current.used_seconds };
      return newest.resume ? { ...rest, resume: { ...newest.resume, ...current.resume } } : rest;
    },
    /** Returns whether the call was in another room. */
    move: ({ room_number, url, token }: Move): boolean => {
      if (!current.resume || current.resume.room_number === room_number) return false;
      current = { ...current, resume: { ...current.resume, room_number } };
      newest = { ...newest, url, token };
      log.info({ room: room_number }, "a call goes on in another room");
      return true;
    },
    update: ({ state, used_seconds: reported, reason, resume: absences }: CallReport): void => {
      if (current.state === "ended") return;
      // The process decodes what strangers send: it cannot lower the seconds, nor exceed what the call holds or what has passed.
      const passed = Math.ceil((now() - startedAt) / 1000) + ROUNDING_SECONDS;
      const used = Math.min(max_seconds, used_seconds + passed, Math.max(current.used_seconds, reported));
      const hasChanged = state !== current.state;
      const why = state === "ended" ? { reason: reason ?? "failed" } : {};
      const merged = mergeAbsences(current.resume, absences);
      current = { state, used_seconds: used, ...why, ...(merged && { resume: merged }) };
      if (!hasChanged) return;
      log.info({ state, usedSeconds: used, ...why }, "the state of a call has changed");
      if (state === "started") noteJoin();
      if (current.reason) {
        watcher?.ended(current.reason, used);
        noteLeft(current.reason);
      }
      onChange();
    },
  };
};

/**
 * Watches that a process is alive and within its limits. `onDoubt` is called when it has been silent for some seconds; `onFault` is
 * called once: kill the process then.
 */
const watchProcess = (pid: number | null, onDoubt: () => void, onFault: (fault: object) => void) => {
  let silentSeconds = 0;
  // Counted, not measured: a worker that was stopped has not heard its processes, which are alive.
  const timer = setInterval(() => {
    silentSeconds++;
    if (silentSeconds === DOUBTFUL_SECONDS) onDoubt();
    if (silentSeconds === MAX_SILENT_SECONDS) onFault({ silentSeconds });
  }, 1000);
  const stopLimits = pid === null ? () => {} : watchLimits(pid, (limit) => onFault({ limit }));
  return {
    heard: () => {
      silentSeconds = 0;
    },
    stop: () => {
      clearInterval(timer);
      stopLimits();
    },
  };
};

/** A process that has the call. */
type Running = {
  send(message: ToCallProcess): void;
  hasEnded(): boolean;
  /** Whether the process has had the call. */
  hasReported(): boolean;
  kill(): void;
  stop(): Promise<void>;
};

type RunOptions = Pick<CallParts, "processes" | "preloads" | "service" | "watcher" | "traces"> & {
  log: Logger;
  transcript: TranscriptSender | null;
  onReport: (report: CallReport) => void;
  onTurn: Turns["update"];
  onDoubt: () => void;
  onEnd: (end: ProcessEnd) => void;
};

/** Runs a call in a process, which `start` describes. */
const runProcess = (
  start: Start,
  { processes, preloads, service, watcher, traces, log, transcript, onReport, onTurn, onDoubt, onEnd }: RunOptions,
): Running => {
  const process = preloads?.take(start.assigned) ?? processes.take();
  const { pid } = process;
  const { session_id, mode } = start.assigned;
  log.info({ pid, mode }, start.isRestart ? "a call was started again" : "a call was assigned");
  const watch = watchProcess(pid, onDoubt, (fault) => {
    log.warn(fault, "the process of a call is killed");
    process.kill();
  });
  let hasEnded = false;
  let hasReported = false;
  let files = 0;
  const stop = (): Promise<void> => {
    watch.stop();
    return process.stop();
  };
  const sendFile = async (id: number, file: string): Promise<void> => {
    const isAllowed = ++files <= MAX_FILES;
    const bytes = isAllowed ? await service.file(session_id, file).catch(() => null) : null;
    process.send({ kind: "file", id, bytes });
  };
  const receive = (message: FromCallProcess): void => {
    watch.heard();
    switch (message.kind) {
      case "report":
        hasReported = true;
        onReport(message);
        if (message.state === "ended") void stop();
        break;
      case "failure":
        log.warn({ cause: message.cause }, "a call has failed");
        break;
      case "portrait":
        log.info({ cause: message.cause }, "a call shows a portrait instead of a face");
        break;
      case "provider":
        log.warn({ provider: message.provider, why: message.why }, "a provider of a conversation has failed");
        watcher?.providerFailed(message.provider, message.why);
        break;
      case "count":
        watcher?.counted(message.counted);
        break;
      case "turn":
        onTurn(message.turn);
        break;
      case "timings":
        watcher?.turnTimed(message.timings);
        traces?.turnTimed(start.assigned, message.timings);
        break;
      case "segment":
        transcript?.add(message.segment);
        break;
      case "load":
        void sendFile(message.id, message.file);
        break;
      case "left":
        void stop();
        break;
      case "ready":
      case "preloaded":
        break;
    }
  };
  process.send(start);
  process.listen({
    onMessage: receive,
    onEnd: (end) => {
      watch.stop();
      hasEnded = true;
      onEnd(end);
    },
  });
  const { send, kill } = process;
  return { send, hasEnded: () => hasEnded, hasReported: () => hasReported, kill, stop };
};

/** What the process of a call speaks and answers with. The rooms of agents are of strangers, and have no conversation with us. */
const providersOf = (
  { agent_identity }: AssignedCall,
  { conversation, speech }: CallParts,
): Pick<Start, "conversation" | "speech"> =>
  agent_identity === null
    ? { conversation: conversation && packSettings(conversation), speech: packSpeech(speech) }
    : { conversation: null, speech: null };

/** Has a process end its call. One that does not is killed. */
const endProcess = ({ send, hasEnded, kill }: Running, reason: EndReason): void => {
  send({ kind: "end", reason });
  setTimeout(() => {
    if (!hasEnded()) kill();
  }, END_MS);
};

/** Runs a call in a process. A process that ends is replaced once, at once; the call has failed when the second one ends. */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  const { session_id, generation, agent_identity } = assigned;
  const { pictures, leaseMs } = parts;
  const providers = providersOf(assigned, parts);
  const log = parts.log.child({ session: session_id, generation });
  const record = createRecord(assigned, log, parts);
  const usage = createUsageRecord(assigned, parts);
  const transcript = assigned.transcript ? createTranscriptSender(assigned, parts.service) : null;
  const turns = createTurns((fresh) => running.send({ kind: "turns", turns: fresh }), parts.onChange);
  let restarts = 0;
  let started = 0;
  let ending: EndReason | null = null;
  let leaving: Promise<void> | null = null;
  let hasLeft = (): void => {};
  let isOver = false;

  /** The end is reported after the last words: with it, the transcript is sent. */
  const update = (report: CallReport): void => {
    if (isOver) return;
    isOver = report.state === "ended";
    if (usage.update(report.usage, isOver)) parts.onChange();
    if (!isOver || transcript === null) record.update(report);
    else void transcript.finish().then(() => record.update(report));
  };
  const finish = (reason: EndReason): void => update({ ...record.current(), state: "ended", reason });
  const handleEnd = ({ code, signal, isCrash }: ProcessEnd): void => {
    hasLeft();
    turns.fail();
    if (leaving || isOver || leaseMs() <= 0) return;
    log.warn({ code, signal, usedSeconds: record.current().used_seconds }, "the process of a call has ended");
    // A stranger's room that has ended one process would end the next one as well.
    const isHostile = isCrash && agent_identity !== null;
    if (ending !== null) finish(ending);
    else if (isHostile || restarts >= MAX_RESTARTS || started >= MAX_PROCESSES) finish("failed");
    else {
      if (running.hasReported()) restarts++;
      running = run();
      doubt();
    }
  };
  /** The seconds of a call count while it is `started`: not without a process, or with one that may be hanging. */
  const doubt = (): void => update({ ...record.current(), state: "joining" });
  const run = (): Running => {
    started++;
    const assigned = usage.assigned(record.assigned());
    return runProcess(
      { kind: "start", assigned, isRestart: restarts > 0, leaseMs: leaseMs(), pictures, ...providers },
      { ...parts, log, transcript, onReport: update, onTurn: turns.update, onDoubt: doubt, onEnd: handleEnd },
    );
  };
  let running = run();

  const leave = async (): Promise<void> => {
    record.left();
    const left = running;
    if (left.hasEnded()) return;
    left.send({ kind: "leave" });
    const timer = setTimeout(left.kill, LEAVE_MS);
    await new Promise<void>((resolve) => {
      hasLeft = resolve;
    });
    clearTimeout(timer);
  };
  return {
    report: () => ({ ...record.report(), ...turns.report(), ...usage.report() }),
    turns,
    move: (to) => {
      const isNew = record.move(to);
      if (isNew) running.send({ kind: "move", access: { url: to.url, token: to.token } });
      return isNew;
    },
    end: (reason) => {
      if (ending !== null || leaving || isOver) return;
      ending = reason;
      endProcess(running, reason);
    },
    leave: () => {
      leaving ??= isOver ? running.stop() : leave();
      return leaving;
    },
    renewLease: () => running.send({ kind: "lease", ms: leaseMs() }),
    setBudget: (budget) => usage.setBudget(budget, (next) => running.send({ kind: "tokens", ...next })),
  };
};
