/** A call of the avatar worker: runs it in a process, reports its state, and replaces the process when it ends. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { FREE_GAP_SECONDS } from "@realtime-avatar/domain/calls/limits";
import type { AssignedCall, Grow, Move, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { timeOfId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import { packSettings, packSpeech } from "../conversation/settings.ts";
import type { Budget } from "../conversation/usage-meter.ts";
import type { ProcessEnd } from "../process/call-process.ts";
import type { CallReport, Start, ToCallProcess } from "../process/messages.ts";
import type { CallParts } from "./call-parts.ts";
import { createRecordingSender, type RecordingSender } from "./recording.ts";
import { endProcess, leaveProcess, type Running, runProcess } from "./running.ts";
import { createSaid } from "./said.ts";
import { createTurns, type Turns } from "./turns.ts";
import { createUsageRecord } from "./usage-record.ts";

/**
 * How often the process of a call is replaced. A process that ends before its first report counts only towards
 * `MAX_PROCESSES`.
 */
const MAX_RESTARTS = 1;
const MAX_PROCESSES = 5;
/** A replacing process rounds its seconds up once more. */
const ROUNDING_SECONDS = 1;

export type Call = {
  report(): ReportedCall;
  turns: Pick<Turns, "take" | "answered">;
  /** Moves the call to another room. Returns whether this is a new move. */
  move(to: Move): boolean;
  /** Extends the call. Returns whether this is a new extension. */
  grow(growth: Grow): boolean;
  /** Tells the person the reason, and leaves the room. */
  end(reason: EndReason): void;
  /** Leaves the room silently. A call that is joining leaves after it has joined. */
  leave(): Promise<void>;
  renewLease(): void;
  /** The service has counted tokens of the call. null: no limit applies. */
  setBudget(budget: Budget | null): void;
};

const withoutTimes = ({ room_number, gap_count, gap_seconds }: NonNullable<AssignedCall["resume"]>) => ({
  ...{ room_number, gap_count, gap_seconds },
});

/** The absences of the person. A process cannot lower them. Their seconds cannot exceed the free seconds. */
const mergeAbsences = (current: ReportedCall["resume"], reported: ReportedCall["resume"]): ReportedCall["resume"] =>
  current && {
    ...current,
    gap_count: Math.max(current.gap_count, reported?.gap_count ?? 0),
    gap_seconds: Math.max(current.gap_seconds, Math.min(FREE_GAP_SECONDS, reported?.gap_seconds ?? 0)),
  };

/** The reports of a call. Each change updates metrics, traces and the log. */
const createRecord = (assigned: AssignedCall, log: Logger, parts: CallParts) => {
  const { watcher, traces, onChange, now = () => performance.now() } = parts;
  const { session_id, generation, used_seconds, resume } = assigned;
  const startedAt = now();
  let newest = assigned;
  let current: CallReport = { state: "joining", used_seconds, ...(resume && { resume: withoutTimes(resume) }) };
  let hasJoined = false;
  let hasLeft = false;
  const recordJoin = (): void => {
    if (hasJoined) return;
    hasJoined = true;
    traces?.joined(assigned);
    if (generation === 1) watcher?.joined(Date.now() - timeOfId(session_id));
  };
  const recordLeave = (reason: EndReason | "left"): void => {
    if (!hasLeft) traces?.left(assigned, reason);
    hasLeft = true;
  };
  return {
    current: () => current,
    left: () => recordLeave("left"),
    report: (lost_processes: number): ReportedCall => ({
      ...{ session_id, generation, ...current },
      ...(lost_processes > 0 && { lost_processes }),
      ...(newest.growth && { growth: { max_seconds: newest.max_seconds } }),
    }),
    /** The call for a new process: in its newest room. */
    assigned: (): AssignedCall => {
      const rest = { ...newest, used_seconds: current.used_seconds };
      return newest.resume ? { ...rest, resume: { ...newest.resume, ...current.resume } } : rest;
    },
    /** Returns whether the room has changed. */
    move: ({ room_number, url, token }: Move): boolean => {
      if (!current.resume || current.resume.room_number === room_number) return false;
      current = { ...current, resume: { ...current.resume, room_number } };
      newest = { ...newest, url, token };
      log.info({ room: room_number }, "a call moves to another room");
      return true;
    },
    /** Returns whether the end of the call has changed. */
    grow: ({ max_seconds, limit, token = newest.token }: Grow): boolean => {
      if (!newest.growth || newest.max_seconds === max_seconds) return false;
      newest = { ...newest, max_seconds, limit, token };
      log.info({ maxSeconds: max_seconds }, "a call is extended");
      return true;
    },
    update: ({ state, used_seconds: reported, reason, resume: absences }: CallReport): void => {
      if (current.state === "ended") return;
      // The process decodes untrusted data, so its report is bounded: it cannot lower the seconds, nor exceed the
      // call's hold or the passed time.
      const passed = Math.ceil((now() - startedAt) / 1000) + ROUNDING_SECONDS;
      const used = Math.min(newest.max_seconds, used_seconds + passed, Math.max(current.used_seconds, reported));
      const hasChanged = state !== current.state;
      const why = state === "ended" ? { reason: reason ?? "failed" } : {};
      const merged = mergeAbsences(current.resume, absences);
      current = { state, used_seconds: used, ...why, ...(merged && { resume: merged }) };
      if (!hasChanged) return;
      log.info({ state, usedSeconds: used, ...why }, "the state of a call has changed");
      if (state === "started") recordJoin();
      if (current.reason) {
        watcher?.ended(current.reason, used);
        recordLeave(current.reason);
      }
      onChange();
    },
  };
};

/**
 * The providers of a call. Calls in brought rooms get none, because the process of such a room is exposed to an
 * untrusted server.
 */
const providersOf = (
  { agent_identity }: AssignedCall,
  { conversation, speech }: CallParts,
): Pick<Start, "conversation" | "speech"> =>
  agent_identity === null
    ? { conversation: conversation && packSettings(conversation), speech: packSpeech(speech) }
    : { conversation: null, speech: null };

/** Sends the service's changes of a call to its process. */
const createChanges = (
  record: ReturnType<typeof createRecord>,
  send: (message: ToCallProcess) => void,
): Pick<Call, "move" | "grow"> => ({
  move: (to) => {
    const isNew = record.move(to);
    if (isNew) send({ kind: "move", access: { url: to.url, token: to.token } });
    return isNew;
  },
  grow: (growth) => {
    const isNew = record.grow(growth);
    if (isNew) send({ kind: "grow", max_seconds: growth.max_seconds, limit: growth.limit });
    return isNew;
  },
});

/**
 * The call, and whether its person knows of the recording. In a room after a resume, the page can belong to
 * another person. Each process tells that person again.
 */
const withKnowledge = (
  assigned: AssignedCall,
  recording: RecordingSender | null,
): Pick<Start, "assigned" | "isTold"> => {
  const { recording: recorded, resume } = assigned;
  if (recorded === undefined || (resume?.room_number ?? 1) === 1) {
    return { assigned, isTold: recording?.isTold() ?? false };
  }
  return { assigned: { ...assigned, recording: { ...recorded, is_told: false } }, isTold: false };
};

/**
 * Runs a call in a process. The first process that ends is replaced at once. The call fails when the second one ends.
 */
export const startCall = (assigned: AssignedCall, parts: CallParts): Call => {
  const { session_id, generation, agent_identity } = assigned;
  const { pictures, leaseMs } = parts;
  const providers = providersOf(assigned, parts);
  const log = parts.log.child({ session: session_id, generation });
  const record = createRecord(assigned, log, parts);
  const usage = createUsageRecord(assigned, parts);
  const said = createSaid(assigned, parts.service);
  const recording = createRecordingSender(assigned, { ...parts, log });
  const turns = createTurns((fresh) => running.send({ kind: "turns", turns: fresh }), parts.onChange);
  let restarts = 0;
  const lostBefore = assigned.history?.lost_processes ?? 0;
  let started = 0;
  let ending: EndReason | null = null;
  let leaving: Promise<void> | null = null;
  let isOver = false;

  /** The end is reported after the last words, because the service completes the transcript with it. */
  const update = (report: CallReport): void => {
    if (isOver) return;
    isOver = report.state === "ended";
    if (isOver) void recording?.finish();
    if (usage.update(report.usage, isOver)) parts.onChange();
    if (!isOver || said === null) record.update(report);
    else void said.finish().then(() => record.update(report));
  };
  const finish = (reason: EndReason): void => update({ ...record.current(), state: "ended", reason });
  const handleEnd = ({ code, signal, isCrash }: ProcessEnd): void => {
    turns.fail();
    said?.cutOff();
    if (leaving || isOver || leaseMs() <= 0) return;
    log.warn({ code, signal, usedSeconds: record.current().used_seconds }, "the process of a call has ended");
    // A brought room that has crashed one process would crash the next one too.
    const isHostile = isCrash && agent_identity !== null;
    if (ending !== null) finish(ending);
    else if (isHostile || lostBefore + restarts >= MAX_RESTARTS || started >= MAX_PROCESSES) finish("failed");
    else {
      if (running.hasReported()) restarts++;
      running = run();
      doubt();
    }
  };
  /**
   * The seconds of a call count while it is `started`. While it has no process, or its process may be hanging, it is
   * `pending`.
   */
  const doubt = (): void => update({ ...record.current(), state: "joining" });
  const run = (): Running => {
    started++;
    const current = usage.assigned(record.assigned());
    const assigned = said?.assigned(current) ?? current;
    return runProcess(
      {
        kind: "start",
        ...withKnowledge(assigned, recording),
        ...{ isRestart: restarts > 0, leaseMs: leaseMs(), pictures, ...providers },
      },
      { ...parts, log, said, recording, onReport: update, onTurn: turns.update, onDoubt: doubt, onEnd: handleEnd },
    );
  };
  let running: Running = run();

  const leave = async (): Promise<void> => {
    record.left();
    said?.drop();
    await leaveProcess(running);
    await recording?.finish();
  };
  return {
    report: () => ({ ...record.report(restarts), ...turns.report(), ...usage.report() }),
    turns,
    ...createChanges(record, (message) => running.send(message)),
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
