/**
 * A page in a call that speaks, and records both sides by one clock: the input of the microphone, and the output of the
 * loudspeaker. The recording has the levels of both, in steps of 2 ms, and the movement of the mouth between pictures.
 */
import { dirname, join } from "node:path";
import type { BrowserContext, Page } from "@realtime-avatar/testing/browser";

const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");
export const STEP_MS = 2;
/** Length of the frames that the page gets. */
const FRAME_MS = 20;
/** Louder than the noise of a quiet room: -54 dB. */
const SPEECH_LEVEL = 0.002;
/** The avatar counts as heard above this level. */
const HEARD_LEVEL = 0.01;

/** Runs in the audio thread. Measures the level (RMS) of each input over 96 samples. */
const RECORDER = `registerProcessor("recorder", class extends AudioWorkletProcessor {
  sums = [0, 0];
  count = 0;
  levels = [[], []];
  process(inputs) {
    for (let index = 0; index < 128; index++) {
      for (const side of [0, 1]) this.sums[side] += (inputs[side][0]?.[index] ?? 0) ** 2;
      if (++this.count < 96) continue;
      for (const side of [0, 1]) this.levels[side].push(Math.sqrt(this.sums[side] / 96));
      this.sums = [0, 0];
      this.count = 0;
    }
    if (this.levels[0].length >= 25) {
      this.port.postMessage(this.levels);
      this.levels = [[], []];
    }
    return true;
  }
});`;

const PAGE = `<!doctype html><meta charset="utf-8"><title>Call</title><script src="/livekit-client.js"></script>
<script>
  const levels = [[], []];
  const texts = [];
  // Pairs of a number of levels and the time of its message in milliseconds. A message can be late, but never early.
  const clock = [];
  // When each picture is shown, in milliseconds, and how much its mouth differs from that of the previous picture.
  const pictures = [];
  let context, microphone, recorder;
  const receivers = {};
  let sound, node;
  // After a stall, Chromium keeps up to 100 ms of sound between a track and its node for good. A new node begins without.
  function record() {
    node?.disconnect();
    node = context.createMediaStreamSource(sound);
    node.connect(recorder, 0, 1);
  }
  async function readBuffers() {
    const all = Object.entries(receivers).map(async ([kind, receiver]) => {
      const stats = [...(await receiver.getStats()).values()].find(({ type }) => type === "inbound-rtp");
      return [kind, [stats.jitterBufferDelay, stats.jitterBufferTargetDelay, stats.jitterBufferEmittedCount]];
    });
    return Object.fromEntries(await Promise.all(all));
  }
  function watch(video, [left, top, width, height]) {
    const canvas = new OffscreenCanvas(16, 16).getContext("2d", { willReadFrequently: true });
    let before = null;
    const look = (_, { expectedDisplayTime }) => {
      canvas.drawImage(video, left, top, width, height, 0, 0, 16, 16);
      const { data } = canvas.getImageData(0, 0, 16, 16);
      if (before) pictures.push([expectedDisplayTime, data.reduce((sum, value, at) => sum + Math.abs(value - before[at]), 0)]);
      before = data;
      video.requestVideoFrameCallback(look);
    };
    video.requestVideoFrameCallback(look);
  }
  async function join(url, token, box) {
    context = new AudioContext({ sampleRate: 48000 });
    await context.audioWorklet.addModule("/recorder.js");
    recorder = new AudioWorkletNode(context, "recorder", { numberOfInputs: 2 });
    recorder.port.onmessage = ({ data }) => {
      data.forEach((more, side) => levels[side].push(...more));
      clock.push([levels[0].length, performance.now()]);
    };
    recorder.connect(context.destination);
    const mouth = context.createMediaStreamDestination();
    microphone = context.createGain();
    microphone.connect(mouth);
    microphone.connect(recorder, 0, 0);
    // The noise of a quiet room. A microphone never stops; a track that gives no samples stops the clock of its packets.
    const noise = context.createBufferSource();
    noise.buffer = context.createBuffer(1, 48000, 48000);
    noise.buffer.copyToChannel(Float32Array.from({ length: 48000 }, () => (Math.random() - 0.5) * 0.0014), 0);
    noise.loop = true;
    noise.connect(microphone);
    noise.start();
    const room = new LivekitClient.Room();
    room.registerTextStreamHandler("lk.transcription", async (reader, { identity }) => {
      const isFinal = reader.info.attributes["lk.transcription_final"] === "true";
      const text = await reader.readAll();
      if (isFinal) texts.push({ who: identity, text });
    });
    room.on("trackSubscribed", (track) => {
      receivers[track.kind] = track.receiver;
      if (track.kind === "video") {
        const video = track.attach();
        document.body.append(video);
        if (box) watch(video, box);
        return;
      }
      // Chromium plays a track in a graph only when an element plays it, too.
      document.body.append(track.attach());
      sound = new MediaStream([track.mediaStreamTrack]);
      record();
    });
    await room.connect(url, token);
    await room.localParticipant.publishTrack(mouth.stream.getAudioTracks()[0], { source: "microphone" });
  }
  const part = (from) => levels.map((all) => all.slice(from).map((level) => Math.round(level * 1e4) / 1e4));
  // Uses the messages within ten seconds of the step. The least late of them gives the time.
  function timeOf(step) {
    const near = clock.filter(([steps]) => Math.abs(steps - step) < 5000 / ${STEP_MS});
    return ${STEP_MS} * step + Math.min(...near.map(([steps, time]) => time - ${STEP_MS} * steps));
  }
  function say(base64) {
    if (sound) record();
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const samples = Float32Array.from(new Int16Array(bytes.buffer), (value) => value / 32768);
    const buffer = context.createBuffer(1, samples.length, 48000);
    buffer.copyToChannel(samples, 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(microphone);
    source.start();
  }
</script><body></body>`;

const RESPONSES: Record<string, () => Response> = {
  "/livekit-client.js": () => new Response(Bun.file(CLIENT)),
  "/recorder.js": () => new Response(RECORDER, { headers: { "content-type": "text/javascript" } }),
};

/** Levels from 0 to 1, in steps of `STEP_MS`. */
type Recording = { person: number[]; avatar: number[] };

/**
 * The jitter buffers of the page since its start: the sum of the delays of all samples or pictures in seconds, the sum of the
 * delays that the browser aimed at, and the number of samples or pictures.
 */
export type Buffers = Record<"audio" | "video", readonly [delay: number, target: number, count: number]>;

export type RecordingPage = {
  /** Says frames of 16-bit PCM at 48 kHz. Resolves when the first frame is sent. */
  say(frames: readonly Int16Array[]): Promise<void>;
  /** The recording from a step on. */
  recording(from: number): Promise<Recording>;
  /** The length of the recording so far, in steps. */
  length(): Promise<number>;
  /** The time of a step of the recording, in milliseconds. */
  timeOf(step: number): Promise<number>;
  /** The movement of the mouth since a time: the time of each picture, and its difference from the previous one. */
  pictures(since: number): Promise<[number, number][]>;
  buffers(): Promise<Buffers>;
  /** The final texts of the transcript, in order. */
  said(): Promise<{ who: string; text: string }[]>;
  close(): Promise<void>;
};

const serve = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) =>
      RESPONSES[new URL(url).pathname]?.() ?? new Response(PAGE, { headers: { "content-type": "text/html" } }),
  });

/** The place of a mouth in the picture, in pixels: left, top, width and height. */
export type Box = readonly [number, number, number, number];

/** Joins a call. Resolves when the page has published its microphone. Pictures are recorded with a `mouth`. */
export const openRecordingPage = async (
  context: BrowserContext,
  url: string,
  token: string,
  mouth: Box | null = null,
): Promise<RecordingPage> => {
  const server = serve();
  const page: Page = await context.newPage();
  await page.goto(server.url.href);
  await page.evaluate(`join(${JSON.stringify([url, token, mouth]).slice(1, -1)})`);
  return {
    say: async (frames) => {
      const bytes = Buffer.concat(frames.map(({ buffer }) => Buffer.from(buffer)));
      await page.evaluate(`say("${bytes.toString("base64")}")`);
    },
    recording: async (from) => {
      const [person = [], avatar = []] = (await page.evaluate(`part(${from})`)) as number[][];
      return { person, avatar };
    },
    length: async () => Number(await page.evaluate("levels[0].length")),
    timeOf: async (step) => Number(await page.evaluate(`timeOf(${step})`)),
    pictures: async (since) =>
      (await page.evaluate(`pictures.filter(([time]) => time >= ${since})`)) as [number, number][],
    buffers: async () => (await page.evaluate("readBuffers()")) as Buffers,
    said: async () => (await page.evaluate("texts")) as { who: string; text: string }[],
    close: async () => {
      await page.close();
      await server.stop(true);
    },
  };
};

const POLL_MS = 200;
const MAX_WAIT_MS = 20_000;

/** Polls a recording from a step on, until `find` returns one of its steps. */
const findStep = async (page: RecordingPage, from: number, find: (recording: Recording) => number): Promise<number> => {
  for (const end = Date.now() + MAX_WAIT_MS; Date.now() < end; await Bun.sleep(POLL_MS)) {
    const found = find(await page.recording(from));
    if (found >= 0) return from + found;
  }
  throw new Error("the page has not recorded the sound");
};

const isSpoken = (level: number): boolean => level > SPEECH_LEVEL;
const isHeard = (level: number): boolean => level > HEARD_LEVEL;
/** The first step of a silence of `silentMs` after a sound; -1 when it is not found. */
const findSilence = (levels: readonly number[], isSound: (level: number) => boolean, silentMs: number): number => {
  let last = -1;
  for (const [step, level] of levels.entries()) {
    if (isSound(level)) last = step;
    else if (last >= 0 && (step - last) * STEP_MS >= silentMs) return last + 1;
  }
  return -1;
};

/** Waits until the avatar is silent for a second. */
export const untilSilent = async (page: RecordingPage): Promise<void> => {
  const from = await page.length();
  await findStep(page, from, ({ avatar }) => (avatar.length > 500 && !avatar.slice(-500).some(isHeard) ? 0 : -1));
};

/**
 * The person speaks, and the avatar answers. `waitedMs`: the time from the last sound of the person to the first sound
 * of the avatar.
 */
export const recordAnswer = async (
  page: RecordingPage,
  words: readonly Int16Array[],
): Promise<{ waitedMs: number; heardFrom: number }> => {
  const from = await page.length();
  await page.say(words);
  // A pause within the words is not their end.
  const steps = (words.length * FRAME_MS) / STEP_MS;
  const end = await findStep(page, from, ({ person }) =>
    person.length > steps + 100 ? person.findLastIndex(isSpoken) + 1 : -1,
  );
  const heardFrom = await findStep(page, end, ({ avatar }) => avatar.findIndex(isHeard));
  return { waitedMs: (heardFrom - end) * STEP_MS, heardFrom };
};

/**
 * The person interrupts the avatar. `silentMs`: the time from the first sound of the person to the last sound of the
 * avatar.
 */
export const recordInterruption = async (
  page: RecordingPage,
  words: readonly Int16Array[],
): Promise<{ silentMs: number; heardUntil: number }> => {
  const from = await page.length();
  await page.say(words);
  const start = await findStep(page, from, ({ person }) => person.findIndex(isHeard));
  const heardUntil = await findStep(page, start, ({ avatar }) => findSilence(avatar, isHeard, 150));
  return { silentMs: (heardUntil - start) * STEP_MS, heardUntil };
};
