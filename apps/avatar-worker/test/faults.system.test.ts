/**
 * Calls while LiveKit, the service, an avatar worker, a person or a connection between them fails. All of them are real
 * processes. After each test, credits, slots and rooms are consistent.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { die, readWorkerId, startWorld, type World } from "./support/faults.ts";
import { validate } from "./support/raw-client.ts";
import type { StartedCall } from "./support/service.ts";
import type { WebhookFault } from "./support/webhooks.ts";

const LONG = process.env["LONG"] === "1";
setDefaultTimeout(LONG ? 300_000 : 60_000);

const binary = await livekitBinary();
const title = `a call${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

const SETTINGS = LONG ? [false, true] : [false];
describe.skipIf(binary.kind === "missing").each(SETTINGS)(`${title}, room.auto_create: %p`, (autoCreate) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(binary.kind === "found" ? binary.path : "", autoCreate);
  });
  afterAll(() => world?.stop());
  afterEach(async () => {
    world.leaveAll();
    try {
      await world.expectOpen([]);
    } finally {
      await world.clean();
    }
  });

  /** Waits until the lease of a lost worker ends. Only the long tests wait for the real end. */
  const untilLeaseEnds = async (worker: RunningProcess): Promise<void> => {
    if (!LONG) await world.endLease(worker);
  };
  /** Waits until another avatar is in the room of a call. */
  const untilMoved = async (call: StartedCall, before: string | null): Promise<void> => {
    await until(async () => (await world.state(call))["generation"] === 2);
    await until(async () => ![null, before].includes(await world.avatarOf(call)));
  };
  const untilAvatar = async (call: StartedCall): Promise<string | null> => {
    await until(async () => (await world.avatarOf(call)) !== null);
    return world.avatarOf(call);
  };

  describe("whose webhooks", () => {
    /** Waits until the service has checked the room of the last event. */
    const untilLooked = async (): Promise<void> => {
      await world.service.rooms.create(`${world.prefix}ses_01h455vb4pex5vsknk084sn02q`);
      await until(async () => !(await world.service.rooms.list(world.prefix)).some((name) => name.endsWith("sn02q")));
    };

    const faults: [string, WebhookFault, "in order" | "reversed" | null][] = [
      ["are lost", "dropped", null],
      ["come in reverse order, after the call", "held", "reversed"],
      ["come a minute later", "held", "in order"],
      ["come twice", "doubled", null],
      ["have no signature", "unsigned", null],
    ];
    test.each(LONG ? faults : faults.slice(0, 1))(
      "%s: ends with its end or its room, and a later call continues",
      async (_, fault, order) => {
        await world.onlyWorker();
        world.webhooks.fault = fault;
        const before = world.webhooks.statuses.length;
        const [ended, lost] = [await world.startJoined(), await world.startJoined()];
        await world.endCall(ended);
        await world.service.rooms.delete(lost.room);
        await world.untilStatus(lost, "released");
        expect((await world.state(lost))["reason"]).toBe("disconnected");
        for (const call of [ended, lost]) await world.expectCharged(call);
        const later = await world.startJoined();
        if (order !== null) {
          await until(() => world.webhooks.held().filter((name) => name === "room_finished").length >= 2);
          if (order === "in order") await Bun.sleep(60_000);
          await world.webhooks.release(order);
        }
        world.webhooks.fault = null;
        await untilLooked();
        const statuses = new Set(world.webhooks.statuses.slice(before));
        if (fault === "unsigned") expect(statuses).toContain(401);
        else if (fault !== "dropped") expect([...statuses]).toEqual([200]);
        await world.expectOpen([later.id]);
        await world.endCall(later);
        await world.expectCharged(later);
      },
    );
  });

  describe("whose avatar worker", () => {
    test("is killed: moves once with its session and bill, and an older report is ignored; killed again: ends", async () => {
      const first = await world.onlyWorker();
      const call = await world.startJoined();
      const avatar = await untilAvatar(call);
      await die(first);
      const second = await world.service.startWorker();
      await untilLeaseEnds(first);
      await untilMoved(call, avatar);
      const late = { session_id: call.id, generation: 1, state: "ended" as const, used_seconds: 500 };
      const response = await world.sync(await readWorkerId(first), {
        slots: 0,
        features: [],
        calls: [{ ...late, reason: "idle" }],
      });
      expect(response.end).toEqual([{ session_id: call.id, generation: 1, reason: null }]);
      expect(response.start).toEqual([]);
      await die(second);
      const reported = await world.state(call);
      expect(reported["status"]).toBe("started");
      expect(reported["used"]).toBeLessThan(500_000_000);
      await world.service.startWorker();
      await untilLeaseEnds(second);
      await world.untilStatus(call, "released");
      const ended = await world.state(call);
      expect(ended).toMatchObject({ reason: "failed", generation: 2 });
      // The reported seconds, plus the seconds until its last sync.
      expect(ended["used"]).toBeGreaterThanOrEqual(reported["used"]);
      await world.expectCharged(call);
    });

    test.skipIf(!LONG)(
      "is killed without a replacement: ends, charged until the last sync; a call that was never joined: no charge",
      async () => {
        const worker = await world.onlyWorker();
        const [started, reserved] = [await world.startJoined(), await world.startCall()];
        await die(worker);
        const { used } = await world.state(started);
        await untilLeaseEnds(worker);
        await world.untilStatus(started, "released");
        const ended = await world.state(started);
        expect(ended["reason"]).toBe("failed");
        expect(ended["used"]).toBeGreaterThanOrEqual(Number(used));
        await world.expectCharged(started);
        await until(async () => (await world.openCalls()).length === 0);
        expect(await world.state(reserved)).toMatchObject({ used: 0 });
      },
    );

    test.skipIf(!LONG)("is frozen: moves, and stays at the new worker when the frozen one resumes", async () => {
      const first = await world.onlyWorker();
      const call = await world.startJoined();
      const before = await untilAvatar(call);
      // The worker learns of this call only when it resumes.
      first.kill("SIGSTOP");
      const assigned = await world.startCall();
      await world.service.startWorker();
      await world.join(assigned);
      for (const moved of [call, assigned]) await untilMoved(moved, before);
      const avatar = await world.avatarOf(assigned);
      first.kill("SIGCONT");
      await first.waitFor(/the lease has ended/);
      const lease = await world.leaseOf(first);
      await until(async () => (await world.leaseOf(first)) > lease);
      expect(await world.avatarOf(assigned)).toBe(avatar);
      // The library of the first worker resumes its connection, so LiveKit drops the avatar of the second. The second
      // avatar comes back.
      await until(async () => (await world.avatarOf(call)) !== null);
      for (const moved of [call, assigned]) {
        expect(await world.state(moved)).toMatchObject({ status: "started", generation: 2 });
        await world.endCall(moved);
        await world.expectCharged(moved);
      }
    });

    test.skipIf(!LONG).each([true, false])(
      "does not reach the service: leaves by itself (call at another worker: %p)",
      async (hasOther) => {
        await world.noWorker();
        const first = await world.service.startWorker(`http://127.0.0.1:${world.toService.port}`);
        const call = await world.startJoined();
        const { used } = await world.state(call);
        const before = await untilAvatar(call);
        if (hasOther) await world.service.startWorker();
        world.toService.isLost = true;
        // LiveKit and the person are unaffected.
        await first.waitFor(/the lease has ended/);
        if (hasOther) await untilMoved(call, before);
        else {
          await until(async () => ["", PERSON_IDENTITY].includes(await world.identities(call)));
          await world.untilStatus(call, "released");
          expect((await world.state(call))["used"]).toBeGreaterThanOrEqual(Number(used));
        }
        const avatar = await world.avatarOf(call);
        world.toService.isLost = false;
        world.toService.cut();
        await first.waitFor(/the service responds again/);
        expect(await world.avatarOf(call)).toBe(avatar);
        await world.endCall(call);
        await world.expectCharged(call);
        await die(first);
      },
    );
  });

  describe("whose LiveKit", () => {
    test("is killed: ends, charged for the reported seconds; starts are refused until it is back; a call that was never joined: no charge", async () => {
      await world.onlyWorker();
      const [started, reserved] = [await world.startJoined(), await world.startCall()];
      await die(world.service.livekit.process);
      const refused = await startResponse(await world.service.newKey());
      expect(refused.status).toBe(503);
      await world.service.livekit.restart();
      await world.untilStatus(started, "released");
      expect((await world.state(started))["reason"]).toBe("disconnected");
      await world.expectCharged(started);
      // The worker of the reserved call cannot join and ends the call; or the reconciler creates the room again.
      await until(
        async () =>
          (await world.state(reserved))["status"] === "failed" ||
          (await validate(reserved.url, reserved.token)) === 200,
      );
      await world.endCall(reserved);
      expect(await world.state(reserved)).toMatchObject({ used: 0 });
      await until(async () => {
        const again = await startResponse(await world.service.newKey());
        return again.status === 200;
      });
      const apiKey = world.service.operatorKey;
      for (const id of await world.openCalls()) await world.endCall({ id: id as SessionId, apiKey });
    });

    const startResponse = ({ apiKey }: { apiKey: string }, headers = {}): Promise<Response> => {
      const body = { avatar_id: world.service.avatarId, mode: "voice" };
      return world.service.call("POST", "/realtime/livekit/session", apiKey, body, headers);
    };

    test("responds too late: no hold, and the room is deleted; an end takes effect", async () => {
      await world.onlyWorker();
      const call = await world.startJoined();
      const key = await world.service.newKey();
      world.toLivekit.losesResponses = true;
      const refused = await startResponse(key);
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      // The room was created, but the service does not know it.
      expect(await world.service.rooms.list(world.prefix)).toHaveLength(2);
      await world.endCall(call);
      await world.expectCharged(call);
      world.toLivekit.losesResponses = false;
      await until(async () => (await world.state(call))["room"] === "gone");
    });

    test.skipIf(!LONG)("is frozen for eight seconds: continues", async () => {
      await world.onlyWorker();
      const call = await world.startJoined();
      world.service.livekit.process.kill("SIGSTOP");
      await Bun.sleep(8000);
      world.service.livekit.process.kill("SIGCONT");
      await until(async () => (await world.identities(call)) === `${AVATAR_IDENTITY},${PERSON_IDENTITY}`);
      await world.endCall(call);
      await world.expectCharged(call);
    });
  });

  describe("whose service", () => {
    /** Starts a call, and kills the service between its write and its response. */
    const startAndKill = async () => {
      const { apiKey } = await world.service.newKey();
      world.toLivekit.losesResponses = true;
      const body = { avatar_id: world.service.avatarId, mode: "voice" };
      const attempt = (): Promise<Response | null> =>
        world.service
          .call("POST", "/realtime/livekit/session", apiKey, body, { "idempotency-key": "lost" })
          .catch(() => null);
      const before = (await world.openCalls()).length;
      const first = attempt();
      await until(async () => (await world.openCalls()).length > before);
      await die(world.service.api.process());
      expect(await first).toBeNull();
      world.toLivekit.losesResponses = false;
      const id = (await world.openCalls()).at(-1) as SessionId;
      return { id, apiKey, attempt };
    };

    test("is killed between the write and the response: a retry returns the same call; a running call continues", async () => {
      await world.onlyWorker();
      const running = await world.startJoined();
      const avatar = await untilAvatar(running);
      const { id, apiKey, attempt } = await startAndKill();
      await world.service.api.restart();
      const grant = (await (await attempt())?.json()) as Record<string, string>;
      expect(grant["session_id"]).toBe(id);
      expect(await world.openCalls()).toEqual([running.id, id]);
      const { room_name: room = "", participant_token: token = "", livekit_url: url = "" } = grant;
      const call = { id, apiKey, room, token, url };
      await world.join(call);
      await world.untilStatus(call, "started");
      expect(await world.avatarOf(running)).toBe(avatar);
      expect(await world.state(running)).toMatchObject({ status: "started", generation: 1 });
      expect(await world.reservedOf(apiKey)).toBeGreaterThan(0);
      for (const one of [running, call]) {
        await world.endCall(one);
        await world.expectCharged(one);
      }
      expect(await world.reservedOf(apiKey)).toBe(0);
    });

    test.skipIf(!LONG)("is killed between the write and the response, without a retry: ends at no charge", async () => {
      await world.onlyWorker();
      const { id } = await startAndKill();
      await world.service.api.restart();
      await until(async () => (await world.openCalls()).length === 0);
      expect(await world.service.stateOf(id)).toMatchObject({ used: 0 });
    });

    test.skipIf(!LONG)("is frozen: has no avatar meanwhile, and is charged once", async () => {
      await world.onlyWorker();
      const call = await world.startJoined();
      world.service.api.process().kill("SIGSTOP");
      await until(async () => ["", PERSON_IDENTITY].includes(await world.identities(call)));
      world.service.api.process().kill("SIGCONT");
      // The worker of the call has taken it again, or the call has ended.
      await until(
        async () => (await world.state(call))["status"] === "released" || (await world.avatarOf(call)) !== null,
      );
      await world.endCall(call);
      await world.expectCharged(call);
    });
  });

  describe("whose person", () => {
    // LiveKit waits for twenty seconds.
    test.skipIf(!LONG).each([
      ["has closed the browser", "SIGKILL"],
      ["has lost the network", "SIGSTOP"],
    ] as const)("%s: ends, charged for the reported seconds", async (_, signal) => {
      await world.onlyWorker();
      const call = await world.startCall();
      const person = startProcess([
        ...source("apps/avatar-worker/test/support/person-process.ts"),
        call.url,
        call.token,
      ]);
      await person.waitFor(/joined/);
      await world.untilStatus(call, "started");
      person.kill(signal);
      await world.untilStatus(call, "released");
      person.kill("SIGKILL");
      await person.exited;
      expect((await world.state(call))["reason"]).toBe("disconnected");
      await world.expectCharged(call);
    });
  });
});
