/// <reference path="../assets.d.ts" />
/**
 * The samples of the voices of Flite, as files: WAV, 16-bit PCM, mono, 16 kHz. Who lists voices needs no program of 22 MB for
 * them. They are part of bundles and compiled programs.
 */
import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import awb from "./flite-awb.wav" with { type: "file" };
import kal16 from "./flite-kal16.wav" with { type: "file" };
import rms from "./flite-rms.wav" with { type: "file" };
import slt from "./flite-slt.wav" with { type: "file" };

const FILES: ReadonlyMap<string, string> = new Map([
  ["flite-slt", slt],
  ["flite-rms", rms],
  ["flite-awb", awb],
  ["flite-kal16", kal16],
]);

/** The sample of the voice of Flite with this id. */
export const readFliteSample = async (id: string): Promise<Uint8Array<ArrayBuffer>> => {
  const file = FILES.get(id);
  if (file === undefined) throw new Error("This voice of Flite has no sample.");
  // In a bundle, the path is relative to it.
  return new Uint8Array(await readFile(isAbsolute(file) ? file : fileURLToPath(new URL(file, import.meta.url))));
};
