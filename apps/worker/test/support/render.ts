/** Renders videos like the worker, in children that are confined as in production. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import { FLITE_VOICES, type Voice } from "@realtime-avatar/speech/voices";
import { tone, type WavParts, wavFile } from "../../src/sandbox/film/wav.testing.ts";
import {
  createRenderVideo,
  type RenderControl,
  type RenderOptions,
  type VideoInput,
  type VideoOutcome,
} from "../../src/videos/render.ts";
import { inspector } from "./inspector.ts";
import { preparedPicture } from "./prepared-picture.ts";

/** A voice of a second: a buzz that rises and falls. 16-bit PCM of 24 kHz. */
export const VOICE = tone(1, 24_000, (seconds) => {
  const buzz = [1, 2, 3, 4, 5, 6, 7, 8].reduce(
    (sum, each) => sum + Math.sin(2 * Math.PI * 120 * each * seconds) / each,
    0,
  );
  return 0.2 * buzz * Math.sin(Math.PI * 3 * seconds) ** 2;
});
export const voiceFile = (parts: WavParts = {}): Buffer => wavFile({ rate: 24_000, data: VOICE, ...parts });

export const rendered = (outcome: VideoOutcome): Extract<VideoOutcome, { kind: "rendered" }> => {
  if (outcome.kind !== "rendered") throw new Error(JSON.stringify(outcome));
  return outcome;
};

/** `maxSeconds`: 600 by default. */
type SoundFile = { bytes: Uint8Array; contentType?: ContentType<"audio">; maxSeconds?: number };
/** The voice that comes with the service. */
export const SLT = FLITE_VOICES[0] as Voice;

/** Returns a function that renders a video in a new folder in `base`. */
export const createTestRenderer = async (base: string) => {
  const prepared = await preparedPicture(join(base, "picture.webp"));
  let count = 0;
  return async (
    sound: SoundFile,
    input: Partial<VideoInput> = {},
    options: Partial<RenderOptions> = {},
    control: Partial<RenderControl> = {},
  ): Promise<{ outcome: VideoOutcome; folder: string }> => {
    const folder = join(base, `job-${count++}`);
    await mkdir(folder, { mode: 0o700 });
    const path = join(folder, "original");
    await writeFile(path, sound.bytes);
    const magic = { kind: "audio", contentType: sound.contentType ?? "audio/wav" } as const;
    const log = { warn: () => {} } as never;
    const outcome = await createRenderVideo({ log, speech: { provider: null }, command: inspector, ...options })(
      {
        ...prepared,
        sound: { kind: "file", path, magic, maxSeconds: sound.maxSeconds ?? 600 },
        isTest: false,
        seed: "vid_1",
        folder,
        ...input,
      },
      { signal: new AbortController().signal, onProgress: () => {}, ...control },
    );
    return { outcome, folder };
  };
};
