/** A preloaded avatar, on a real LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { until } from "@realtime-avatar/testing/until";
import type { ControlPlane } from "./support/control-plane.ts";
import { preparedFace } from "./support/faces.ts";
import { joinAsPerson } from "./support/person.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const title = `preloads${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let world: WorkerWorld;
  let control: ControlPlane;

  beforeAll(async () => {
    world = await startWorkerWorld(binary, { AVATAR_SLOTS: "2" });
    control = world.control;
  });
  afterAll(async () => {
    await world?.stop();
  });

  test("a preloaded avatar: its call shows the face without a request for files", async () => {
    const { image, file, manifest } = await preparedFace();
    control.files.set(file, image);
    const avatar = { avatar_id: "ava_x", manifest };
    control.preload(avatar);
    await until(() => control.filesSent.length > 0);
    const call = await control.start({ mode: "avatar", avatar });
    const person = await joinAsPerson(world.livekit.url, call.personToken);
    const whole = () => person.seen.filter(({ width }) => width === 512);
    await person.until(() => whole().length > 30, { state: () => whole().length });
    expect(control.filesSent).toEqual([`preloads ${file}`]);
    // A portrait in silence would be a single picture.
    expect(new Set(whole().map(({ digest }) => digest)).size).toBeGreaterThan(10);
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    await person.leave();
  });
});
