/** `tenants`: created, listed, and printed safely. */
import { describe, expect, test } from "bun:test";
import { isId } from "@realtime-avatar/domain/id";
import { testDatabase } from "@realtime-avatar/testing/database";
import { cliTests, run } from "../../test/cli.ts";

const { cli, json, jsonProcess } = await cliTests();

describe("the tenants commands", () => {
  test("tenants, created and listed: oldest first", async () => {
    const acme = await jsonProcess("tenants", "create", "--name", "Acme");
    expect(acme).toEqual({ id: acme.id, name: "Acme", createdAt: acme.createdAt });
    expect(isId("ten", acme.id)).toBe(true);
    const { stdout } = await cli("tenants", "create", "--name", "For a person");
    expect(stdout).toMatch(/^Created ten_[0-9a-z]{26} {2}For a person\n$/);
    const all = await jsonProcess("tenants", "list");
    expect(all.map(({ name }: { name: string }) => name)).toEqual(["Tenant of a test", "Acme", "For a person"]);
    expect(all[1]).toEqual({ ...acme, maxCallSeconds: null });
  });

  test("a tenant's name, with terminal escapes: escaped in tables, stored unchanged", async () => {
    const name = "a\u001b[31mred\u202e\u0007";
    const made = await json("tenants", "create", "--name", name);
    expect(made.name).toBe(name);
    const { stdout } = await cli("tenants", "list");
    expect(stdout).toContain("a\\u{1b}[31mred\\u{202e}\\u{7}");
    expect(stdout).not.toContain("\u001b");
  });

  test("settings, changed: in one environment, in the audit trail without an actor; malformed or for an unknown tenant: refused", async () => {
    const { id } = await json("tenants", "create", "--name", "Keeps");
    const settings = (...args: string[]) => ["tenants", "settings", "--tenant", id, ...args];
    const on = await json(...settings("--keep-transcripts", "on", "--environment", "live"));
    expect(on).toEqual({ tenantId: id, environment: "live", keepTranscripts: true });
    const { stdout } = await cli(...settings("--keep-transcripts", "off"));
    expect(stdout).toBe("The transcripts of calls that begin from now on are not kept (test).\n");
    const events = await json("audit", "tail", "--tenant", id, "--action", "settings.updated");
    expect(events).toMatchObject([{ actorId: null, environment: "live", changedFields: ["keepTranscripts"] }]);
    for (const bad of [["yes"], ["on", "--environment", "both"]]) {
      expect((await cli(...settings("--keep-transcripts", ...bad))).code).toBe(2);
    }
    const none = ["tenants", "settings", "--tenant", "ten_01h455vb4pex5vsknk084sn02q", "--keep-transcripts", "on"];
    expect((await cli(...none)).stderr).toContain("No tenant has this id.");
  });

  test("the longest call of a tenant: changed, back to the default; out of bounds or for an unknown tenant: refused", async () => {
    const { id } = await json("tenants", "create", "--name", "Long");
    const limit = (seconds: string, tenant = id) =>
      cli("tenants", "limit", "--tenant", tenant, "--max-call-seconds", seconds);
    const { code, stdout } = await limit("86400");
    expect([code, stdout]).toEqual([0, "A call of the tenant with a live key lasts at most for 86400 seconds.\n"]);
    const listed = async () =>
      (await json("tenants", "list")).find((one: { id: string }) => one.id === id).maxCallSeconds;
    expect(await listed()).toBe(86_400);
    expect((await cli("tenants", "list")).stdout).toMatch(new RegExp(`${id} .* 86400 `));
    expect((await limit("default")).stdout).toContain("for as long as MAX_CALL_SECONDS says");
    expect(await listed()).toBeNull();
    for (const seconds of ["1799", "86401", "an hour"]) expect((await limit(seconds)).code).toBe(2);
    expect((await limit("3600", "ten_01h455vb4pex5vsknk084sn02q")).stderr).toContain("No tenant has this id.");
  });

  test("tenants, none: reported as text and JSON", async () => {
    const empty = await testDatabase({ isServed: true });
    const list = (...args: string[]) => run(empty.variables, "tenants", "list", ...args);
    expect((await list()).stdout).toBe("No tenants.\n");
    expect((await list("--json")).stdout).toBe("[]\n");
    await empty.close();
  });
});
