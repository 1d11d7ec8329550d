/** `sessions` and `workers`: open sessions, running workers, and a call that the operator ends. */
import { describe, expect, test } from "bun:test";
import { readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests, run, runProcess } from "../../test/cli.ts";

const tests = await cliTests();
const { cli, cliProcess, json } = tests;

const seedCalls = async () => {
  const tenant = await seedTenant(tests.db, { live: 1_000_000, test: 1_000_000 });
  const { caller } = await seedCaller(tests.db, tenant);
  const avatar = await readyAvatar(tests.db, caller);
  await sync(tests.db, "wrk_one", { slots: 2, features: ["voice"] });
  const [started, reserved] = [await seedCall(tests.db, caller, avatar), await seedCall(tests.db, caller, avatar)];
  await sync(tests.db, "wrk_one", { slots: 2, features: ["voice"], calls: [report(started, "started", 3)] });
  // The commands of a test may take longer than a lease.
  await tests.db.client`update fleet.avatar_workers set lease_until = now() + interval '1 hour' where id = 'wrk_one'`;
  return { tenant, started, reserved };
};

describe("the operator and calls", () => {
  test("sessions list, workers list, sessions end: open sessions by tenant; the call is charged its reported seconds", async () => {
    const { tenant, started, reserved } = await seedCalls();
    const listed = async (...args: string[]) =>
      (await json("sessions", "list", ...args)).data.map(({ sessionId }: { sessionId: string }) => sessionId);
    expect(await listed("--open")).toEqual([reserved, started]);
    expect(await listed("--open", "--tenant", tenant)).toEqual([reserved, started]);
    expect(await listed("--open", "--tenant", tests.tenantId)).toEqual([]);
    expect(await listed("--tenant", tenant, "--status", "started")).toEqual([started]);
    const { stdout } = await cliProcess("sessions", "list", "--open");
    expect(stdout.split("\n")[0]).toMatch(/^TENANT +ID +ENVIRONMENT/);
    expect(stdout).toContain(`${tenant}  ${started}`);

    expect((await json("workers", "list")).data).toEqual([
      { id: "wrk_one", features: ["voice"], slots: 2, usedSlots: 2, leaseUntil: expect.stringMatching(/Z$/) },
    ]);
    expect((await cli("workers", "list")).stdout).toMatch(/\nwrk_one +2 +2 +until \S+Z +voice\n$/);

    const livekit = await startLivekitStandIn();
    const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = livekit;
    const variables = { ...tests.variables, LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET };
    const ended = await runProcess(variables, "sessions", "end", started, "--json");
    expect([ended.code, ended.stderr]).toEqual([0, ""]);
    expect(JSON.parse(ended.stdout)).toMatchObject({ tenantId: tenant, status: "released", billedCreditMicros: 3 });
    // The room is deleted at once, not only by the reconciler.
    const [call] = await tests.db.client`select room_name from calls where session_id = ${started}`;
    expect(livekit.requests).toMatchObject([{ method: "DeleteRoom", name: call?.["room_name"] }]);
    await livekit.stop();
    // A repeated end changes nothing.
    expect(await json("sessions", "end", started)).toMatchObject({ status: "released", billedCreditMicros: 3 });
    const foreign = await cli("sessions", "end", reserved, "--tenant", tests.tenantId);
    expect([foreign.code, foreign.stderr]).toEqual([1, "There is no session with this id.\n"]);
    expect(await listed("--open")).toEqual([reserved]);
    // LiveKit is unavailable.
    const late = await run(variables, "sessions", "end", reserved, "--tenant", tenant, "--json");
    expect([late.code, late.stderr]).toEqual([0, "LiveKit does not respond: the service deletes the room later.\n"]);
    expect(JSON.parse(late.stdout)).toMatchObject({ billedCreditMicros: 0 });
    expect(await listed("--open")).toEqual([]);
    expect(await json("audit", "tail", "--tenant", tenant, "--action", "usage_session.ended")).toMatchObject([
      { actorId: null, targetId: started },
      { actorId: null, targetId: reserved },
    ]);
    expect((await cli("sessions", "list", "--open")).stdout).toBe("No open sessions.\n");
    expect((await json("workers", "list")).data).toMatchObject([{ usedSlots: 0 }]);
  });

  test("sessions end, unknown session: exit 1; sessions list, no tenant: exit 2", async () => {
    const unknown = await cli("sessions", "end", "ses_01h455vb4pex5vsknk084sn02q");
    expect([unknown.code, unknown.stderr]).toEqual([1, "There is no session with this id.\n"]);
    expect((await cli("sessions", "end", "x")).code).toBe(2);
    expect(await cli("sessions", "list")).toMatchObject({
      code: 2,
      stderr: "--tenant: Is required. `sessions list --open` lists the open sessions of all tenants.\n",
    });
  });
});
