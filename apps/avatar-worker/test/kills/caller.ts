/** A person who calls: starts a call, types while the avatar is silent, comes back after a lost room, and ends the call. */
import { RoomEvent, TrackKind } from "@livekit/rtc-node";
import { AVATAR_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";
import { until } from "@realtime-avatar/testing/until";
import { joinAsPerson, type Person } from "../support/person.ts";
import { watchTranscript } from "../support/transcript.ts";
import { TRANSCRIPT_SECRET } from "./receiver.ts";
import type { World } from "./world.ts";

const LOUD = 0.02;
const STEP_MS = 50;
/** After this time without sound, the person types. */
const PATIENCE_MS = 300;
const RETYPE_MS = 1000;
const MIN_SILENCE_MS = 1000;
/** The person gives a call up after this time, which is longer than any lease. */
const LIMIT_MS = 180_000;

/** A time without the voice of the avatar, by `performance.now()`. */
export type Silence = { from: number; to: number };

export type Plan = { name: string; seconds: number; isRecorded: boolean };

/** A call as its person knows it. */
export type Call = Plan & {
  id: SessionId;
  /** When the person entered its room. Times are by `performance.now()`. */
  since: number;
  /** When the first sound of the avatar was heard; null before. */
  heardAt: number | null;
  silences: Silence[];
  /** Seconds in which the person and the avatar were in one room, as LiveKit tells the person. */
  hadSeconds: number;
  /** How often the person came back in another room. */
  resumes: number;
  /** Whether the service has ended the call. */
  isLost: boolean;
  endedAt: number | null;
};

type Reply = { status: number; text: string };

/** Returns null when no whole response is received. */
const post = async ({ url, apiKey }: World, path: string, body: object, headers = {}): Promise<Reply | null> => {
  try {
    const response = await fetch(`${url}/api/v1/realtime/livekit/session${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
    return { status: response.status, text: await response.text() };
  } catch {
    return null;
  }
};

/** Repeats a request while its response is missing, 429 or 5xx. Returns the first other response. */
const postUntilClear = (world: World, path: string, body: object, headers = {}): Promise<Reply> =>
  until(
    async () => {
      const response = await post(world, path, body, headers);
      return response !== null && response.status !== 429 && response.status < 500 ? response : null;
    },
    { limitMs: LIMIT_MS, pollMs: 250 },
  );

type Grant = { session_id: SessionId; livekit_url: string; participant_token: string };

const start = async (world: World, { name, isRecorded }: Plan, number: number): Promise<Grant> => {
  const body = {
    ...{ avatar_id: world.avatarId, mode: "voice", max_session_seconds: 300 },
    transcript_webhook: { url: world.receiver.url, secret: TRANSCRIPT_SECRET },
    ...(isRecorded && { recording: "audio" }),
  };
  const response = await postUntilClear(world, "", body, { "idempotency-key": `${name}-${number}` });
  if (response.status !== 200) throw new Error(`the call was not started: ${response.text}`);
  return JSON.parse(response.text) as Grant;
};

/** A person in the room of a call. `since`: LiveKit can show the person to the avatar from then on. */
const enter = async ({ livekit_url, participant_token }: Grant) => {
  const since = performance.now();
  const person = await joinAsPerson(livekit_url, participant_token);
  watchTranscript(person.room);
  let trackAt = Number.NEGATIVE_INFINITY;
  person.room.on(RoomEvent.TrackSubscribed, ({ kind }) => {
    if (kind === TrackKind.KIND_AUDIO) trackAt = performance.now();
  });
  return { person, since, trackAt: () => trackAt };
};
type Present = Awaited<ReturnType<typeof enter>>;

/** How often a person tries to join. A room that is lost with LiveKit is created again within ten seconds. */
const MAX_JOINS = 60;

/** The number of tries before the person makes another call. */
const JOINS_OF_A_START = 20;

/** Joins the room of a new call. Sends the start again when the room cannot be joined, because it is lost. */
const startAndEnter = async (world: World, plan: Plan): Promise<{ id: SessionId; present: Present }> => {
  for (let attempt = 1; ; attempt++) {
    const grant = await start(world, plan, Math.ceil(attempt / JOINS_OF_A_START));
    try {
      return { id: grant.session_id, present: await enter(grant) };
    } catch (error) {
      if (attempt === MAX_JOINS) throw new Error(`${grant.session_id} cannot be joined: ${error}`);
      await Bun.sleep(500);
    }
  }
};

/** Comes back to a call in another room. Returns null when the call has ended. */
const comeBack = async (world: World, id: SessionId): Promise<Present | null> => {
  for (let attempt = 1; attempt <= 20; attempt++) {
    const response = await postUntilClear(world, "/resume", { session_id: id });
    if (response.status !== 200) return null;
    const present = await enter(JSON.parse(response.text) as Grant).catch(() => null);
    if (present) return present;
    await Bun.sleep(500);
  }
  return null;
};

/** Takes the frames that the person has heard since the last time. */
const listen = (call: Call, { heard }: Person, state: { lastLoud: number }): void => {
  for (const { at, level } of heard.splice(0)) {
    if (level <= LOUD) continue;
    call.heardAt ??= at;
    if (at - state.lastLoud > MIN_SILENCE_MS) call.silences.push({ from: state.lastLoud, to: at });
    state.lastLoud = at;
  }
};

/** Counts the time with both sides in the room, until the person is in another room or the call has ended. */
const createMeter = (call: Call, { person, since }: Present) => {
  let last = since;
  return (): void => {
    const now = performance.now();
    const isPresent = person.disconnectReason() === null && person.room.remoteParticipants.has(AVATAR_IDENTITY);
    if (isPresent) call.hadSeconds += (now - last) / 1000;
    last = now;
  };
};

/** Types while nothing is heard, until the call has lasted as long as planned, or is lost. */
const typeUntilEnd = async (world: World, call: Call, entered: Present) => {
  const joinedAt = performance.now();
  const state = { lastLoud: joinedAt };
  let meter = createMeter(call, entered);
  let [present, typedAt, turn] = [entered, Number.NEGATIVE_INFINITY, 0];
  for (;;) {
    await Bun.sleep(STEP_MS);
    const now = performance.now();
    const { person, trackAt } = present;
    listen(call, person, state);
    meter();
    if (person.disconnectReason() !== null) {
      const next = await comeBack(world, call.id);
      call.isLost = next === null;
      if (next === null) return { person, meter };
      call.resumes++;
      present = next;
      meter = createMeter(call, next);
    } else if (now - state.lastLoud > PATIENCE_MS && (now - typedAt > RETYPE_MS || trackAt() > typedAt)) {
      typedAt = now;
      const text = `This is turn ${turn++}.`;
      void person.room.localParticipant?.sendText(text, { topic: "lk.chat" }).catch(() => {});
    }
    const isOver = call.heardAt !== null && now - call.heardAt > call.seconds * 1000;
    if (isOver || now - joinedAt > LIMIT_MS) {
      // If the avatar is silent at the planned end, the call continues until it speaks again.
      if (now - state.lastLoud < MIN_SILENCE_MS || now - joinedAt > LIMIT_MS) return { person, meter };
    }
  }
};

/** Makes a call. `onStart`: called when the person is in its room. */
export const makeCall = async (world: World, plan: Plan, onStart: (call: Call) => void): Promise<Call> => {
  const { id, present } = await startAndEnter(world, plan);
  const call: Call = {
    ...plan,
    ...{
      id,
      since: present.since,
      heardAt: null,
      silences: [],
      hadSeconds: 0,
      resumes: 0,
      isLost: false,
      endedAt: null,
    },
  };
  onStart(call);
  const { person, meter } = await typeUntilEnd(world, call, present);
  await postUntilClear(world, "/release", { session_id: id, reason: "manual" });
  meter();
  call.endedAt = performance.now();
  await person.leave().catch(() => {});
  return call;
};
