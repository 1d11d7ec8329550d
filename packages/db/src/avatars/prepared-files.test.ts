/** Prepared files: the needed ones, and the look-up of a preview. */
import { beforeEach, expect, test } from "bun:test";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { FAILED_RESULT, holdPreparation, readyResult } from "@realtime-avatar/testing/avatars/preparations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import {
  inStatus,
  operatorOrigin,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import type { AvatarChanges } from "./avatars.ts";
import { updateAvatar } from "./avatars.ts";
import { findPreview, finishPreparation, knownPreparations, type PreparationResult } from "./preparations.ts";

let caller: Caller;
let avatar: AvatarRecord;
const { db } = await serviceDatabase();
beforeEach(async () => {
  caller = await seedCaller(db);
  avatar = await seedAvatar(db, caller, { sourceAssetId: (await seedAsset(db, caller.tenantId)).id });
});

const change = async (changes: AvatarChanges) => {
  const from = inStatus("ready", "disabled");
  expect((await updateAvatar(db, avatar.id, changes, from, caller, seedOrigin(caller))).kind).toBe("written");
};
const finish = async (result?: PreparationResult) => {
  const job = await holdPreparation(db, avatar, "x");
  expect(await finishPreparation(db, job, result ?? readyResult(job.generation), operatorOrigin())).toBe("finished");
};

test("the prepared files of several generations: needed for the served and the latest generation", async () => {
  const ask = async (by = avatar.tenantId, age = "2 hours") => {
    await db.client`update avatars set updated_at = now() - ${age}::interval where id = ${avatar.id}`;
    const all = [1, 2, 3, 11, 12].map((generation) => ({ tenantId: by, id: avatar.id, generation }));
    const known = await knownPreparations(db, all);
    return known.flatMap(({ generation, isNeeded }) => (isNeeded ? [generation] : []));
  };
  expect(await ask()).toEqual([1]);
  await finish();
  expect(await ask()).toEqual([1]);
  const other = await seedAsset(db, caller.tenantId);
  await change({ sourceAssetId: other.id });
  expect(await ask()).toEqual([1, 2]);
  await change({ modelId: "y" });
  expect(await ask()).toEqual([1, 3]);
  // For an hour after a change, files of earlier generations are needed too.
  expect(await ask(avatar.tenantId, "50 minutes")).toEqual([1, 2, 3]);
  await finish(FAILED_RESULT);
  expect(await ask()).toEqual([1]);
  await db.client`update avatars set generation = 10 where id = ${avatar.id}`;
  await change({ sourceAssetId: other.id });
  await finish();
  expect(await ask()).toEqual([11]);
  expect(await ask((await seedCaller(db)).tenantId)).toEqual([]);
  await change({ status: "deleted" });
  expect(await ask()).toEqual([]);
});

test("a preview, looked up by its token: found in every status except deleted", async () => {
  const result = readyResult(1);
  await finish(result);
  const token = result.previewToken ?? "";
  const { previewFile, cacheManifestId } = result;
  const expected = { tenantId: avatar.tenantId, id: avatar.id, previewFile: previewFile ?? "", cacheManifestId };
  expect(await Promise.all([token, "x", token, "'"].map((one) => findPreview(db, one)))).toEqual([
    expected,
    null,
    expected,
    null,
  ]);
  for (const status of ["disabled", "ready"] as const) {
    await change({ status });
    expect(await findPreview(db, token)).toEqual(expected);
  }
  await change({ status: "deleted" });
  expect(await findPreview(db, token)).toBeNull();
});
