/** Files of recordings, played by Chromium: with a gap, at a moment in it, and pictures of two encoders. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { openVideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { BROWSER, sharedBrowser } from "@realtime-avatar/testing/browser";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { signVideo } from "../videos/sign.ts";
import { createTestRecorder, pictureTrack, readOneByOne } from "./fragments.testing.ts";
import { joinFragments } from "./join.ts";

const withoutBrowser = BROWSER === undefined ? " (skipped: without Chromium)" : "";
const base = await fileFolder();
setDefaultTimeout(3_600_000);

type Played = {
  videoWidth: number;
  duration: number;
  currentTime: number;
  totalVideoFrames: number;
  corruptedVideoFrames: number;
  soundBytes: number;
  /** The luma in the middle of the picture at each of the moments. */
  lumas: number[];
};

/** A script for a page with a video: shows it at some moments, and plays it to its end. */
const PLAY = `(async (moments) => {
  const video = document.querySelector("video");
  const happens = (name) =>
    new Promise((resolve, reject) => {
      video.addEventListener(name, resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
    });
  if (video.readyState < 3) await happens("canplay");
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  const lumas = [];
  for (const moment of moments) {
    // A busy compositor still has the frame before when the seek is done.
    const shown = video.videoWidth > 0 && new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    const seeked = happens("seeked");
    video.currentTime = moment;
    await seeked;
    if (!(await shown)) continue;
    canvas.drawImage(video, 20, 20, 1, 1, 0, 0, 1, 1);
    lumas.push(canvas.getImageData(0, 0, 1, 1).data[0]);
  }
  const rewound = happens("seeked");
  video.currentTime = 0;
  await rewound;
  const ended = happens("ended");
  await video.play();
  await ended;
  const { videoWidth, duration, currentTime, webkitAudioDecodedByteCount: soundBytes } = video;
  const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
  return { videoWidth, duration, currentTime, totalVideoFrames, corruptedVideoFrames, soundBytes, lumas };
})`;

const play = async (path: string, moments: readonly number[]): Promise<Played> => {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url, headers }) => {
      if (!url.endsWith("/recording.mp4"))
        return new Response("<!doctype html><video src=recording.mp4></video>", {
          headers: { "content-type": "text/html" },
        });
      const file = Bun.file(path);
      const [, first = "0", last = ""] = /bytes=(\d+)-(\d*)/.exec(headers.get("range") ?? "") ?? [];
      const [start, end] = [Number(first), last === "" ? file.size : Number(last) + 1];
      const range = `bytes ${start}-${end - 1}/${file.size}`;
      return new Response(file.slice(start, end), {
        ...{ status: 206, headers: { "content-type": "video/mp4", "content-range": range, "accept-ranges": "bytes" } },
      });
    },
  });
  const context = await (await sharedBrowser()).newContext();
  try {
    const page = await context.newPage();
    await page.goto(server.url.href);
    return await page.evaluate<Played>(`${PLAY}(${JSON.stringify(moments)})`);
  } finally {
    await context.close();
    await server.stop(true);
  }
};

/** The path of a signed file of two fragments with a gap of 1.5 s between them. */
const signedFile = async (hasPictures: boolean): Promise<string> => {
  const [record, path] = [createTestRecorder("both"), join(base, `${hasPictures}.mp4`)];
  const times = [0, 40, 80, 500];
  const at = (start: number, lumas: number[]) => pictureTrack(1_800_000_000_000 + start, times, lumas);
  const fragments = [
    { sounds: [record(1_800_000_000_000, 48)], pictures: await at(0, [60, 60, 60, 120]) },
    { sounds: [record(1_800_000_002_524, 48)], pictures: await at(2524, [200, 200, 200, 90]) },
  ];
  await joinFragments(readOneByOne(fragments), [{ path, role: "both", hasPictures }]);
  await signVideo({
    path,
    signer: await openVideoSigner(null, base, { warn: () => {} }, new Date()),
    createdAt: new Date(),
  });
  return path;
};

test.skipIf(BROWSER === undefined)(
  `a recording with pictures in Chromium: each picture at its moment, the still in the gap, to the end${withoutBrowser}`,
  async () => {
    const played = await play(await signedFile(true), [0.2, 0.8, 1.8, 2.6, 3.4]);
    expect(played).toMatchObject({ videoWidth: 512, corruptedVideoFrames: 0 });
    expect(played.duration).toBeWithin(3.5, 3.6);
    expect(played.currentTime).toBeCloseTo(played.duration, 1);
    expect(played.soundBytes).toBeGreaterThan(5000);
    const [first = 0, second = 0, still = 0, third = 0, fourth = 0] = played.lumas;
    expect([still < 10, first < second, second < third, fourth < third, fourth > first]).toEqual([
      ...[true, true, true, true, true],
    ]);
  },
);

test.skipIf(BROWSER === undefined)(
  `a recording of sound in Chromium: plays to its end, at any moment${withoutBrowser}`,
  async () => {
    const played = await play(await signedFile(false), [0.5, 3]);
    expect(played).toMatchObject({ videoWidth: 0, lumas: [] });
    expect(played.duration).toBeWithin(3.5, 3.6);
    expect(played.currentTime).toBeCloseTo(played.duration, 1);
    expect(played.soundBytes).toBeGreaterThan(5000);
  },
);
