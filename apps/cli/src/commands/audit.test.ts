/** `audit tail`: the newest events, and new ones with `--follow`. */
import { describe, expect, test } from "bun:test";
import { AuditEvent } from "@realtime-avatar/domain/audit";
import { validate } from "@realtime-avatar/domain/schema";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { cliTests, PROGRAM, seedAvatar } from "../../test/cli.ts";

const { db, tenantId, variables, cli, json, jsonProcess } = await cliTests();

describe("audit tail", () => {
  test("audit tail, with a limit and a filter: the newest events, newest last", async () => {
    const { id } = await json("keys", "create", "--tenant", tenantId, "--name", "audited");
    await json("keys", "rotate", id, "--tenant", tenantId);
    await json("keys", "revoke", id, "--tenant", tenantId);
    const events = await jsonProcess("audit", "tail", "--tenant", tenantId, "--limit", "3");
    expect(events.map(({ action, targetId }: AuditEvent) => `${action} ${targetId}`)).toEqual([
      `api_key.created ${id}`,
      `api_key.rotated ${id}`,
      `api_key.revoked ${id}`,
    ]);
    for (const event of events) expect(validate(AuditEvent, event)).toEqual([]);
    const some = await json("audit", "tail", "--tenant", tenantId, "--target", id, "--action", "api_key.rotated");
    expect(some).toEqual([events[1]]);
    // A window of time, and the actor by each of its ids.
    const within = ["--from", events[1].createdAt, "--to", events[2].createdAt];
    expect(await json("audit", "tail", "--tenant", tenantId, "--target", id, ...within)).toEqual(
      events.filter(({ createdAt }: AuditEvent) => createdAt >= within[1] && createdAt < within[3]),
    );
    const { record } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
    const avatarId = await seedAvatar(db, tenantId, "live");
    await db.client.begin(async (transaction) => {
      await transaction`alter table audit_events disable trigger user`;
      await transaction`update audit_events set actor_id = ${record.id}, actor_key_id = ${record.keyId} where target_id in (${avatarId}, ${id})`;
      await transaction`alter table audit_events enable trigger user`;
    });
    for (const actor of [record.id, record.keyId]) {
      const [first, ...others] = await json("audit", "tail", "--tenant", tenantId, "--actor", actor);
      // An event of a test key, with the name of the acting live key.
      expect([first, others.at(-1)]).toMatchObject([
        { environment: "test", targetId: id, actorName: record.name },
        { targetId: avatarId },
      ]);
    }
    const { stdout } = await cli("audit", "tail", "--tenant", tenantId, "--limit", "1", "--target", id);
    const [head = "", row = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/)).toEqual(["TIME", "ACTION", "TARGET", "CHANGED", "ACTOR", "CREDENTIAL", "REQUEST"]);
    expect(row.split(/ {2,}/).slice(1, 5)).toEqual(["api_key.revoked", id, "status", record.id]);
    // The operator sees both environments.
    for (const environment of ["live", "test"] as const) await seedAvatar(db, tenantId, environment);
    const created = await json("audit", "tail", "--tenant", tenantId, "--action", "avatar.created");
    expect(created.map(({ environment }: AuditEvent) => environment).sort()).toEqual(["live", "live", "test"]);
    expect((await cli("audit", "tail", "--tenant", tenantId, "--action", "avatar.deleted")).stdout).toBe(
      "No matching events.\n",
    );
  });

  test("audit tail, with --follow: each new event once, until stopped", async () => {
    const [older, newer] = [(await seedKey(db, tenantId)).record.id, (await seedKey(db, tenantId)).record.id];
    const args = ["audit", "tail", "--tenant", tenantId, "--limit", "2", "--action", "api_key.created"];
    const tail = startProcess(bun(PROGRAM, ...args, "--follow", "--json"), variables);
    await tail.waitFor(new RegExp(newer));
    // Two events that are committed after a newer one. The limit leaves out older events.
    for (const [target, before] of [
      ["late", newer],
      ["left_out", older],
    ] as const) {
      await db.client`
        insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
        select tenant_id, left(id, 14) || repeat('0', 16), environment, action, ${target}, request_id, created_at
        from audit_events where tenant_id = ${tenantId} and target_id = ${before}`;
    }
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      const { record } = await seedKey(db, tenantId);
      ids.push(record.id);
      await tail.waitFor(new RegExp(record.id));
    }
    // More events than the command reads at a time. The process is stopped until all are committed, because it finds an
    // event that becomes visible late only among the newest hundred.
    tail.kill("SIGSTOP");
    const many = await Promise.all(Array.from({ length: 150 }, () => seedKey(db, tenantId)));
    tail.kill("SIGCONT");
    for (const { record } of many) await tail.waitFor(new RegExp(record.id));
    tail.kill("SIGINT");
    expect(await tail.exited).toBe(0);
    const lines = tail.stdout().trim().split("\n");
    const shown: string[] = lines.map((line) => JSON.parse(line).targetId);
    expect(shown).toHaveLength(2 + 1 + 3 + 150);
    expect(shown.slice(0, 6)).toEqual([older, newer, "late", ...ids]);
    expect(new Set(shown).size).toBe(156);
  });
});
