import { beforeAll, describe, expect, test } from "bun:test";
import { createSpeaker } from "@realtime-avatar/face/speaker";
import { openTestFace } from "@realtime-avatar/face/testing/photo-testing";
import { readSpeech } from "@realtime-avatar/face/testing/speech-testing";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { openFilm, PICTURE_SAMPLES } from "./film.ts";
import { MAX_BITS_PER_SECOND } from "./h264/rate.ts";

const ffmpeg = Bun.which("ffmpeg");
const ffprobe = Bun.which("ffprobe");
const reason = ffmpeg === null || ffprobe === null ? " (skipped: without ffmpeg)" : "";
const PICTURES = 60;
/** Bytes of a picture. */
const PICTURE_LENGTH = 1.5 * 512 ** 2;

const pictures: Uint8Array[] = [];
let sound = new Int16Array(0);
beforeAll(async () => {
  sound = (await readSpeech()).slice(0, PICTURES * PICTURE_SAMPLES);
  const speaker = createSpeaker(await openTestFace("closed"), { seed: 1 });
  speaker.hear(sound, 0, 0);
  for (let index = 0; index < PICTURES; index++) pictures.push(speaker.picture(40 * index));
});

/** The bytes of a film. */
const write = async (images: readonly Uint8Array[], pcm: Int16Array): Promise<Buffer> => {
  let bytes = Buffer.alloc(0);
  const film = await openFilm({
    pictures: images.length,
    write: (part, position) => {
      const end = position + part.length;
      if (end > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(end - bytes.length)]);
      bytes.set(part, position);
    },
  });
  for (const [index, picture] of images.entries()) {
    await film.add(picture, pcm.subarray(index * PICTURE_SAMPLES, (index + 1) * PICTURE_SAMPLES));
  }
  expect(film.finish()).toBe(bytes.length);
  return bytes;
};
const run = async (command: (string | null)[], input: Buffer): Promise<Buffer> => {
  const path = `${Bun.env["TMPDIR"] ?? "/tmp"}/film-${process.pid}.mp4`;
  await Bun.write(path, input);
  const child = Bun.spawn(
    command.map((word) => (word === "FILE" ? path : (word ?? ""))),
    { stderr: "pipe" },
  );
  const [output, errors] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.stderr.text()]);
  await Bun.file(path).delete();
  expect(errors).toBe("");
  return Buffer.from(output);
};
const decodePictures = async (film: Buffer): Promise<Buffer> =>
  run([ffmpeg, "-v", "error", "-i", "FILE", "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-"], film);

const decodeSound = async (film: Buffer): Promise<Int16Array> => {
  const heard = await run([ffmpeg, "-v", "error", "-i", "FILE", "-map", "0:a", "-f", "s16le", "-"], film);
  return new Int16Array(heard.buffer, heard.byteOffset, heard.length >> 1);
};

/** The signal-to-noise ratio of the luma, in decibels. */
const quality = (shown: Buffer, drawn: Uint8Array): number => {
  let error = 0;
  for (let index = 0; index < 512 ** 2; index++) error += ((shown[index] as number) - (drawn[index] as number)) ** 2;
  return 10 * Math.log10((255 ** 2 * 512 ** 2) / error);
};

describe("a film", () => {
  test("written twice: equal bytes", async () => {
    const film = await write(pictures, sound);
    expect(Bun.hash(await write(pictures, sound))).toBe(Bun.hash(film));
    expect(film.toString("latin1", 4, 12)).toBe("ftypisom");
  });

  test.skipIf(reason !== "")(
    `read by ffprobe: H.264 of level 3.1, AAC, 25 pictures a second, sound and pictures synchronous${reason}`,
    async () => {
      const entries = "stream=codec_name,profile,level,width,height,r_frame_rate,start_time,duration,nb_frames,pix_fmt";
      const colours = "color_range,color_space,color_transfer,color_primaries,has_b_frames,sample_rate,channels";
      const options = [
        "-v",
        "warning",
        "-of",
        "json",
        "-show_entries",
        `${entries},${colours}:packet=pts,stream_index`,
      ];
      const text = await run([ffprobe, ...options, "FILE"], await write(pictures, sound));
      const { streams, packets } = JSON.parse(text.toString());
      const times = { start_time: "0.000000", duration: "2.400000" };
      expect(streams).toMatchObject([
        {
          ...{
            codec_name: "h264",
            profile: "Constrained Baseline",
            level: 31,
            width: 512,
            height: 512,
            pix_fmt: "yuv420p",
          },
          ...{ r_frame_rate: "25/1", nb_frames: "60", has_b_frames: 0, ...times },
          ...{ color_range: "tv", color_space: "smpte170m", color_transfer: "iec61966-2-1", color_primaries: "bt709" },
        },
        { codec_name: "aac", profile: "LC", sample_rate: "48000", channels: 1, ...times },
      ]);
      type Packet = { pts: number; stream_index: number };
      const shown = packets.filter((packet: Packet) => packet.stream_index === 0).map(({ pts }: Packet) => pts);
      expect(shown).toEqual(Array.from({ length: PICTURES }, (_, index) => index));
    },
  );

  test.skipIf(reason !== "")(
    `decoded by ffmpeg: the pictures that were drawn, and the sound at its time${reason}`,
    async () => {
      const film = await write(pictures, sound);
      const shown = await decodePictures(film);
      expect(shown.length).toBe(PICTURES * PICTURE_LENGTH);
      for (const [index, picture] of pictures.entries()) {
        const one = shown.subarray(index * PICTURE_LENGTH, (index + 1) * PICTURE_LENGTH);
        expect([index, quality(one, picture) > 38]).toEqual([index, true]);
      }
      const samples = await decodeSound(film);
      let [signal, error] = [0, 0];
      for (const [index, sample] of sound.entries()) {
        signal += sample ** 2;
        error += (sample - (samples[index] ?? 0)) ** 2;
      }
      expect(10 * Math.log10(signal / error)).toBeGreaterThan(15);
    },
  );

  test.skipIf(reason !== "").each([1, 8])(
    `of %i pictures, with a voice to the end: heard to its last sample${reason}`,
    async (count) => {
      const pcm = Int16Array.from({ length: count * PICTURE_SAMPLES }, (_, at) => 8000 * Math.sin(at / 10));
      const heard = await decodeSound(await write(pictures.slice(0, count), pcm));
      const last = { samples: pcm.subarray(-PICTURE_SAMPLES / 4), from: pcm.length - PICTURE_SAMPLES / 4 };
      let [signal, error] = [0, 0];
      for (const [index, sample] of last.samples.entries()) {
        signal += sample ** 2;
        error += (sample - (heard[last.from + index] ?? 0)) ** 2;
      }
      expect(10 * Math.log10(signal / error)).toBeGreaterThan(15);
    },
  );

  test("of a moving grainy photo: its bits are bounded from the second group on", async () => {
    const random = seededBytes("grain");
    const photo = Buffer.from(pictures[0] as Uint8Array);
    // The lower six bits are grain. The upper two are those of the photo.
    const grainy = Buffer.from(
      random(PICTURE_LENGTH).map((byte, index) => (byte & 63) + ((photo[index] as number) & 0xc0)),
    );
    const images = Array.from({ length: 150 }, (_, index) => {
      const image = Buffer.from(grainy);
      grainy.copy(image, 0, index, 512 ** 2);
      return image;
    });
    const film = await write(images, new Int16Array(images.length * PICTURE_SAMPLES));
    const first = await write(images.slice(0, 125), new Int16Array(125 * PICTURE_SAMPLES));
    expect(first.length).toBeGreaterThan((5 * MAX_BITS_PER_SECOND) / 8);
    // The last second has a whole key picture.
    expect(film.length - first.length).toBeLessThan((2.5 * MAX_BITS_PER_SECOND) / 8);
  });

  test("with too many or too few pictures or samples: refused", async () => {
    const [picture] = pictures;
    if (picture === undefined) throw new Error("The film has no picture.");
    const film = await openFilm({ pictures: 1, write: () => {} });
    const silence = new Int16Array(PICTURE_SAMPLES);
    expect(() => film.finish()).toThrow("missing");
    await expect(film.add(picture, silence.subarray(1))).rejects.toThrow("1920 samples");
    await film.add(picture, silence);
    await expect(film.add(picture, silence)).rejects.toThrow("more than 1");
    expect(film.finish()).toBeGreaterThan(1000);
  });
});
