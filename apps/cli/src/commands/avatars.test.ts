/** `avatars`: listed, shown, and prepared again. */
import { describe, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { cliTests, seedAvatar, UNKNOWN_AVATAR } from "../../test/cli.ts";

const { db, tenantId, cli, cliProcess, json, jsonProcess } = await cliTests();

describe("the avatars commands", () => {
  test("avatars, of both environments: listed and shown", async () => {
    const ids: string[] = [];
    for (const environment of ["live", "test", "live"] as const) {
      ids.unshift(await seedAvatar(db, tenantId, environment));
    }
    const all = await jsonProcess("avatars", "list", "--tenant", tenantId);
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(ids);
    const first = await json("avatars", "list", "--tenant", tenantId, "--limit", "2");
    const second = await json("avatars", "list", "--tenant", tenantId, "--cursor", first.nextCursor);
    expect([...first.data, ...second.data]).toEqual(all.data);
    expect(second.nextCursor).toBeNull();
    const other = await seedTenant(db);
    for (const avatar of all.data) {
      expect(await json("avatars", "show", avatar.id, "--tenant", tenantId)).toEqual(avatar);
      for (const command of ["show", "prepare"]) {
        const refused = await cli("avatars", command, avatar.id, "--tenant", other);
        expect([refused.code, refused.stderr]).toEqual([1, "The tenant has no avatar with this id.\n"]);
      }
    }
    const { stdout } = await cli("avatars", "list", "--tenant", tenantId, "--source-kind", "image");
    expect(stdout.split("\n")).toHaveLength(5);
    expect(stdout).toContain("a\\u{7}");
    expect((await cli("avatars", "list", "--tenant", tenantId, "--status", "deleted")).stdout).toBe(
      "No matching avatars.\n",
    );
  });

  /** Sets an avatar to `failed`, like the worker. */
  const fail = (id: string) => db.client`
    update avatars set status = 'failed', source_asset_id = 'ast_test_no_face', error = 'No face was found.', generation = 1,
      checks = ${JSON.stringify([
        { code: "resolution", verdict: "pass", measured: 800, limit: 512, detail: "It has 800 px." },
        { code: "face_count", verdict: "fail", measured: 0, limit: 1, detail: "No face was found." },
        { code: "decodable", verdict: "pass", measured: null, limit: null, detail: "It could be decoded." },
      ])}::text::json
    where id = ${id}`;

  test("a failed avatar, listed and shown: with its error and its checks", async () => {
    const id = await seedAvatar(db, tenantId, "test");
    await fail(id);
    const listed = (await cli("avatars", "list", "--tenant", tenantId, "--status", "failed")).stdout.split("\n");
    expect([listed[0]?.split(/ {2,}/).at(-1), listed[1]?.split(/ {2,}/).at(-1)]).toEqual([
      "ERROR",
      "No face was found.",
    ]);
    const { code, stdout } = await cliProcess("avatars", "show", id, "--tenant", tenantId);
    expect(code).toBe(0);
    const [fields = "", checks = ""] = stdout.trim().split("\n\n");
    expect(fields).toMatch(/^error +No face was found\.$/m);
    expect(checks.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["CHECK", "VERDICT", "MEASURED", "LIMIT", "UNIT", "DETAIL"],
      ["resolution", "pass", "800", "512", "px", "It has 800 px."],
      ["face_count", "fail", "0", "1", "faces", "No face was found."],
      ["decodable", "pass", "-", "-", "-", "It could be decoded."],
    ]);
  });

  test("an avatar, prepared by the operator: once, with an event without a key", async () => {
    const id = await seedAvatar(db, tenantId, "test");
    const prepare = (of: string) => cli("avatars", "prepare", of, "--tenant", tenantId);
    expect(await prepare(id)).toMatchObject({ code: 1, stderr: "The avatar has no source. Set `sourceAssetId`.\n" });
    await fail(id);
    const shown = await jsonProcess("avatars", "prepare", id, "--tenant", tenantId);
    expect(shown).toMatchObject({ id, status: "preprocessing", error: null, checks: [] });
    expect(await json("avatars", "show", id, "--tenant", tenantId)).toEqual(shown);
    expect(await db.client`select kind, generation from jobs where target_id = ${id}`).toMatchObject([
      { kind: "prepare_avatar", generation: 2 },
    ]);
    const events = await db.client`
      select action, actor_id from audit_events where target_id = ${id} order by id desc limit 1`;
    expect(events).toMatchObject([{ action: "avatar.updated", actor_id: null }]);
    const again = await prepare(id);
    expect([again.code, again.stderr]).toEqual([
      1,
      "The avatar is being prepared already. Its status becomes `ready` or `failed`.\n",
    ]);
    expect(await prepare(UNKNOWN_AVATAR)).toMatchObject({
      code: 1,
      stderr: "The tenant has no avatar with this id.\n",
    });
  });

  /** `limit`: the limit of the yaw. Releases without faces had 25. */
  const seedReady = async (
    owner: TenantId,
    limit: number,
    source: string | null = "ast_test_ready",
  ): Promise<string> => {
    const check = { code: "face_yaw", verdict: "pass", measured: 3, limit, detail: "It was measured." };
    const id = await seedAvatar(db, owner, "test");
    await db.client`
      update avatars set status = 'ready', source_asset_id = ${source}, generation = 1, cache_version = 1,
        checks = ${JSON.stringify([check])}::text::json
      where id = ${id}`;
    return id;
  };
  /** Ends each preparation like a worker. The preparation of `failing` ends with an error. */
  const work = async (failing: string, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await db.client`
        update avatars set error = case when id = ${failing} then 'No face was found.' end, generation = 3,
          cache_version = cache_version + case when id = ${failing} then 0 else 1 end
        where generation = 2`;
      await Bun.sleep(20);
    }
  };

  test("all avatars without a face, prepared: each once; others are unchanged, and the failed one is named", async () => {
    const [owner, other] = [await seedTenant(db), await seedTenant(db)];
    const old = [await seedReady(owner, 25), await seedReady(owner, 25)];
    const failing = await seedReady(owner, 25);
    const others = [await seedReady(owner, 20), await seedReady(owner, -25, null)];
    others.push(await seedReady(other, 25), await seedAvatar(db, owner, "test"));
    const ended = new AbortController();
    const working = work(failing, ended.signal);
    const { code, stdout, stderr } = await cliProcess("avatars", "prepare", "--all", "--tenant", owner, "--json");
    ended.abort();
    await working;
    const failures = [{ tenantId: owner, id: failing, error: "No face was found." }];
    expect([code, JSON.parse(stdout)]).toEqual([1, { prepared: 2, failures }]);
    expect(stderr.trim().split("\n").at(-1)).toBe("2 prepared, 1 failed, 0 under way");
    const jobs = await db.client`select target_id from jobs where target_id = any(${[...old, failing, ...others]})`;
    expect(jobs.map((job) => job["target_id"]).sort()).toEqual([...old, failing].sort());
  });

  test.each([
    ["deleted", { status: "deleted" }],
    ["without a source", { source_asset_id: null }],
  ])(
    "an avatar that is %s while its preparation is awaited: the command ends, and counts no result",
    async (_, change) => {
      const owner = await seedTenant(db);
      const id = await seedReady(owner, 25);
      const running = cliProcess("avatars", "prepare", "--all", "--tenant", owner, "--json");
      await until(async () => (await db.client`select from avatars where id = ${id} and generation = 2`).length > 0);
      await db.client`update avatars set ${db.client(change)} where id = ${id}`;
      const { code, stdout } = await running;
      expect([code, JSON.parse(stdout)]).toEqual([0, { prepared: 0, failures: [] }]);
    },
  );

  test("all avatars have a face: no preparation", async () => {
    const owner = await seedTenant(db);
    await seedReady(owner, 20);
    expect(await cli("avatars", "prepare", "--all", "--tenant", owner)).toMatchObject({
      code: 0,
      stdout: "0 prepared, 0 failed.\n",
    });
  });

  test.each([
    ["neither an id nor --all", [], "Give either the id of an avatar, or --all."],
    ["both", [UNKNOWN_AVATAR, "--all"], "Give either the id of an avatar, or --all."],
    ["an id without its tenant", [UNKNOWN_AVATAR], "--tenant: The tenant of the avatar is missing."],
  ])("avatars prepare, with %s: a usage error", async (_, args, text) => {
    expect(await cli("avatars", "prepare", ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(text) });
  });
});
