/** The job loop while no job is due. */
import { expect, test } from "bun:test";
import { finishAsset, startAsset } from "@realtime-avatar/db/assets/processing";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { eachWorld } from "../../test/support/world.ts";
import type { JobHandler } from "./handler.ts";

const world = eachWorld();

const RESULT = {
  kind: "ready",
  contentType: "image/png",
  sizeBytes: 5,
  sha256: "0".repeat(64),
  publicType: null,
} as const;
const process_asset: JobHandler = async (job) => {
  const { db } = world.database;
  if ((await startAsset(db, job)) === null) return { kind: "gone" };
  return { kind: (await finishAsset(db, job, RESULT, seedOrigin())) === "finished" ? "ready" : "gone" };
};

test("an idle loop: claims once, then only asks for due work; a new job is claimed", async () => {
  const { db } = world.database;
  const names: (string | undefined)[] = [];
  const run: typeof db.run = (text, parameters, name) => {
    names.push(name);
    return db.run(text, parameters, name);
  };
  world.loop({ process_asset }, { databases: oneDatabase({ ...db, run }) });
  const count = (name: string): number => names.filter((one) => one === name).length;
  await until(() => count("find_due_work") >= 3);
  expect(count("claim_job")).toBe(1);
  await world.seedUpload(Buffer.from("bytes"));
  await world.untilDone();
  expect(count("claim_job")).toBeGreaterThan(1);
});
