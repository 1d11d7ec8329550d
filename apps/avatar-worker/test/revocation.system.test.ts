/**
 * The end of calls on a real LiveKit server without webhooks. A revoked key ends the media even if the avatar worker
 * does nothing. A kept token is worthless afterwards.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { endLostCall, readInstance } from "@realtime-avatar/db/calls/reconcile";
import {
  AVATAR_IDENTITY,
  avatarToken,
  PERSON_IDENTITY,
  personToken,
  roomPrefix,
} from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { RoomServiceClient } from "livekit-server-sdk";
import { sign } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";
import { joinAsRawClient, type RawClient, readClaims, validate } from "./support/raw-client.ts";
import { type Service, type StartedCall, startService } from "./support/service.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const program = binary.kind === "found" ? binary.path : "";
const skipped = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";

const isLong = process.env["LONG"] !== undefined;

/** Prints the time since `start`, in long runs. */
const note = (what: string, start: number): void => {
  if (isLong) process.stderr.write(`${what} ${((performance.now() - start) / 1000).toFixed(2)} s\n`);
};

/**
 * The services on a LiveKit where participants create rooms, and where they do not. The tests of this file share them.
 */
const services = new Map<boolean, Promise<Service>>();
const serviceWhere = (autoCreate: boolean): Promise<Service> => {
  const started = services.get(autoCreate) ?? startService(program, { autoCreate });
  services.set(autoCreate, started);
  return started;
};
afterAll(async () => {
  for (const started of services.values()) await (await started).stop();
});

/** In long runs, a test waits for time limits of the service: for an idle person, or a person who does not join. */
const LIMIT_MS = isLong ? 200_000 : 50_000;

/** Waits until the call has this status. */
const untilStatus = (service: Service, { id }: StartedCall, status: string): Promise<unknown> =>
  until(async () => (await service.stateOf(id))["status"] === status, {
    limitMs: LIMIT_MS,
    state: async () => [status, await service.stateOf(id)],
  });

describe.skipIf(binary.kind === "missing")(`a revoked key${skipped}`, () => {
  let service: Service;
  beforeAll(async () => {
    service = await serviceWhere(false);
  });
  afterEach(async () => {
    await service.killWorkers();
    // Otherwise the next call would be assigned to a lost worker until its lease ends.
    await service.db.client`delete from fleet.avatar_workers`;
  });

  const disturbances: [string, (process: RunningProcess) => void][] = [
    ["is frozen", (process) => process.kill("SIGSTOP")],
    ["is killed", (process) => process.kill("SIGKILL")],
    ["works", () => {}],
  ];
  test.each(isLong ? disturbances : disturbances.slice(0, 1))(
    "a revoked ancestor of a call's key, the avatar worker %s: no more frames; the room is gone",
    async (_, disturb) => {
      const worker = await service.startWorker();
      const parent = await service.newKey();
      const child = await service.call("POST", "/api-keys", parent.apiKey, { name: "child", environment: "live" });
      const { apiKey } = (await child.json()) as { apiKey: string };
      const call = await service.start(apiKey);
      const person = await joinAsPerson(call.url, call.token);
      await person.until(() => person.seen.length > 10);
      await untilStatus(service, call, "started");
      disturb(worker);
      const revoked = await service.call("DELETE", `/api-keys/${parent.record.id}`, service.operatorKey);
      expect(revoked.status).toBe(200);
      const answeredAt = performance.now();
      await person.until(() => person.disconnectReason() !== null);
      note("from the revocation to the last frame:", answeredAt);
      expect(person.disconnectReason()).toBe("ROOM_DELETED");
      const frames = person.seen.length;
      await until(async () => (await service.stateOf(call.id))["room"] === "gone");
      expect(person.seen.length).toBe(frames);
      expect(await service.stateOf(call.id)).toMatchObject({ status: "released" });
      await person.leave();
    },
  );
});

for (const autoCreate of isLong ? [false, true] : [false]) {
  const title = `the tokens of a running call, on a LiveKit where participants create ${autoCreate ? "rooms" : "no rooms"}${skipped}`;
  describe.skipIf(binary.kind === "missing")(title, () => {
    let service: Service;
    let call: StartedCall;
    beforeAll(async () => {
      service = await serviceWhere(autoCreate);
      if (service.workers().length === 0) await service.startWorker();
      const key = await service.newKey();
      call = await service.start(key.apiKey, { mode: "voice" });
    });
    afterAll(async () => {
      await service?.call("POST", "/realtime/livekit/session/release", service.operatorKey, { session_id: call.id });
      await until(async () => (await service.stateOf(call.id))["room"] === "gone");
    });

    const join = async (token: string): Promise<RawClient> => {
      const rawClient = await joinAsRawClient(call.url, token);
      if (!rawClient) throw new Error("the call cannot be joined");
      return rawClient;
    };
    const livekit = (): RoomServiceClient => {
      const { apiUrl, apiKey, apiSecret } = service.livekit;
      return new RoomServiceClient(apiUrl, apiKey, apiSecret);
    };
    const participant = async (identity: string, room = call.room) => {
      const all = await livekit().listParticipants(room);
      return all.find((one) => one.identity === identity);
    };

    test("a second person with another identity: refused while the first is present with the avatar; joins after it has left", async () => {
      const first = await join(call.token);
      await until(() => first.hasMet(AVATAR_IDENTITY));
      const other = await sign(service.livekit, { ...personToken(call.room), identity: "other" });
      expect(await joinAsRawClient(call.url, other)).toBeNull();
      expect(first.isGone()).toBe(false);
      first.leave();
      await until(async () => (await participant(PERSON_IDENTITY)) === undefined);
      (await join(other)).leave();
      await until(async () => (await participant("other")) === undefined);
    });

    test("the token that LiveKit sends to a participant: the rights of the first token for ten minutes; no room, no agent", async () => {
      const person = await join(call.token);
      await until(() => person.token() !== call.token);
      const [first, fresh] = [readClaims(call.token), readClaims(person.token())];
      expect([first.exp - first.nbf, fresh.exp - fresh.nbf]).toEqual([120, 600]);
      expect(fresh.video).toEqual(first.video);
      expect(Object.keys(fresh.video).sort()).toEqual(Object.keys(personToken("").video).sort());
      for (const claims of [first, fresh]) expect(Object.keys(claims)).not.toContain("roomConfig");
      person.leave();
    });

    // The avatar's token allows more than the person's, which shows that LiveKit supports it. No avatar worker is in
    // this room: LiveKit would disconnect a worker whose identity joins again, and the worker would end the call.
    test.each([
      ["the person", personToken, false, ""],
      ["the avatar", (room: string) => avatarToken(room, "avatar", 60), true, "changed"],
    ])(
      "%s that requests a camera, metadata and a microphone: gets what its token allows",
      async (_, tokenOf, hasCamera, metadata) => {
        const { name: room } = await livekit().createRoom({ name: crypto.randomUUID() });
        const token = tokenOf(room);
        const rawClient = await join(await sign(service.livekit, token));
        rawClient.publish("camera", "camera-1");
        rawClient.setMetadata("changed");
        rawClient.publish("microphone", "microphone-1");
        await until(() => rawClient.hasMet("microphone-1"));
        // The prefix of LiveKit's ids for camera tracks. A refusal repeats the request.
        expect(rawClient.hasMet("TR_VC")).toBe(hasCamera);
        // LiveKit lists a participant and its changes with a delay.
        await until(async () => (await participant(token.identity, room))?.metadata === metadata);
        rawClient.leave();
      },
    );
  });
}

/** The ways in which a call can end. Each function waits for the end. */
const ENDS: Record<
  string,
  (service: Service, call: StartedCall & { key: Key; rawClient: RawClient | null }) => Promise<unknown>
> = {
  "a revoked key": ({ call, operatorKey }, { key }) => call("DELETE", `/api-keys/${key.record.id}`, operatorKey),
  endCall: ({ call }, { id, key }) =>
    call("POST", "/realtime/livekit/session/release", key.apiKey, { session_id: id, reason: "manual" }),
  "a person who left": async (_, { rawClient }) => rawClient?.leave(),
  "its last second": async () => {},
  "a deleted room": ({ rooms }, { room }) => rooms.delete(room),
  "the operator": ({ db, tenantId }, { id }) => endLostCall(db, tenantId, id, "operator_ended", operatorOrigin()),
  "a lost worker": ({ killWorkers }) => killWorkers(),
  "the join time-out": async () => {},
  // LiveKit drops a participant that sends no media before that.
  "an idle person": async ({ stateOf }, { id, url, token }) => {
    await joinAsPerson(url, token);
    await until(async () => (await stateOf(id))["reason"] === "idle", { limitMs: LIMIT_MS });
  },
};
/** The ends that are tested without LONG=1. */
const FEW = ["a revoked key", "its last second"];
const LONG_MINUTES = 12;
type Key = Awaited<ReturnType<Service["newKey"]>>;

for (const autoCreate of isLong ? [false, true] : [false]) {
  const title = `a kept token, on a LiveKit where participants create ${autoCreate ? "rooms" : "no rooms"}${skipped}`;
  describe.skipIf(binary.kind === "missing")(title, () => {
    let service: Service;
    let prefix: string;
    beforeAll(async () => {
      service = await serviceWhere(autoCreate);
      if (service.workers().length === 0) await service.startWorker();
      prefix = roomPrefix(await readInstance(service.db));
    });

    /** Joins with a token. Expects a refusal, or an empty room that is soon gone. Returns the newest token. */
    const tryToken = async (call: StartedCall, token: string): Promise<string> => {
      if (!autoCreate) expect(await validate(call.url, token)).toBe(404);
      const rawClient = await joinAsRawClient(call.url, token);
      if (!autoCreate) expect(rawClient).toBeNull();
      if (rawClient === null) return token;
      const joinedAt = performance.now();
      await until(() => rawClient.isGone());
      note("a kept token was in an empty room for", joinedAt);
      expect(rawClient.hasMet(AVATAR_IDENTITY)).toBe(false);
      await until(async () => !(await service.rooms.list(prefix)).includes(call.room));
      return rawClient.token();
    };

    test.each(isLong ? Object.keys(ENDS) : FEW)(
      "used after an end by %s: no call and no avatar",
      async (kind) => {
        if (service.workers().length === 0) await service.startWorker();
        const key = await service.newKey();
        const isShort = kind === "its last second";
        const call = await service.start(key.apiKey, { mode: "voice", ...(isShort && { max_session_seconds: 2 }) });
        const isJoined = kind !== "the join time-out";
        const rawClient = isJoined ? await joinAsRawClient(call.url, call.token) : null;
        // On a busy machine, the call can end before a poll has seen it started.
        if (isJoined && !isShort) await untilStatus(service, call, "started");
        const hasMet = (one: RawClient) => one.token() !== call.token && one.hasMet(AVATAR_IDENTITY);
        if (rawClient) await until(() => hasMet(rawClient) || (isShort && rawClient.isGone()));
        await ENDS[kind]?.(service, { ...call, key, rawClient });
        await untilStatus(service, call, isJoined ? "released" : "failed");
        await until(async () => !(await service.rooms.list(prefix)).includes(call.room));
        const ended = await service.stateOf(call.id);
        // Tries the tokens that LiveKit sent, which expire, and the token of the start, which does not.
        const newest = await tryToken(call, rawClient?.token() ?? call.token);
        for (const token of isLong ? [call.token, newest] : [call.token]) await tryToken(call, token);
        const { room: _, ...charged } = ended;
        expect(await service.stateOf(call.id)).toMatchObject(charged);
        expect(await service.rooms.list(prefix)).toEqual([]);
      },
      240_000,
    );

    // LiveKit gives each participant a new token, which is valid for ten minutes. With the newest token, one can try
    // forever.
    test.skipIf(!isLong)(
      "the newest one used again and again for twelve minutes: no call and no avatar",
      async () => {
        const key = await service.newKey();
        if (service.workers().length === 0) await service.startWorker();
        const call = await service.start(key.apiKey, { mode: "voice" });
        const rawClient = await joinAsRawClient(call.url, call.token);
        await untilStatus(service, call, "started");
        let token = rawClient?.token() ?? "";
        await ENDS["endCall"]?.(service, { ...call, key, rawClient });
        await until(async () => !(await service.rooms.list(prefix)).includes(call.room));
        const end = performance.now() + LONG_MINUTES * 60_000;
        let tries = 0;
        for (; performance.now() < end; await Bun.sleep(20_000)) {
          if (!autoCreate && (await validate(call.url, token)) === 401) break;
          token = await tryToken(call, token);
          tries++;
        }
        expect(tries).toBeGreaterThan(0);
        expect(await service.rooms.list(prefix)).toEqual([]);
        expect(await service.stateOf(call.id)).toMatchObject({ status: "released", room: "gone" });
      },
      LONG_MINUTES * 60_000 + 120_000,
    );

    test("used twice before the end: the second person replaces the first", async () => {
      const key = await service.newKey();
      if (service.workers().length === 0) await service.startWorker();
      const call = await service.start(key.apiKey, { mode: "voice" });
      const first = await joinAsRawClient(call.url, call.token);
      await untilStatus(service, call, "started");
      const second = await joinAsRawClient(call.url, call.token);
      await until(() => first?.isGone() === true);
      expect(second?.isGone()).toBe(false);
      await ENDS["endCall"]?.(service, { ...call, key, rawClient: second });
      await until(() => second?.isGone() === true);
    });
  });
}
