/** Files that take long: one tenant has many of them, and another tenant's avatar does not wait for them. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { createInspect } from "../src/assets/inspect.ts";
import { createProcessAsset } from "../src/assets/process.ts";
import { readConfig } from "../src/config.ts";
import { createCheckSource } from "../src/preparation/check-source.ts";
import { createPrepareAvatar } from "../src/preparation/prepare.ts";
import { fetchRemote } from "../src/remote/fetch.ts";
import { hugeChunks, jpegWithExif, loopingExif } from "../src/sandbox/corpus/amplified.testing.ts";
import { inspector } from "./support/inspector.ts";
import { eachWorld } from "./support/world.ts";

const isLong = process.env["LONG"] === "1";
/** The number of such files of the tenant. */
const FILES = isLong ? 30 : 4;
/** How many avatars of the other tenant are timed. */
const AVATARS = isLong ? 5 : 1;

const world = eachWorld();
setDefaultTimeout(1_800_000);
/** How long one wait may take. The files of the tenant take long. */
const LIMIT_MS = 600_000;
let children = 0;

/** Starts a worker's job loop with the default limits, and with children as in production. */
const start = (): void => {
  const parts = world.parts();
  const command = (task: string): string[] => {
    children += 1;
    return inspector(task);
  };
  const options = { log: world.log, command };
  const { jobs, jobsPerTenant } = readConfig({ DATA_DIR: world.data });
  world.loop(
    {
      process_asset: createProcessAsset({ ...parts, fetchRemote, inspect: createInspect(options) }),
      prepare_avatar: createPrepareAvatar({ ...parts, checkSource: createCheckSource(options) }),
    },
    { concurrency: jobs, slotsPerTenant: jobsPerTenant },
  );
};

/**
 * Waits until the avatar has been prepared. Returns the maximum number of a tenant's jobs that ran at once meanwhile.
 */
const prepared = async (avatar: AvatarRecord, tenantId: string): Promise<number> => {
  let most = 0;
  const isReady = async (): Promise<boolean> => {
    const [row] = await world.database.db.client`
      select count(*)::integer as running from jobs where tenant_id = ${tenantId} and lease is not null`;
    most = Math.max(most, row?.["running"]);
    const { status, error } = await world.currentOf(avatar);
    if (status === "failed") throw new Error(String(error));
    return status === "ready";
  };
  await until(isReady, { limitMs: LIMIT_MS, pollMs: 5, state: () => world.currentOf(avatar) });
  return most;
};

test(`a tenant with ${FILES} files that take long: another tenant's avatar does not wait for them`, async () => {
  const hostile = [await hugeChunks(), await jpegWithExif(loopingExif(4000))] as const;
  const other = await seedCaller(world.database.db);
  const portrait = await readFile(portraitPath());
  const seedPortrait = async () => world.seedAvatar((await world.seedUpload(portrait, "image", other)).id, other);
  start();
  /** How long new avatars of the other tenant take, one after another, in milliseconds. */
  const time = async (): Promise<number[]> => {
    const times: number[] = [];
    while (times.length < AVATARS) {
      const at = performance.now();
      expect(await prepared(await seedPortrait(), world.caller.tenantId)).toBeLessThanOrEqual(1);
      times.push(Math.round(performance.now() - at));
    }
    return times;
  };
  const usual = isLong ? await time() : [];
  children = 0;
  const seed = (_: unknown, index: number) =>
    index % 2 === 0 ? world.seedUpload(hostile[0], "video") : world.seedUpload(hostile[1], "image");
  const assets = await Promise.all(Array.from({ length: FILES }, seed));
  const meanwhile = await time();
  await world.untilDone(LIMIT_MS);
  for (const [index, asset] of assets.entries()) {
    // The fault of the file was found, or the file was opened. No limit of the sandbox was reached.
    expect(await world.stateOf(asset)).toMatchObject(
      index % 2 === 0 ? { status: "failed", errorCode: "not_decodable" } : { status: "ready" },
    );
  }
  // One child for each asset, and two for each avatar.
  expect(children).toBe(FILES + 2 * meanwhile.length);
  if (isLong) process.stdout.write(`${JSON.stringify({ usual, meanwhile })}\n`);
});
