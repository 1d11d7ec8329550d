/**
 * `/api/v1/realtime/livekit/session/resume`: the person comes back to a call, in a new room. The previous room is
 * deleted.
 */
import { findCallToResume, resumeCall } from "@realtime-avatar/db/calls/resume";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { RETURN_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { type CallToResume, presentResumed, roomToResumeIn } from "@realtime-avatar/domain/calls/resume";
import { personToken, roomName } from "@realtime-avatar/domain/calls/room";
import { CallGrant, ResumeCall } from "@realtime-avatar/domain/calls/schemas";
import { RESUME } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { mintToken } from "@realtime-avatar/livekit/tokens";
import { operations } from "../http/operation.ts";
import { requireKey } from "../http/person.ts";
import { responseText } from "../http/response.ts";
import type { Attempt, OutcomeOf, Settled } from "../http/write.ts";
import { connectionHistoryGrant } from "./kept/connection-histories.ts";
import { requireRealtime } from "./realtime.ts";
import { createRoom, patientDb } from "./rooms.ts";

export const { resumeCall: resumeOperation } = operations({
  resumeCall: {
    summary: "Resume a call",
    description: `The person of a call comes back after a reload, or over another network. The call continues in a new room, with its conversation. The grant contains the URL and the token with which the person joins, within ${RETURN_SECONDS} seconds. The previous room is deleted, and its tokens are worthless. A call of the calling key or of a descendant that has started can be resumed until it ends: ${RETURN_SECONDS} seconds after the person has left, or by a release.`,
    body: ResumeCall,
    success: { status: 200, description: "The grant of the call.", schema: CallGrant },
    problems: ["not_found", "session_closed", "call_not_resumable", "replay_unavailable", "realtime_not_configured"],
  },
});

const RESUMED_CALL = { schema: CallGrant, toText: JSON.stringify };

type AnyAttempt = Pick<Attempt<unknown>, "db" | "caller" | "origin" | "dependencies" | "requestContext">;
/** The room in which a call continues. `number`: the number of the room. */
type NextRoom = { number: number; grant: CallGrant };

/** The next room of a call, with a token for the person. Throws the problem of a call that cannot change its room. */
const nextRoomOf = async (call: CallToResume, { db, caller, origin, dependencies }: AnyAttempt): Promise<NextRoom> => {
  const number = roomToResumeIn(call);
  const { config, instance } = requireRealtime(dependencies);
  const name = roomName(await instance(db), call.sessionId, number);
  const token = await mintToken(config, personToken(name, RETURN_SECONDS));
  const { now } = origin;
  const ids = { tenantId: caller.tenantId, sessionId: call.sessionId };
  const connectionHistory = connectionHistoryGrant(call.hasConnectionHistory, ids, dependencies, now);
  const terms = { roomName: name, livekitUrl: config.url, token, now, connectionHistory };
  return { number, grant: presentResumed(call, terms) };
};

/** Gives a call its next room, and creates the room after the commit. The previous room is deleted last. */
const resumeInRoom = async (
  { number, grant }: NextRoom,
  { db, caller: anyCaller, dependencies, requestContext }: AnyAttempt,
  claim: Claim | null,
): Promise<OutcomeOf<typeof resumeCall> | { kind: "superseded" | "unavailable" }> => {
  const caller = requireKey(anyCaller);
  const { tenantId } = caller;
  const { room_name } = grant;
  const sessionId = grant.session_id as SessionId;
  const outcome = await resumeCall(db, { sessionId, roomNumber: number, roomName: room_name }, caller, claim);
  if (outcome.kind !== "written") return outcome;
  const realtime = requireRealtime(dependencies);
  const patient = patientDb(db, requestContext);
  const newRoom = { tenantId, sessionId, roomName: room_name, agent: null };
  const room = await createRoom(patient, newRoom, realtime, requestContext);
  if (room === "unavailable") return { kind: room };
  if (room !== "exists") return { kind: "superseded" };
  realtime.rooms.deleteLater([roomName(await realtime.instance(db), sessionId, number - 1)]);
  return outcome;
};

/** Throws the problem of a call that was not resumed. */
const refuse = (kind: "superseded" | "unavailable"): never => {
  if (kind === "unavailable") {
    const detail = "The LiveKit server does not respond. The call continues. Try again shortly.";
    throw new Problem("unavailable", detail, { retryable: true });
  }
  throw new Problem("call_not_resumable", "The call has ended, or another request has resumed it meanwhile.");
};

/** Whether an open and started call can change its room. */
export const canResume = ({ hasAgent, features, roomNumber }: CallToResume): boolean =>
  roomNumber > 1 || (!hasAgent && features.includes(RESUME));

/** Resumes a call whose start was repeated. Returns the grant, as JSON. */
export const resumeStarted = async (call: CallToResume, attempt: AnyAttempt): Promise<string> => {
  const next = await nextRoomOf(call, attempt);
  const { kind } = await resumeInRoom(next, attempt, null);
  if (kind === "unavailable" || kind === "superseded") refuse(kind);
  if (kind !== "written") refuse("superseded");
  attempt.dependencies.metrics?.callRequested("resumed");
  return responseText(RESUMED_CALL, next.grant);
};

type ResumeAttempt = Attempt<ResumeCall, NextRoom>;

export const RESUME_CALL = {
  body: ResumeCall,
  representation: RESUMED_CALL,
  lookUp: async (attempt: ResumeAttempt): Promise<NextRoom> => {
    const { db, body, caller, dependencies } = attempt;
    if (!requireRealtime(dependencies).rooms.isAvailable()) refuse("unavailable");
    const call = await findCallToResume(db, requireKey(caller), body.session_id);
    if (call === null) throw notFound();
    return nextRoomOf(call, attempt);
  },
  plan: (attempt: ResumeAttempt, next: NextRoom) => ({
    response: { version: null, body: next.grant },
    write: (claim: Claim | null) => resumeInRoom(next, attempt, claim),
  }),
  settle: (
    outcome: OutcomeOf<typeof resumeInRoom>,
    { dependencies: { metrics } }: ResumeAttempt,
  ): Settled<CallGrant> => {
    switch (outcome.kind) {
      case "written":
        metrics?.callRequested("resumed");
        return outcome;
      case "replayed":
      case "stale":
        return outcome;
      default:
        return refuse(outcome.kind);
    }
  },
  /** Created again, because the request of the stored grant may have failed to create it. */
  restore: async (response: string, attempt: ResumeAttempt): Promise<null> => {
    const { db, caller, dependencies, requestContext } = attempt;
    const { session_id, room_name } = JSON.parse(response) as CallGrant;
    const call = await findCallToResume(db, requireKey(caller), session_id);
    if (call === null || !call.isOpen) return null;
    const realtime = requireRealtime(dependencies);
    const { sessionId, roomNumber, isRoomPending } = call;
    if (room_name !== roomName(await realtime.instance(db), sessionId, roomNumber)) refuse("superseded");
    if (!isRoomPending) return null;
    const newRoom = { tenantId: caller.tenantId, sessionId, roomName: room_name, agent: null };
    const room = await createRoom(patientDb(db, requestContext), newRoom, realtime, requestContext);
    if (room !== "exists") refuse(room === "unavailable" ? room : "superseded");
    return null;
  },
};
