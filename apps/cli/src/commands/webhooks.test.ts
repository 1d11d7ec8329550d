/** `webhooks`: the endpoints of all tenants, and the operator's actions on one. */
import { describe, expect, test } from "bun:test";
import { deleteEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { newTarget, seedEndpoint, seedEvents, testQueue } from "@realtime-avatar/testing/webhooks/seeds";
import { cliTests } from "../../test/cli.ts";

const tests = await cliTests();
const { cli, cliProcess, json } = tests;
const queue = testQueue(tests.db);

describe("the operator and webhooks", () => {
  test("list, disable: the endpoints of all tenants, and the reason of one that is disabled", async () => {
    expect((await cli("webhooks", "list")).stdout).toBe("No webhook endpoints.\n");
    const [one, other] = [await seedCaller(tests.db), await seedCaller(tests.db)];
    const endpoint = await seedEndpoint(tests.db, one, { url: "https://one.example/hooks" });
    await seedEndpoint(tests.db, other, { url: null });
    const listed = async (...args: string[]) =>
      (await json("webhooks", "list", ...args)).data.map(({ id }: { id: string }) => id);
    expect(await listed()).toHaveLength(2);
    expect(await listed("--tenant", one.tenantId)).toEqual([endpoint.id]);
    expect(await listed("--disabled")).toEqual([]);

    const since = new Date().toISOString();
    for (const args of [
      ["disable", endpoint.id],
      ["recover", endpoint.id, "--since", since],
    ]) {
      const { code, stderr } = await cli("webhooks", ...args, "--tenant", other.tenantId);
      expect([code, stderr]).toEqual([1, "There is no webhook endpoint with this id.\n"]);
    }
    const { stdout, code } = await cliProcess("webhooks", "disable", endpoint.id);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/disabledReason +operator/)]);
    expect(stdout).not.toContain("ecret ");
    expect(await json("webhooks", "disable", endpoint.id, "--tenant", one.tenantId)).toMatchObject({
      status: "disabled",
    });
    expect(await listed("--disabled")).toEqual([endpoint.id]);
    expect((await cli("webhooks", "list")).stdout).toMatch(
      new RegExp(`\\n${one.tenantId}  ${endpoint.id}  live +disabled \\(operator\\) +- +https://one.example/hooks\\n`),
    );
    const audit = await tests.db.client`
      select actor_id from audit_events where target_id = ${endpoint.id} and action = 'webhook_endpoint.disabled'`;
    expect([...audit]).toEqual([{ actor_id: null }] as never[]);
    for (const caller of [one, other]) {
      const page = await json("webhooks", "list", "--tenant", caller.tenantId);
      for (const { id } of page.data)
        await deleteEndpoint(tests.db, id, { versions: null }, caller, seedOrigin(caller));
    }
  });

  test("recover: failed deliveries since then are sent again", async () => {
    const caller = await seedCaller(tests.db);
    const endpoint = await seedEndpoint(tests.db, caller);
    await seedEvents(tests.db, caller, [newTarget()]);
    await queue.finish([await queue.claimOne()], "failed");
    const recover = (since: Date, ...args: string[]) =>
      cli("webhooks", "recover", endpoint.id, "--since", since.toISOString(), ...args);
    const hourAgo = new Date(Date.now() - 3_600_000);
    expect((await recover(new Date(Date.now() + 1000), "--json")).stdout).toContain('"recovered": 0');
    expect((await recover(hourAgo)).stdout).toBe("Sent again: 1.\n");
    expect(await queue.statuses()).toEqual({ failed: 1 });
    expect((await queue.claimOne()).attemptCount).toBe(0);
    await cli("webhooks", "disable", endpoint.id);
    expect((await recover(hourAgo)).stdout).toContain("The endpoint is disabled: enable it first");
  });

  test("an unknown endpoint: exit 1; a malformed id or time: exit 2", async () => {
    const unknown = "whe_01h455vb4pex5vsknk084sn02q";
    const since = new Date().toISOString();
    for (const args of [
      ["disable", unknown],
      ["recover", unknown, "--since", since],
    ]) {
      const { code, stderr } = await cli("webhooks", ...args);
      expect([code, stderr]).toEqual([1, "There is no webhook endpoint with this id.\n"]);
    }
    for (const args of [
      ["disable", "x"],
      ["recover", unknown],
      ["recover", unknown, "--since", "yesterday"],
      ["recover", unknown, "--since", "2020-01-01T00:00:00Z"],
    ]) {
      expect((await cli("webhooks", ...args)).code).toBe(2);
    }
    const { stderr } = await cli("webhooks", "recover", unknown, "--since", "2020-01-01T00:00:00Z");
    expect(stderr).toContain("--since: Must be at most 30 days ago");
  });
});
