/** `keys`: created, listed, shown, rotated and revoked. */
import { describe, expect, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import { ApiKeyPage, ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { validate } from "@realtime-avatar/domain/schema";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { cliTests } from "../../test/cli.ts";

const { db, tenantId, cli, cliProcess, json, jsonProcess } = await cliTests();

describe("keys create", () => {
  test("keys create, with all options: the key as the API returns it", async () => {
    const limits =
      "--environment live --spend-limit 5000000 --max-concurrent-sessions 3 --expires-at 2090-01-01T00:00:00Z --scopes".split(
        " ",
      );
    const key = await jsonProcess(
      ..."keys create --name ops --tenant".split(" "),
      tenantId,
      ...limits,
      "avatars:read, avatars:write",
    );
    expect(validate(ApiKeyWithSecret, key)).toEqual([]);
    expect(key).toMatchObject({
      tenantId: tenantId,
      name: "ops",
      environment: "live",
      scopes: ["avatars:read", "avatars:write"],
      spendLimitCreditMicros: 5_000_000,
      maxConcurrentSessions: 3,
      expiresAt: "2090-01-01T00:00:00.000Z",
      status: "active",
    });
    expect(parseApiKey(key.apiKey)?.keyId).toBe(key.keyId);
    expect((await findCredential(db, key.keyId))?.caller.lineage).toEqual([]);
    expect(await db.client`select * from audit_events where target_id = ${key.id}`).toMatchObject([
      { action: "api_key.created", actor_id: null, actor_key_id: null, environment: "live" },
    ]);
  });

  test("keys create, with only a name: the API's defaults, and the secret shown once", async () => {
    const { code, stdout, stderr } = await cli("keys", "create", "--tenant", tenantId, "--name", "plain");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("environment  test");
    expect(stdout).toContain("scopes       realtime:write, credits:read, avatars:read");
    expect(stdout).toContain("spend cap    none");
    expect(stdout).toContain("max sessions none");
    expect(stdout).toContain("expires      never");
    const limits = ["--spend-limit", "5000000", "--max-concurrent-sessions", "3"];
    const limited = await cli("keys", "create", "--tenant", tenantId, "--name", "limited", ...limits);
    expect(limited.stdout).toContain("spend cap    5,000,000 credit micros\n  max sessions 3\n");
    expect(parseApiKey(stdout.trim().split(/\s+/).at(-1) ?? "")?.environment).toBe("test");
  });
});

describe("the life of a key", () => {
  const tenant = () => ["--tenant", tenantId];
  const create = (...args: string[]) => json("keys", "create", ...tenant(), "--name", "life", ...args);
  const credential = async (apiKey: string) => findCredential(db, parseApiKey(apiKey)?.keyId ?? "");

  test("a key with usage:write, alone and beside *, by the operator: created and rotated", async () => {
    for (const scopes of ["usage:write", "*,usage:write"]) {
      const key = await create("--environment", "live", "--scopes", scopes);
      expect(key.scopes).toEqual(scopes.split(","));
      const rotated = await json("keys", "rotate", key.id, ...tenant());
      expect([rotated.id, rotated.scopes, rotated.apiKey === key.apiKey]).toEqual([key.id, key.scopes, false]);
    }
  });

  test("a key, listed and shown: as in the API, as JSON and text", async () => {
    const { apiKey, ...created } = await create("--environment", "live", "--expires-at", "2090-01-01T00:00:00Z");
    const key = { ...created, createdBy: null, createdByName: null };
    expect(await jsonProcess("keys", "show", key.id, ...tenant())).toEqual(key);
    const page = await json("keys", "list", ...tenant(), "--limit", "1");
    expect(page).toEqual({ data: [key], nextCursor: page.nextCursor });
    expect(validate(ApiKeyPage, page)).toEqual([]);
    const next = await json("keys", "list", ...tenant(), "--cursor", page.nextCursor);
    expect(next.data.map(({ id }: { id: string }) => id)).not.toContain(key.id);

    const { stdout } = await cliProcess("keys", "list", ...tenant(), "--environment", "live", "--limit", "1");
    const [head = "", row = "", more = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/)).toEqual(["ID", "KEY", "STATUS", "SCOPES", "LAST USED", "EXPIRES", "PARENT", "NAME"]);
    expect(row.split(/ {2,}/)).toEqual([
      key.id,
      key.redactedKey,
      "active",
      "realtime:write,credits:read,avatars:read",
      "-",
      "2090-01-01T00:00:00.000Z",
      "-",
      "life",
    ]);
    expect(more).toMatch(/^Next page: --cursor /);
    // The columns are aligned.
    expect(row.indexOf("active")).toBe(head.indexOf("STATUS"));
    const shown = (await cli("keys", "show", key.id, ...tenant())).stdout;
    expect(shown).toMatch(/^name {2,}life$/m);
    expect(shown).toMatch(/^scopes {2,}\["realtime:write",/m);
    expect(shown + stdout).not.toContain(apiKey);
  });

  test("a key of another tenant, by its id or keyId: not found; the key stays active", async () => {
    const { record } = await seedKey(db, await seedTenant(db));
    for (const id of [record.id, record.keyId]) {
      for (const command of ["show", "rotate", "revoke"]) {
        const { code, stderr } = await cli("keys", command, id, ...tenant());
        expect([code, stderr]).toEqual([1, "The tenant has no key with this id.\n"]);
      }
    }
    expect(await findCredential(db, record.keyId)).toMatchObject({ retired: false, caller: { status: "active" } });
  });

  test("a key's name, with terminal escapes: escaped in every table", async () => {
    const { id } = await json("keys", "create", ...tenant(), "--name", "漢\u2028a\u001b[2J\u202e");
    for (const args of [["list"], ["show", id], ["rotate", id]]) {
      const { code, stdout } = await cli("keys", ...args, ...tenant());
      expect(code).toBe(0);
      expect(stdout).toContain("漢\\u{2028}a\\u{1b}[2J\\u{202e}");
      expect(stdout).not.toContain("\u001b");
    }
  });

  test("a key, rotated with an overlap and without: its old secret is retired only without one", async () => {
    const first = await create();
    const second = await jsonProcess("keys", "rotate", first.id, ...tenant(), "--overlap", "600");
    expect(validate(ApiKeyWithSecret, second)).toEqual([]);
    expect(second).toMatchObject({ id: first.id, name: "life" });
    expect([(await credential(first.apiKey))?.retired, (await credential(second.apiKey))?.retired]).toEqual([
      false,
      false,
    ]);
    const { stdout } = await cli("keys", "rotate", first.id, ...tenant());
    const third = stdout.trim().split(/\s+/).at(-1) ?? "";
    expect(stdout).toStartWith(`Rotated ${first.id}`);
    expect((await credential(third))?.caller.id).toBe(first.id);
    // Log lines contain the id of a credential. The ids of retired credentials find the key as well.
    for (const apiKey of [first.apiKey, second.apiKey, third]) {
      const shown = await json("keys", "show", parseApiKey(apiKey)?.keyId ?? "", ...tenant());
      expect([shown.id, shown.keyId]).toEqual([first.id, parseApiKey(third)?.keyId]);
    }
    expect([(await credential(first.apiKey))?.retired, (await credential(second.apiKey))?.retired]).toEqual([
      true,
      true,
    ]);
  });

  test("a key, revoked twice: stays revoked", async () => {
    const { id, apiKey } = await create();
    for (const overlap of ["604801", "-1", "x"]) {
      expect((await cli("keys", "rotate", id, ...tenant(), `--overlap=${overlap}`)).code).toBe(2);
    }
    expect((await cliProcess("keys", "revoke", id, ...tenant())).stdout).toBe(`${id} is revoked.\n`);
    expect(await json("keys", "revoke", id, ...tenant())).toMatchObject({ id, status: "revoked" });
    expect((await credential(apiKey))?.caller.status).toBe("revoked");
    const { code, stdout, stderr } = await cli("keys", "rotate", id, ...tenant());
    expect([code, stdout, stderr]).toEqual([1, "", "Status is `revoked`; allowed transitions: none.\n"]);
    expect((await json("keys", "list", ...tenant(), "--status", "revoked")).data).toMatchObject([{ id }]);
    const none = await cli("keys", "list", ...tenant(), "--status", "expired");
    expect(none.stdout).toBe("No matching keys.\n");
  });
});
