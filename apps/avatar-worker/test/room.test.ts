/** What a call takes from its room, on a real LiveKit server: in this process, to count what the renderer hears. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { readConfig } from "../src/config.ts";
import { createService } from "../src/fleet/service.ts";
import { isLoud } from "../src/renderer/loudness.ts";
import { portrait } from "../src/renderer/portrait.ts";
import type { Renderer } from "../src/renderer/renderer.ts";
import { startCall } from "../src/room/call.ts";
import { type ControlPlane, startControlPlane } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";

setDefaultTimeout(20_000);

const binary = await livekitBinary();
const title = `the room of a call${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
  });
  afterAll(async () => {
    await livekit?.stop();
    await control?.stop();
  });

  /** A call in this process. `heard`: of each frame that the renderer has heard, whether it was loud. */
  const start = async () => {
    const { session, ...own } = await control.start();
    const heard: boolean[] = [];
    const renderer: Renderer = {
      ...portrait,
      open: async (...parts) => {
        const rendering = await portrait.open(...parts);
        const hear = (pcm: Int16Array): void => {
          heard.push(isLoud(pcm));
          rendering.hear(pcm);
        };
        return { ...rendering, hear };
      },
    };
    const service = createService({ ...readConfig(control.variables), workerId: "wrk_x" });
    const parts = { service, renderer, log: createLog("silent"), watcher: null, onChange: () => {} };
    return { ...own, call: startCall(control.assignedOf(session), parts), heard };
  };

  test("a person with several microphones: only the newest is heard; when that is gone, the one before", async () => {
    const { call, heard, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken);
    person.speak(true);
    const untilHeard = (isLoud: boolean) =>
      person.until(() => heard.length > 20 && heard.slice(-20).every((loud) => loud === isLoud));
    await person.publishMicrophone();
    await untilHeard(true);
    const silent = await person.publishMicrophone(true);
    await untilHeard(false);
    await person.room.localParticipant?.unpublishTrack(silent);
    await untilHeard(true);
    await call.leave();
    await person.leave();
  });

  test("a call that is left while it is joining: is in the room no more once it was left", async () => {
    const { call, room, personToken } = await start();
    const person = await joinAsPerson(livekit.url, personToken);
    await call.leave();
    await control.untilInRoom(room, "person");
    // A call that still joins would be there now.
    await Bun.sleep(1000);
    await control.untilInRoom(room, "person");
    await person.leave();
  });
});
