/**
 * The limits of data from other participants, with statistics that a test sets. test/hostile-server.system.test.ts uses
 * real statistics.
 */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { RoomEvent } from "@livekit/rtc-node";
import { LIMITS, watchFlood } from "./flood.ts";

const LIMIT = { messages: 10, bytes: 1000, burstSeconds: 2 };

/** Watches a room with these received totals of its data channels, for both directions. */
const watch = (limits = LIMIT) => {
  const received = { messages: 0, bytes: 0 };
  const channel = (share: number) => ({
    stats: {
      case: "dataChannel",
      value: { dc: { messagesReceived: received.messages * share, bytesReceived: BigInt(received.bytes * share) } },
    },
  });
  const other = { stats: { case: "transport", value: { dc: { messagesReceived: 1e9, bytesReceived: 10n ** 9n } } } };
  const room = Object.assign(new EventEmitter(), {
    getRtcStats: async () => ({ publisherStats: [channel(0.5), other], subscriberStats: [channel(0.5)] }),
  });
  let floods = 0;
  const check = watchFlood(room as never, limits, () => floods++);
  let now = 0;
  /** Advances a second, and adds to the totals. Returns the number of floods so far. */
  const second = async (messages: number, bytes: number): Promise<number> => {
    received.messages += messages;
    received.bytes += bytes;
    now += 1000;
    check(now);
    await Bun.sleep(0);
    return floods;
  };
  return { room, second, check };
};

test.each([
  ["messages", 30, 0],
  ["bytes", 0, 3000],
])("%s: three times the limit in a second is no flood, one more is", async (_, messages, bytes) => {
  expect(await watch().second(messages, bytes)).toBe(0);
  expect(await watch().second(messages && messages + 2, bytes && bytes + 2)).toBe(1);
});

test("as much as the limit in each second: never a flood; a little more: a flood after some time", async () => {
  const { second } = watch();
  await second(30, 3000);
  for (let count = 0; count < 100; count++) expect(await second(10, 1000)).toBe(0);
  expect(await second(12, 0)).toBe(1);
  // A pause makes room again.
  for (let count = 0; count < 5; count++) await second(0, 0);
  expect(await second(30, 3000)).toBe(1);
});

test("published tracks, mutes and joins: count as messages", async () => {
  const { room, second } = watch();
  const { TrackPublished, TrackUnpublished, TrackMuted, TrackUnmuted, ParticipantConnected } = RoomEvent;
  for (const event of [TrackPublished, TrackUnpublished, TrackMuted, TrackUnmuted, ParticipantConnected]) {
    for (let count = 0; count < 6; count++) room.emit(event);
  }
  expect(await second(0, 0)).toBe(0);
  for (let count = 0; count < 11; count++) room.emit(TrackMuted);
  expect(await second(0, 0)).toBe(1);
});

test("statistics: read once a second; a failed read is no flood", async () => {
  let looks = 0;
  const room = Object.assign(new EventEmitter(), { getRtcStats: () => Promise.reject(new Error(`${looks++}`)) });
  const check = watchFlood(room as never, LIMIT, () => expect.unreachable());
  for (let now = 0; now <= 3000; now += 100) check(now);
  await Bun.sleep(0);
  expect(looks).toBe(3);
});

test("the limits of an agent: a minute of speech at once, and more than real time in the long run", () => {
  const { person, agent } = LIMITS;
  // 16-bit PCM at 48 kHz, in base64, in frames of 20 ms.
  expect(agent.burstSeconds * agent.bytes).toBeGreaterThan(60 * 96_000);
  expect(agent.bytes).toBeGreaterThan(200_000);
  expect(person.messages).toBeGreaterThan(60);
  expect(person.burstSeconds * person.bytes).toBeLessThan(2 ** 20);
});
