/// <reference path="../assets.d.ts" />
/**
 * The samples of the voices of Flite, as files: WAV, 16-bit PCM, mono, 16 kHz. A list of voices does not load the 22 MB
 * program. Bundles and compiled programs for Bun contain them.
 */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
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
  // In a bundle, the path is relative to it. The API's bundle is a CommonJS module, which has no `import.meta.url`.
  return new Uint8Array(await readFile(resolve(import.meta.dir, file)));
};
