/**
 * Films of twelve faces with four voices, measured by programs that are independent of the renderer:
 * scripts/measure-face. Runs only with `LONG`. MEASURE_PYTHON is a Python with the packages of
 * scripts/measure-face/requirements.txt.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PHOTOS, photoName, photoPath } from "@realtime-avatar/testing/photos";

setDefaultTimeout(1_800_000);

const ROOT = join(import.meta.dir, "../../..");
const VOICES = ["slt", "rms", "awb", "ked"];
const FACES = PHOTOS.filter(({ content }) => content === "front");
const python = Bun.env["MEASURE_PYTHON"] ?? "python3";

const runs = (...command: string[]): boolean => Bun.which(command[0] ?? "") !== null && Bun.spawnSync(command).success;
const missing = (): string => {
  if (!Bun.env["LONG"]) return "without LONG";
  const programs = ["ffmpeg", "flite", "festival"].filter((program) => Bun.which(program) === null);
  if (programs.length > 0) return `without ${programs.join(", ")}`;
  return runs(python, "-c", "import mediapipe, scipy") ? "" : "without mediapipe";
};
const reason = missing();

type Share = [share: number, count: number];
/** The measurements of a film that scripts/measure-face/measure.py prints. */
type Figures = {
  frames_without_face: number;
  is_open_at_rest: boolean;
  mediapipe: { correlation: number; lag_ms: number };
  closed_p_b_m: Share;
  open_a: Share;
  closed_silence: number;
  blinks_a_minute: number;
  identity?: { mean: number; max: number };
};

let folder = "";
beforeAll(async () => {
  if (reason) return;
  folder = await mkdtemp(join(tmpdir(), "films-"));
  run(python, "scripts/measure-face/voices.py", folder);
});
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true });
});

/** Runs a program in the repository, and returns its output. */
const run = (...command: string[]): string => {
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd: ROOT });
  if (!success) throw new Error(`${command.join(" ")}: ${stderr.toString().slice(-2000)}`);
  return stdout.toString();
};

/** Renders a photo with all voices, and measures the films. */
const measureFace = (photo: string): Figures[] => {
  const pairs = VOICES.flatMap((voice, index) => {
    const film = join(folder, `${voice}.mp4`);
    run(process.execPath, "run", "speak", photo, join(folder, `${voice}.wav`), film, String(index + 1));
    return [film, join(folder, `${voice}.json`)];
  });
  return Object.values(JSON.parse(run(python, "scripts/measure-face/measure.py", ...pairs)));
};

/** The share over all films. */
const total = (shares: readonly Share[]): number =>
  shares.reduce((sum, [share, count]) => sum + share * count, 0) / shares.reduce((sum, [, count]) => sum + count, 0);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe.skipIf(reason !== "")(`films${reason && ` (skipped: ${reason})`}`, () => {
  test.each(FACES.map((photo) => [photoName(photo), photoPath(photo)]))(
    "%s, with four voices: the lips follow the sound, and close and open in time; the same person",
    (_, path) => {
      const films = measureFace(path);
      expect(films).toHaveLength(VOICES.length);
      const isOpen = films.some((film) => film.is_open_at_rest);
      expect(total(films.map((film) => film.closed_p_b_m))).toBeGreaterThanOrEqual(isOpen ? 0.88 : 0.95);
      expect(total(films.map((film) => film.open_a))).toBeGreaterThanOrEqual(0.95);
      if (!isOpen) expect(mean(films.map((film) => film.closed_silence))).toBeGreaterThanOrEqual(0.95);
      for (const film of films) {
        expect(film.frames_without_face).toBe(0);
        expect(Math.abs(film.mediapipe.lag_ms)).toBeLessThanOrEqual(20);
        if (film.identity) expect(film.identity.max).toBeLessThan(0.5);
      }
    },
  );
});
