/** Avatars: reads in batches, and changes under the lock of the row. */
import { describe, expect, test } from "bun:test";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  inStatus,
  newJobId,
  plannedAvatar,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import { type AvatarChanges, findAvatar, updateAvatar } from "./avatars.ts";

const database = await serviceDatabase();
const { db } = database;

const update = (avatar: AvatarRecord, changes: AvatarChanges, caller: Caller, to = db) =>
  updateAvatar(to, avatar.id, changes, inStatus("draft", "ready", "failed"), caller, seedOrigin(caller));
const eventsOf = (avatar: AvatarRecord) => db.client`
  select action, changed_fields, actor_id, created_at from audit_events where target_id = ${avatar.id} order by id`;

describe("findAvatar", () => {
  test("an avatar, found: as written", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller, {
      sourceAssetId: (await seedAsset(db, caller.tenantId)).id,
      defaultVoiceId: "voice-123",
      settings: { a: [1] },
    });
    expect(await findAvatar(db, caller, avatar.id)).toEqual(avatar);
  });

  test("avatars, found in a batch: each found, except those of another tenant or environment", async () => {
    const [one, two] = [await seedCaller(db), await seedCaller(db)];
    const avatars = await Promise.all(
      Array.from({ length: 6 }, (_, index) => seedAvatar(db, index % 2 ? one : two, { metadata: { index } })),
    );
    const reads = Array.from({ length: 48 }, (_, index) => {
      const [own, other] = index % 2 ? [one, two] : [two, one];
      const owners = [own, other, { ...own, environment: "test" as const }];
      return { avatar: avatars[index % 6] as AvatarRecord, owner: owners[index % 3] as Caller };
    });
    const found = await Promise.all(reads.map(({ avatar, owner }) => findAvatar(db, owner, avatar.id)));
    expect(found).toEqual(reads.map(({ avatar }, index) => (index % 3 === 0 ? avatar : null)));
    expect(await findAvatar(db, one, newId("ava", new Date(), random))).toBeNull();
  });
});

describe("updateAvatar", () => {
  test("a change, of every field: names the changed fields in their order", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    // The order differs from that of the event.
    const changes = {
      metadata: { b: 2 },
      settings: { a: 1 },
      defaultVoiceId: "voice-123",
      sourceAssetId: (await seedAsset(db, caller.tenantId)).id,
      modelId: "model",
      displayName: "y",
    } as const;
    const origin = { ...seedOrigin(caller), now: new Date(avatar.createdAt.getTime() + 1000) };
    const outcome = await updateAvatar(db, avatar.id, changes, inStatus("draft"), caller, origin);
    // The source is prepared.
    const expected = {
      ...avatar,
      ...changes,
      status: "preprocessing",
      generation: 1,
      version: 2,
      updatedAt: origin.now,
    };
    expect(outcome).toEqual({ kind: "written", avatar: expected as AvatarRecord });
    expect(await findAvatar(db, caller, avatar.id)).toEqual(expected as AvatarRecord);
    const fields = ["displayName", "modelId", "sourceAssetId", "defaultVoiceId", "settings", "metadata", "status"];
    expect((await eventsOf(avatar)).at(-1)).toEqual({
      action: "avatar.updated",
      changed_fields: fields,
      actor_id: caller.id,
      created_at: origin.now,
    });
  });

  test("a change with some equal values and nulls: names only the fields that differ", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller, {
      sourceAssetId: (await seedAsset(db, caller.tenantId)).id,
      settings: { a: 1 },
    });
    await db.client`update avatars set status = 'failed' where id = ${avatar.id}`;
    await update(avatar, { displayName: "x", settings: { a: 1 }, sourceAssetId: null, metadata: {} }, caller);
    expect((await eventsOf(avatar)).at(-1)).toMatchObject({ changed_fields: ["sourceAssetId"] });
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ sourceAssetId: null, version: 2 });
  });

  test("a change to deleted: recorded as avatar.deleted", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    expect(await update(avatar, { status: "deleted" }, caller)).toMatchObject({ avatar: { status: "deleted" } });
    expect((await eventsOf(avatar)).at(-1)).toMatchObject({ action: "avatar.deleted", changed_fields: ["status"] });
  });

  test.each([
    ["another version", { versions: ["2", "3"], statuses: ["draft"] }],
    ["another status", { versions: ["1"], statuses: ["ready", "failed"] }],
  ] as const)("a change of an avatar with %s: not written, returns the avatar", async (_, provided) => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    const accepted = { ...provided, jobId: newJobId() };
    const outcome = await updateAvatar(db, avatar.id, { displayName: "y" }, accepted, caller, seedOrigin(caller));
    expect(outcome).toEqual({ kind: "unchanged", avatar });
    expect(await eventsOf(avatar)).toHaveLength(1);
  });

  test("a change, of another tenant, environment or an unknown id: not found", async () => {
    const [caller, stranger] = [await seedCaller(db), await seedCaller(db)];
    const avatar = await seedAvatar(db, caller);
    const notFound = { kind: "not_found" } as const;
    expect(await update(avatar, { displayName: "y" }, stranger)).toEqual(notFound);
    expect(await update(avatar, { displayName: "y" }, { ...caller, environment: "test" })).toEqual(notFound);
    expect(await update(plannedAvatar(caller), { displayName: "y" }, caller)).toEqual(notFound);
    expect(await findAvatar(db, caller, avatar.id)).toEqual(avatar);
  });

  test("a change by a revoked caller: not written", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    await db.client`update api_keys set revoked_at = now() where id = ${caller.id}`;
    expect(await update(avatar, { displayName: "y" }, caller)).toEqual({ kind: "stale" });
    expect(await findAvatar(db, caller, avatar.id)).toEqual(avatar);
  });

  test("eight concurrent changes of one version: one is written", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    const provided = { ...inStatus("draft"), versions: ["1"] };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        updateAvatar(db, avatar.id, { displayName: `y ${index}` }, provided, caller, seedOrigin(caller)),
      ),
    );
    expect(outcomes.filter(({ kind }) => kind === "written")).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === "unchanged")).toHaveLength(7);
  });

  test("a change that waits for another: compared with the result of the other", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    const outcome = await whileHeld(
      database,
      (other) => update(avatar, { displayName: "y", modelId: "other" }, caller, other),
      () => update(avatar, { displayName: "y", settings: { a: 1 } }, caller),
    );
    expect(outcome).toMatchObject({
      kind: "written",
      avatar: { displayName: "y", modelId: "other", version: 3 },
    });
    expect((await eventsOf(avatar)).at(-1)).toMatchObject({ changed_fields: ["settings"] });
  });
});
