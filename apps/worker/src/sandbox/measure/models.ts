/**
 * The library that finds faces, and the files that it needs. All are part of a bundle and of a compiled program. They are
 * imported by path, because the package does not export them.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import wasm from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm" with { type: "file" };
import detectorWeights from "../../../../../node_modules/@vladmandic/human/models/blazeface.bin" with { type: "file" };
import detector from "../../../../../node_modules/@vladmandic/human/models/blazeface.json" with { type: "file" };
import meshWeights from "../../../../../node_modules/@vladmandic/human/models/facemesh.bin" with { type: "file" };
import mesh from "../../../../../node_modules/@vladmandic/human/models/facemesh.json" with { type: "file" };

/** The path of each file, by the name that the library requests. In a bundle, the path is relative to the bundle. */
const FILES: Record<string, unknown> = {
  "tfjs-backend-wasm-simd.wasm": wasm,
  "blazeface.json": detector,
  "blazeface.bin": detectorWeights,
  "facemesh.json": mesh,
  "facemesh.bin": meshWeights,
};

const contentTypeOf = (name: string): string => {
  if (name.endsWith(".json")) return "application/json";
  return name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
};

/** The address at which the library requests its files. No request is sent there: `fetchFile` responds. */
export const FILES_URL = "http://files.invalid/";

/** Reads all files, and returns a `fetch` that knows only these. */
export const readFiles = (): ((request: unknown) => Promise<Response>) => {
  const files = new Map(
    Object.entries(FILES).map(([name, path]) => [name, readFileSync(resolve(import.meta.dir, String(path)))]),
  );
  return async (request) => {
    const name = String(request).replace(FILES_URL, "");
    const bytes = files.get(name);
    if (!bytes) throw new Error(`There is no network, and no file ${name}.`);
    return new Response(bytes, { headers: { "content-type": contentTypeOf(name) } });
  };
};

/** A tensor on the heap of the library. It must be disposed of. */
export type Tensor = { readonly shape: readonly number[] };

/** The used parts of the library and of its results. Points and sizes are in pixels of the searched picture. */
export type FaceLibrary = {
  load: () => Promise<unknown>;
  detect: (picture: Tensor) => Promise<{ error: string | null; face: LibraryFace[] }>;
  tf: {
    tensor: (values: Float32Array, shape: readonly number[]) => Tensor;
    dispose: (tensor: Tensor) => void;
  };
};
export type LibraryFace = {
  /** The confidence of the detector, and that of the mesh: from 0 to 1, rounded to two digits. */
  boxScore: number;
  faceScore: number;
  /** The sides of the square in which the mesh was searched. */
  size: readonly [number, number];
  /** 468 points. The third coordinate is the depth, of which `MESH_SIDE` units are the side of the square. */
  mesh: readonly (readonly [number, number, number?])[];
};
/** The side of the picture that the network of the mesh sees. */
export const MESH_SIDE = 192;

/** Loads the code of the library. It takes 40 to 70 ms. */
export const importLibrary = async (): Promise<new (options: object) => FaceLibrary> => {
  const { Human } = await import("../../../../../node_modules/@vladmandic/human/dist/human.node-wasm.js");
  return Human as unknown as new (
    options: object,
  ) => FaceLibrary;
};
