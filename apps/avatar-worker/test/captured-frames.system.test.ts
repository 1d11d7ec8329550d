/**
 * LiveKit's library copies a frame when it captures it. The renderer of faces depends on this, because it draws all
 * pictures into one frame.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  LocalVideoTrack,
  Room,
  TrackPublishOptions,
  TrackSource,
  VideoBufferType,
  VideoFrame,
  VideoSource,
} from "@livekit/rtc-node";
import { PICTURE_LENGTH, PICTURE_SIZE } from "@realtime-avatar/face/picture";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { AccessToken } from "livekit-server-sdk";
import { joinAsPerson } from "./support/person.ts";

setDefaultTimeout(60_000);

const [BRIGHT, DARK, GREY] = [200, 30, 128];
const LUMA = PICTURE_SIZE ** 2;

const binary = await livekitBinary();
const title = `captured frames${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing")(title, () => {
  let livekit: LivekitServer;
  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "", { autoCreate: true });
  });
  afterAll(() => livekit?.stop());

  const tokenFor = (identity: string): Promise<string> => {
    const token = new AccessToken(livekit.apiKey, livekit.apiSecret, { identity });
    token.addGrant({ roomJoin: true, room: "captured" });
    return token.toJwt();
  };

  test("a frame that is changed right after its capture: the viewer sees the captured picture", async () => {
    const room = new Room();
    await room.connect(livekit.url, await tokenFor("avatar"), { autoSubscribe: false, dynacast: false });
    const person = await joinAsPerson(livekit.url, await tokenFor("person"));
    const data = new Uint8Array(PICTURE_LENGTH).fill(GREY);
    const frame = new VideoFrame(data, PICTURE_SIZE, PICTURE_SIZE, VideoBufferType.I420);
    const source = new VideoSource(PICTURE_SIZE, PICTURE_SIZE);
    const timer = setInterval(() => {
      data.fill(BRIGHT, 0, LUMA);
      source.captureFrame(frame);
      data.fill(DARK, 0, LUMA);
    }, 40);
    const track = LocalVideoTrack.createVideoTrack("picture", source);
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_CAMERA, simulcast: false });
    await room.localParticipant?.publishTrack(track, options);
    await person.until(() => person.seen.length > 50);
    clearInterval(timer);
    for (const { luminance } of person.seen) expect(luminance).toBeWithin(BRIGHT - 10, BRIGHT + 10);
    await track.close();
    await Promise.all([person.leave(), room.disconnect()]);
  });
});
