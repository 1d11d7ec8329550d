/**
 * What ends a call for real, on a real LiveKit server without webhooks: a revoked key ends the media, whatever the avatar worker
 * does; and a token that somebody has kept is worth nothing afterwards.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { joinAsPerson } from "./support/person.ts";
import { type Service, type StartedCall, startService } from "./support/service.ts";
import { joinAsStranger, type Stranger, validate } from "./support/stranger.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const program = binary.kind === "found" ? binary.path : "";
const skipped = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await Bun.sleep(20);
};
/** Waits until the call has this status. */
const untilStatus = (service: Service, { id }: StartedCall, status: string): Promise<void> =>
  until(async () => (await service.stateOf(id))["status"] === status);

describe.skipIf(binary.kind === "missing")(`a revoked key${skipped}`, () => {
  let service: Service;
  let worker: RunningProcess | null = null;
  beforeAll(async () => {
    service = await startService(program);
  });
  afterEach(async () => {
    worker?.kill("SIGCONT");
    worker?.kill("SIGTERM");
    await worker?.exited;
    worker = null;
  });
  afterAll(() => service?.stop());

  test.each([
    ["works", () => {}],
    ["is killed", (process: RunningProcess) => process.kill("SIGKILL")],
    ["is frozen", (process: RunningProcess) => process.kill("SIGSTOP")],
  ])("a call of a descendant, whose avatar worker %s: no more frames, and the room is gone", async (_, disturb) => {
    const own = await service.startWorker();
    worker = own;
    const parent = await service.newKey();
    const child = await service.call("POST", "/api-keys", parent.apiKey, { name: "child", environment: "live" });
    const { apiKey } = (await child.json()) as { apiKey: string };
    const call = await service.start(apiKey);
    const person = await joinAsPerson(call.url, call.token);
    await person.until(() => person.seen.length > 10);
    await untilStatus(service, call, "started");
    disturb(own);
    const revoked = await service.call("DELETE", `/api-keys/${parent.record.id}`, service.operatorKey);
    expect(revoked.status).toBe(200);
    const answeredAt = performance.now();
    await person.until(() => person.disconnectReason() !== null);
    const seconds = (performance.now() - answeredAt) / 1000;
    if (process.env["LONG"]) process.stderr.write(`last frame ${seconds.toFixed(2)} s after the revocation\n`);
    expect(person.disconnectReason()).toBe("ROOM_DELETED");
    const frames = person.seen.length;
    await until(async () => (await service.stateOf(call.id))["room"] === "gone");
    expect(person.seen.length).toBe(frames);
    expect(await service.stateOf(call.id)).toMatchObject({ status: "released" });
    await person.leave();
  });
});

/** How a call can end. Each waits until it has. */
const ENDS: Record<
  string,
  (service: Service, call: StartedCall & { key: Key; stranger: Stranger }) => Promise<unknown>
> = {
  "revoked key": ({ call, operatorKey }, { key }) => call("DELETE", `/api-keys/${key.record.id}`, operatorKey),
  endCall: ({ call }, { id, key }) =>
    call("POST", "/realtime/livekit/session/release", key.apiKey, { session_id: id, reason: "manual" }),
  "person who left": async (_, { stranger }) => stranger.leave(),
  "seconds that are over": async () => {},
  "deleted room": ({ rooms }, { room }) => rooms.delete(room),
};
type Key = Awaited<ReturnType<Service["newKey"]>>;

for (const autoCreate of [false, true]) {
  const title = `a kept token, on a LiveKit where participants create ${autoCreate ? "rooms" : "no rooms"}${skipped}`;
  describe.skipIf(binary.kind === "missing")(title, () => {
    let service: Service;
    let prefix: string;
    beforeAll(async () => {
      service = await startService(program, { autoCreate });
      await service.startWorker();
      prefix = roomPrefix(await readInstance(service.db));
    });
    afterAll(() => service?.stop());

    /** Joins with a token: refused; or alone in a room that is gone soon. */
    const tryToken = async (call: StartedCall, token: string): Promise<void> => {
      if (!autoCreate) {
        expect(await validate(call.url, token)).toBe(404);
        expect(await joinAsStranger(call.url, token)).toBeNull();
        return;
      }
      const stranger = await joinAsStranger(call.url, token);
      expect(stranger).not.toBeNull();
      await until(() => stranger?.isGone() === true);
      await until(async () => !(await service.rooms.list(prefix)).includes(call.room));
    };

    test.each(Object.keys(ENDS))("after the end by a %s: brings nobody back to a call", async (kind) => {
      const key = await service.newKey();
      const isShort = kind === "seconds that are over";
      const call = await service.start(key.apiKey, { mode: "voice", ...(isShort && { max_session_seconds: 2 }) });
      const stranger = await joinAsStranger(call.url, call.token);
      if (!stranger) throw new Error("the call cannot be joined");
      await untilStatus(service, call, "started");
      await until(() => stranger.token() !== call.token);
      await ENDS[kind]?.(service, { ...call, key, stranger });
      await untilStatus(service, call, "released");
      await until(async () => !(await service.rooms.list(prefix)).includes(call.room));
      const ended = await service.stateOf(call.id);
      // The one of the grant, the one that LiveKit sent, and both again: it has no natural end.
      for (const token of [call.token, stranger.token(), call.token, stranger.token()]) await tryToken(call, token);
      const { room: _, ...charged } = ended;
      expect(await service.stateOf(call.id)).toMatchObject(charged);
      expect(await service.rooms.list(prefix)).toEqual([]);
    });

    test("before the end: a second person with the same token replaces the first, and another room is refused", async () => {
      const key = await service.newKey();
      const call = await service.start(key.apiKey, { mode: "voice" });
      const first = await joinAsStranger(call.url, call.token);
      await untilStatus(service, call, "started");
      const second = await joinAsStranger(call.url, call.token);
      await until(() => first?.isGone() === true);
      expect(second?.isGone()).toBe(false);
      await ENDS["endCall"]?.(service, { ...call, key, stranger: second as Stranger });
      await until(() => second?.isGone() === true);
    });
  });
}
