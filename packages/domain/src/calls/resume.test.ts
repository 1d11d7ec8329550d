import { describe, expect, test } from "bun:test";
import { Problem } from "../problem.ts";
import { validate } from "../schema.ts";
import { type CallToResume, presentResumed, roomToResumeIn } from "./resume.ts";
import { roomName, roomPrefix, sessionOfRoom } from "./room.ts";
import { CallGrant } from "./schemas.ts";
import { RESUME } from "./worker-sync.ts";

const SESSION = "ses_01kasdy6x1ejfv3nxkhg5t0wf3";
const call: CallToResume = {
  ...{ sessionId: SESSION, isOpen: true, isStarted: true, hasAgent: false, roomNumber: 1, isRoomPending: false },
  ...{
    input: { stt_mode: "off", instructions: "Be kind." },
    heldSeconds: 600,
    maxSeconds: 600,
    price: 1,
    features: ["voice", RESUME],
    hasConnectionHistory: false,
  },
};
const outcome = (changes: Partial<CallToResume>): number | string => {
  try {
    return roomToResumeIn({ ...call, ...changes });
  } catch (error) {
    return error instanceof Problem ? error.code : "?";
  }
};

describe("the room in which a call is resumed", () => {
  test.each([
    ["an open call: the next room", {}, 2],
    ["a call that was resumed before: the room after the present one", { roomNumber: 7 }, 8],
    ["a call whose next room is being created: this room", { roomNumber: 2, isRoomPending: true }, 2],
    ["an ended call: refused", { isOpen: false, isStarted: false, hasAgent: true }, "session_closed"],
    ["a call with an agent: refused", { hasAgent: true }, "call_not_resumable"],
    ["a call without a person so far: refused", { isStarted: false }, "call_not_resumable"],
    ["a call at a worker of an earlier release: refused", { features: ["voice"] }, "call_not_resumable"],
  ] as [string, Partial<CallToResume>, number | string][])("%s", (_, changes, expected) => {
    expect(outcome(changes)).toBe(expected);
  });

  test("the names of the rooms of a call: different, with the same prefix and session", () => {
    const names = [1, 2, 12].map((number) => roomName("abc", SESSION, number));
    expect(new Set(names).size).toBe(3);
    expect(names[0]).toBe(roomName("abc", SESSION));
    for (const name of names) {
      expect(name.startsWith(roomPrefix("abc"))).toBe(true);
      expect(sessionOfRoom(name)).toBe(SESSION);
    }
  });
});

test("the grant of a resumed call: like the grant of a start, with a minute to join again", () => {
  const now = new Date("2026-01-01T00:00:00Z");
  const grant = presentResumed(call, {
    roomName: "rta-x-2-y",
    livekitUrl: "wss://l",
    token: "t",
    now,
    connectionHistory: null,
  });
  expect(validate(CallGrant, grant)).toEqual([]);
  expect(grant).toMatchObject({
    ...{ session_id: SESSION, room_name: "rta-x-2-y", stt_mode: "off", max_session_seconds: 600 },
    ...{ join_timeout_seconds: 60, reservation_expires_at: "2026-01-01T00:01:00.000Z", ignored: ["instructions"] },
  });
});
