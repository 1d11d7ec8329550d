/** The renderer of faces, with a prepared picture of a person and the mesh of its face. packages/face tests what it draws. */
import { describe, expect, test } from "bun:test";
import type { VideoFrame } from "@livekit/rtc-node";
import { encodeMesh, manifestFace } from "@realtime-avatar/domain/avatars/face-mesh";
import type { SessionId } from "@realtime-avatar/domain/id";
import { facePoints, preparedFace, preparedLoop, speechFrames } from "../../test/support/faces.ts";
import { createFaceRenderer } from "./face.ts";
import type { RendererCall, Rendering } from "./renderer.ts";

const [points, frames] = await Promise.all([facePoints(), speechFrames()]);
const { image: picture, manifest: WITH_FACE } = await preparedFace();
const { bytes: loopBytes, manifest: WITH_LOOP, pictures: LOOP_PICTURES } = await preparedLoop();
const PICTURES = WITH_FACE.pictures;
const callOf = (manifest: Record<string, unknown> | null, change: Partial<RendererCall> = {}): RendererCall => ({
  ...{
    session_id: "ses_one" as SessionId,
    avatar: { avatar_id: "ava_x", manifest: manifest as never },
    input: { stt_mode: "server" },
  },
  ...{ environment: "live", mode: "avatar", label: "", ...change },
});

/** Opens a call. `at`: draws the picture for a time. */
const open = async (
  manifest: Record<string, unknown> | null,
  change: Partial<RendererCall> = {},
  loop = (): Uint8Array => loopBytes,
) => {
  let now = 0;
  const causes: string[] = [];
  const stills: string[] = [];
  const renderer = createFaceRenderer(
    { onPortrait: (cause) => void causes.push(cause), onStill: (cause) => void stills.push(cause) },
    () => now,
  );
  const load = async (file: string) => (file.endsWith("-loop") ? loop() : picture);
  const rendering = await renderer.open(callOf(manifest, change), load);
  const at = (ms: number): Uint8Array => {
    now = ms;
    return rendering.picture().data.slice();
  };
  return { rendering, at, causes, stills };
};
/** Draws two seconds while speech is heard. The renderer knows the speech 200 ms before. */
const speak = ({ rendering, at }: { rendering: Rendering; at: (ms: number) => Uint8Array }): Uint8Array[] =>
  frames.flatMap((frame, index) => {
    const drawn = index % 2 === 0 ? [at(20 * index)] : [];
    // The clock shows the time of the last picture.
    rendering.hear(frame, 200 + (index % 2) * 20);
    return drawn;
  });
/** The mean differences of luma: in the rectangle of the mouth, and in the corners of the picture. */
const difference = (one: Uint8Array, other: Uint8Array, [left, top, right, bottom]: readonly number[]): number => {
  let sum = 0;
  for (let y = top ?? 0; y < (bottom ?? 0); y++) {
    for (let x = left ?? 0; x < (right ?? 0); x++) sum += Math.abs((one[512 * y + x] ?? 0) - (other[512 * y + x] ?? 0));
  }
  return sum / (((right ?? 0) - (left ?? 0)) * ((bottom ?? 0) - (top ?? 0)));
};
const at = (index: number): readonly [number, number] => [points[index]?.[0] ?? 0, points[index]?.[1] ?? 0];
const MOUTH = [at(61)[0], at(0)[1], at(291)[0], at(17)[1]].map(Math.round);
const CORNER = [0, 0, 40, 40];
const EYE = [at(33)[0], at(159)[1], at(133)[0], at(145)[1]].map(Math.round);

test("an avatar with a face: I420 pictures of 512 pixels, with a moving mouth and a fixed background", async () => {
  const call = await open(WITH_FACE);
  const drawn = speak(call);
  expect(call.causes).toEqual([]);
  expect(drawn.every(({ length }) => length === 512 * 512 * 1.5)).toBe(true);
  const [first = new Uint8Array(), ...others] = drawn;
  expect(Math.max(...others.map((one) => difference(one, first, MOUTH)))).toBeGreaterThan(6);
  expect(Math.max(...others.map((one) => difference(one, first, CORNER)))).toBe(0);
});

test("an avatar with a face, interrupted: the mouth closes soon", async () => {
  const [call, quiet] = [await open(WITH_FACE), await open(WITH_FACE)];
  for (const frame of frames) call.rendering.hear(frame, 0);
  for (let ms = 0; ms <= 400; ms += 40) {
    call.at(ms);
    quiet.at(ms);
  }
  call.rendering.clear();
  const differences = Array.from({ length: 20 }, (_, index) =>
    difference(call.at(440 + 40 * index), quiet.at(440 + 40 * index), MOUTH),
  );
  expect(differences.at(-1)).toBeLessThan(1.5);
});

/** A lid of this photo is brighter than an eye: mean luma of the left eye. */
const LID_LUMA = 87;
/** The pictures in which the eye closes, in six seconds of silence. Looks at every second picture of 25 a second. */
const findBlinks = async (change: Partial<RendererCall>): Promise<number[]> => {
  const call = await open(WITH_FACE, change);
  const black = new Uint8Array(512 * 512);
  const isShut = Array.from({ length: 75 }, (_, index) => difference(call.at(80 * index), black, EYE) > LID_LUMA);
  return isShut.flatMap((shut, index) => (shut && !isShut[index - 1] ? [index] : []));
};

test("two calls of an avatar, and another avatar: blinks at different times; the same call at another worker: at the same times", async () => {
  const first = await findBlinks({});
  expect(first.length).toBeGreaterThan(1);
  expect(await findBlinks({})).toEqual(first);
  const avatar = { avatar_id: "ava_y", manifest: WITH_FACE as never };
  for (const change of [{ session_id: "ses_two" as SessionId }, { avatar }]) {
    expect(await findBlinks(change)).not.toEqual(first);
  }
});

test("the marks of a call: drawn into each picture", async () => {
  const marks = { label: "AI", environment: "test", recording: { mode: "audio" } } as const;
  const [plain, marked] = [await open(WITH_FACE), await open(WITH_FACE, marks)];
  for (const ms of [0, 40]) {
    const [one, other] = [plain.at(ms), marked.at(ms)];
    for (const mark of [
      [14, 14, 60, 50],
      [430, 14, 490, 50],
      [190, 430, 320, 490],
    ]) {
      expect(difference(one, other, mark)).toBeGreaterThan(10);
    }
    expect(difference(one, other, [100, 100, 400, 400])).toBe(0);
  }
});

const frameOf = ({ rendering }: { rendering: Rendering }): VideoFrame => rendering.picture();

test.each([
  ["without a face", { pictures: PICTURES }],
  ["without a manifest", null],
  ["without a picture", { pictures: null, face: WITH_FACE.face }],
  ["with a mesh of 467 points", { pictures: PICTURES, face: { version: 1, mesh: WITH_FACE.face.mesh.slice(8) } }],
  [
    "with a point outside of the picture",
    { pictures: PICTURES, face: manifestFace(encodeMesh(points.with(9, [-9, 9, 9]))) },
  ],
  [
    "with all points at one place",
    { pictures: PICTURES, face: manifestFace(encodeMesh(points.map(() => [256, 256, 0]))) },
  ],
  ["with points in a wrong order", { pictures: PICTURES, face: manifestFace(encodeMesh(points.toReversed())) }],
])("an avatar %s: a portrait, and its reason", async (_, manifest) => {
  const call = await open(manifest);
  expect(call.causes).toHaveLength(1);
  const quiet = frameOf(call);
  for (const frame of frames.slice(20, 40)) call.rendering.hear(frame, 0);
  // A portrait draws the same frame again.
  expect(frameOf(call)).not.toBe(quiet);
  expect(frameOf(call)).toBe(frameOf(call));
});

test("an unreadable picture: the call fails", async () => {
  const renderer = createFaceRenderer({ onPortrait: () => {}, onStill: () => {} });
  await expect(renderer.open(callOf(WITH_FACE), () => Promise.reject(new Error("no file")))).rejects.toThrow("no file");
});

test("a call by voice: reads no file", async () => {
  const renderer = createFaceRenderer({ onPortrait: () => {}, onStill: () => {} });
  const load = () => Promise.reject(new Error("no file"));
  const rendering = await renderer.open(callOf(WITH_FACE, { mode: "voice" }), load);
  rendering.hear(new Int16Array(960), 0);
  rendering.clear();
});

describe("a preloaded avatar", () => {
  /** A renderer whose files can fail. `loads`: number of reads of the picture. */
  const create = () => {
    const state = { loads: 0, fails: false };
    const load = async (): Promise<Uint8Array> => {
      state.loads++;
      if (state.fails) throw new Error("no file");
      return picture;
    };
    return {
      state,
      load,
      renderer: createFaceRenderer({ onPortrait: () => {}, onStill: () => {} }, () => 0),
    };
  };
  const { avatar } = callOf(WITH_FACE);

  test("its call: no file is read again; the pictures are the same", async () => {
    const { state, load, renderer } = create();
    await renderer.preload(avatar, load);
    state.fails = true;
    const rendering = await renderer.open(callOf(WITH_FACE), load);
    expect(state.loads).toBe(1);
    expect(rendering.picture().data).toEqual((await open(WITH_FACE)).at(0));
  });

  test("a call during the load: waits for it", async () => {
    const { state, load, renderer } = create();
    const loading = renderer.preload(avatar, load);
    await renderer.open(callOf(WITH_FACE), load);
    await loading;
    expect(state.loads).toBe(1);
  });

  test("its load failed, another manifest, or another avatar: the call loads its own", async () => {
    const { state, load, renderer } = create();
    state.fails = true;
    await expect(renderer.preload(avatar, load)).rejects.toThrow("no file");
    state.fails = false;
    await renderer.open(callOf(WITH_FACE), load);
    expect(state.loads).toBe(2);
    await renderer.preload(avatar, load);
    await renderer.open(callOf({ ...WITH_FACE, again: true }), load);
    expect(state.loads).toBe(4);
  });

  test("no face: a portrait, with the reason reported when the call begins", async () => {
    const causes: string[] = [];
    const renderer = createFaceRenderer({ onPortrait: (cause) => void causes.push(cause), onStill: () => {} });
    const call = callOf({ pictures: PICTURES });
    await renderer.preload(call.avatar, async () => picture);
    expect(causes).toEqual([]);
    await renderer.open(call, async () => picture);
    expect(causes).toHaveLength(1);
  });
});

test("a thinking face and a winking face: other eyes than at rest, the same background", async () => {
  const [rest, thinks, winks] = [await open(WITH_FACE), await open(WITH_FACE), await open(WITH_FACE)];
  thinks.rendering.think(true);
  expect(winks.rendering.gesture("wink")).toBe("accepted");
  expect(winks.rendering.gesture("nod")).toBe("busy");
  expect(winks.rendering.gesture("toString")).toBe("unknown_action");
  const change = ({ at }: typeof rest, ms: number, box: readonly number[]): number =>
    difference(at(ms), rest.at(ms), box);
  for (let ms = 0; ms < 1000; ms += 40) for (const { at } of [rest, thinks, winks]) at(ms);
  expect(change(thinks, 1000, EYE)).toBeGreaterThan(5);
  expect(change(thinks, 1000, CORNER)).toBe(0);
  expect(change(winks, 1000, EYE)).toBe(0);
});

test("a portrait and a call by voice: no gesture", async () => {
  for (const { rendering } of [await open({ pictures: PICTURES }), await open(WITH_FACE, { mode: "voice" })]) {
    rendering.think(true);
    expect(rendering.gesture("nod")).toBe("no_face");
  }
});

describe("an avatar with an idle loop", () => {
  /** Draws pictures, each after the next frame was decoded, from the first frame of the loop on. */
  const drawLoop = async ({ at }: { at: (ms: number) => Uint8Array }, count: number): Promise<Uint8Array[]> => {
    const drawn: Uint8Array[] = [];
    for (let ms = 0; drawn.length < count; ms += 40) {
      const one = at(ms);
      const last = drawn.at(-1);
      const isNew = last ? difference(one, last, CORNER) > 0 : difference(one, LOOP_PICTURES[0] ?? one, CORNER) < 1;
      if (isNew) drawn.push(one);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    return drawn;
  };

  test("a silent call: the pictures of the film, there and back, without a jump where it turns", async () => {
    const call = await open(WITH_LOOP);
    const drawn = await drawLoop(call, 210);
    expect([call.causes, call.stills]).toEqual([[], []]);
    for (const step of [0, 40, 99, 150, 198]) {
      const frame = LOOP_PICTURES[step < 100 ? step : 198 - step] as Uint8Array;
      expect(difference(drawn[step] as Uint8Array, frame, [0, 0, 512, 512])).toBeLessThan(2.5);
    }
    const changes = drawn.slice(1).map((one, index) => difference(one, drawn[index] as Uint8Array, [0, 0, 512, 512]));
    const atTurns = [97, 98, 99, 100, 196, 197, 198, 199].map((step) => changes[step] as number);
    expect(Math.max(...atTurns)).toBeLessThan(1.2 * Math.max(...changes.slice(0, 97)));
  });

  test("a voice: the mouth of the film speaks before the same background", async () => {
    const [call, quiet] = [await open(WITH_LOOP), await open(WITH_LOOP)];
    for (const [index, frame] of frames.entries()) call.rendering.hear(frame, 200 + 20 * index);
    const [spoken, silent] = [await drawLoop(call, 30), await drawLoop(quiet, 30)];
    const changes = (box: readonly number[]) =>
      spoken.map((one, index) => difference(one, silent[index] as Uint8Array, box));
    expect(Math.max(...changes(MOUTH))).toBeGreaterThan(6);
    expect(Math.max(...changes(CORNER), ...changes(EYE))).toBe(0);
  });

  test.each([
    ["cut off", () => loopBytes.subarray(0, 9000)],
    ["of another kind", () => picture],
    [
      "that cannot be read",
      () => {
        throw new Error("no file");
      },
    ],
  ] as const)("a loop %s: the photo, with the reason", async (_, loop) => {
    const [call, photo] = [await open(WITH_LOOP, {}, loop), await open(WITH_FACE)];
    for (let ms = 0; ms < 400; ms += 40) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(Bun.deepEquals(call.at(ms), photo.at(ms))).toBe(true);
    }
    expect([call.causes.length, call.stills.length]).toEqual([0, 1]);
  });

  test("a damaged frame: the photo from then on, with the reason once", async () => {
    const damaged = Uint8Array.from(loopBytes);
    damaged.fill(0, damaged.length - 3000);
    const call = await open(WITH_LOOP, {}, () => damaged);
    let ms = 0;
    for (; call.stills.length === 0; ms += 40) {
      call.at(ms);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let picture = 0; picture < 20; picture++) call.at(ms + 40 * picture);
    expect(difference(call.at(ms + 800), LOOP_PICTURES[0] as Uint8Array, CORNER)).toBeLessThan(1);
    expect(call.stills).toHaveLength(1);
  });

  test("a preload: the call loads the loop from it", async () => {
    const renderer = createFaceRenderer({ onPortrait: () => {}, onStill: () => {} }, () => 0);
    let loads = 0;
    const load = async (file: string) => {
      loads++;
      return file.endsWith("-loop") ? loopBytes : picture;
    };
    const call = callOf(WITH_LOOP);
    await renderer.preload(call.avatar, load);
    await renderer.open(call, load);
    expect(loads).toBe(2);
  });
});
