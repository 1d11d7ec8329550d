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
    expect(all[1]).toEqual(acme);
  });

  test("a tenant's name, with terminal escapes: escaped in tables, stored unchanged", async () => {
    const name = "a\u001b[31mred\u202e\u0007";
    const made = await json("tenants", "create", "--name", name);
    expect(made.name).toBe(name);
    const { stdout } = await cli("tenants", "list");
    expect(stdout).toContain("a\\u{1b}[31mred\\u{202e}\\u{7}");
    expect(stdout).not.toContain("\u001b");
  });

  test("tenants, none: says so in text and JSON", async () => {
    const empty = await testDatabase({ isServed: true });
    const list = (...args: string[]) => run(empty.variables, "tenants", "list", ...args);
    expect((await list()).stdout).toBe("No tenants.\n");
    expect((await list("--json")).stdout).toBe("[]\n");
    await empty.close();
  });
});
