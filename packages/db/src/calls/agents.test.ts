/** The agents of calls: brought rooms, and agents that are dispatched into our rooms. */

import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { newClaim, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { attachAgent, type BroughtRoom, openCall, releaseCall } from "./calls.ts";
import { listWorkersWithWork } from "./fleet.ts";
import { compareRooms, endLostCall, listAwaitedAgents } from "./reconcile.ts";

const database = await fileDatabase();
const { db } = database;
const { client } = db;
await mutate(db);
const pools = await Promise.all([1, 2].map(() => fixture(connectTo(database, { connections: 4, deadlineMs: 60_000 }))));

const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_agents`;
  const tenantId = await seedTenant(db, { live: 100_000, test: 100_000 });
  const root = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, root.caller);
  await sync(db, "worker", { slots: 20 });
  return { ...root, tenantId, avatarId };
};
const broughtBy = (token: string): BroughtRoom => ({
  ...{ url: "wss://x", token: Buffer.from("sealed"), agentIdentity: "agent" },
  digest: createHash("sha256").update(token).digest(),
});
const agents = async () => (await client`select session_id, url from call_agents`).map((row) => ({ ...row }));
const release = (id: string, { caller }: Awaited<ReturnType<typeof world>>) =>
  releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);

describe("a brought room", () => {
  test("from its start to its end: the call is assigned at once; the room is neither missing nor deleted; at the end it is erased", async () => {
    const one = await world();
    const request = callRequest(one.caller, one.avatarId, { brought: broughtBy("t") });
    expect((await openCall(db, request, one.caller, null)).kind).toBe("written");
    expect(await listWorkersWithWork(db, ["worker"])).toEqual(["worker"]);
    const { start } = await sync(db, "worker", { slots: 20 });
    const brought = { url: "wss://x", token: Buffer.from("sealed"), agentIdentity: "agent" };
    expect(start).toMatchObject([{ sessionId: request.id, brought }]);
    expect(await compareRooms(db, "rta-test-", [])).toEqual({ stray: [], missing: [] });
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
    expect(await release(request.id, one)).toEqual({ kind: "written", hasEnded: true, roomName: null });
    expect(await agents()).toEqual([]);
    const [call] = await client`select room, input from calls where session_id = ${request.id}`;
    expect({ ...call }).toEqual({ room: "gone", input: {} });
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("ended by its worker or by the operator: no room to delete", async () => {
    const one = await world();
    const open = async (token: string) => {
      const request = callRequest(one.caller, one.avatarId, { brought: broughtBy(token) });
      await openCall(db, request, one.caller, null);
      return request.id;
    };
    const [first, second] = [await open("1"), await open("2")];
    const { rooms } = await sync(db, "worker", { slots: 20, calls: [report(first, "ended", 3, { reason: "idle" })] });
    expect(rooms).toEqual([null]);
    expect(await endLostCall(db, one.tenantId, second, "operator_ended", operatorOrigin())).toBeNull();
    expect(await agents()).toEqual([]);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("the same token of the same key, at once on two replicas, with and without a claim: one call, whose id all requests get", async () => {
    const one = await world();
    for (let round = 0; round < 5; round++) {
      const brought = broughtBy(`token ${round}`);
      const tries = Array.from({ length: 30 }, (_, at) => {
        const claim = at % 3 === 0 ? { ...newClaim(`${round} ${at}`), request: "POST /bring" } : null;
        const request = callRequest(one.caller, one.avatarId, { brought });
        return openCall(pools[at % 2] ?? db, request, one.caller, claim).then((outcome) => ({
          outcome,
          id: request.id,
        }));
      });
      const outcomes = await Promise.all(tries);
      const [written, ...others] = outcomes.filter(({ outcome }) => outcome.kind === "written");
      expect(others).toEqual([]);
      for (const { outcome } of outcomes) {
        if (outcome.kind !== "written") expect(outcome).toEqual({ kind: "same", sessionId: written?.id as never });
      }
    }
    expect(await agents()).toHaveLength(5);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("a token twice in one tenant: refused by a constraint of the table", async () => {
    const one = await world();
    const ids = await Promise.all(
      ["1", "2"].map((token) => seedCall(db, one.caller, one.avatarId, { brought: broughtBy(token) })),
    );
    const twice = client`update call_agents set digest = '\\x00' where session_id in ${client(ids)}`;
    expect(await twice.catch((error: { code: string }) => error.code)).toBe("23505");
  });
});

describe("one of our rooms that awaits its agent", () => {
  const awaiting = async () => {
    const one = await world();
    const id = await seedCall(db, one.caller, one.avatarId, { awaitsAgent: true });
    const attach = (brought = broughtBy("t"), avatarId: string = one.avatarId) =>
      attachAgent(db, { tenantId: one.tenantId, sessionId: id }, avatarId, brought);
    return { ...one, one, id, attach };
  };
  const start = async () => (await sync(db, "worker", { slots: 20 })).start;

  test("after the agent has brought the avatar: the worker gets the call once, with one token", async () => {
    const { id, one, attach } = await awaiting();
    expect(await start()).toEqual([]);
    expect(await attach(broughtBy("t"), "ava_other")).toBe("not_found");
    expect(await Promise.all([attach(), attach(), attach()])).toEqual(["attached", "attached", "attached"]);
    expect(await attach(broughtBy("another"))).toBe("other");
    expect(await listWorkersWithWork(db, ["worker"])).toEqual(["worker"]);
    expect(await start()).toMatchObject([{ sessionId: id, brought: { url: "wss://x", agentIdentity: "agent" } }]);
    expect(await release(id, one)).toEqual({ kind: "written", hasEnded: true, roomName: `rta-test-${id}` });
    expect([await attach(), await agents()]).toEqual(["ended", []]);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("older than five seconds: listed until its agent has brought the avatar", async () => {
    const { id, attach } = await awaiting();
    expect(await listAwaitedAgents(db, 10)).toEqual([]);
    await client`update call_agents set created_at = now() - interval '6 seconds'`;
    expect(await listAwaitedAgents(db, 10)).toMatchObject([{ sessionId: id, roomName: `rta-test-${id}` }]);
    await attach();
    expect(await listAwaitedAgents(db, 10)).toEqual([]);
  });

  test("without an agent, with a revoked key, or no longer joinable: the call accepts no agent", async () => {
    const { one, id, attach } = await awaiting();
    const other = await seedCall(db, one.caller, one.avatarId);
    const call = { tenantId: one.tenantId, sessionId: other };
    expect(await attachAgent(db, call, one.avatarId, broughtBy("x"))).toBe("ended");
    await client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    expect(await attach()).toBe("ended");
    await client`update usage_sessions set expires_at = now() + interval '1 minute' where id = ${id}`;
    await client`update api_keys set revoked_at = now(), version = version + 1 where id = ${one.caller.id}`;
    expect(await attach()).toBe("ended");
  });
});
