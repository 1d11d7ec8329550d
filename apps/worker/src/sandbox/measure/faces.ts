/** Finds the faces of a picture. Runs in a child process: the library replaces `fetch` and writes to the console. */
import { FILES_URL, importLibrary, type LibraryFace, MESH_SIDE, readFiles } from "./models.ts";

export type Point = readonly [x: number, y: number, z: number];

/** A face, in pixels of the picture that was searched. The origin is its upper left corner. A smaller z is nearer. */
export type Face = {
  /**
   * From 0 to 1: the confidence of the detector, and that of the mesh network, which sees only the found part of the
   * picture.
   */
  detectorConfidence: number;
  meshConfidence: number;
  /** The 468 points of MediaPipe's face mesh, in its order. They can lie outside of the picture. */
  mesh: readonly Point[];
};

/** Three channels of 8 bits: red, green and blue. */
export type Picture = { data: Uint8Array; width: number; height: number };

export type FindFaces = (picture: Picture) => Promise<Face[]>;

/** Below this, a part of the picture is not a face. */
const MIN_CONFIDENCE = 0.3;
/** Each face costs 20 ms. More than one face is refused anyway. */
const MAX_FACES = 6;

const OPTIONS = {
  backend: "wasm",
  wasmPath: FILES_URL,
  wasmPlatformFetch: true,
  modelBasePath: FILES_URL,
  cacheModels: false,
  cacheSensitivity: 0,
  skipAllowed: false,
  debug: false,
  async: false,
  warmup: "none",
  filter: { enabled: false },
  gesture: { enabled: false },
  body: { enabled: false },
  hand: { enabled: false },
  object: { enabled: false },
  segmentation: { enabled: false },
  face: {
    enabled: true,
    detector: {
      rotation: true,
      maxDetected: MAX_FACES,
      minConfidence: MIN_CONFIDENCE,
      iouThreshold: 0.3,
      square: true,
    },
    mesh: { enabled: true },
    iris: { enabled: false },
    attention: { enabled: false },
    emotion: { enabled: false },
    description: { enabled: false },
    antispoof: { enabled: false },
    liveness: { enabled: false },
  },
};

const ignore = (): void => {};

/** `left`, `top`: the position of the picture in the searched square. */
const faceOf = ({ boxScore, faceScore, size, mesh }: LibraryFace, left: number, top: number): Face => {
  // The depth of the mesh is in units of the picture that its network sees.
  const scale = Math.max(...size) / MESH_SIDE;
  return {
    detectorConfidence: boxScore,
    meshConfidence: faceScore,
    mesh: mesh.map(([x, y, z = 0]): Point => [x - left, y - top, z * scale]),
  };
};

/**
 * The picture in the middle of a black square, and its offset. The library pads a picture to a square only for its
 * detector, and then cuts the face out of the unpadded picture. Without this function, that would be at a wrong place.
 */
const padToSquare = ({ data, width, height }: Picture, values: Float32Array) => {
  const side = Math.max(width, height);
  const [left, top] = [Math.floor((side - width) / 2), Math.floor((side - height) / 2)];
  values.fill(0);
  for (let y = 0; y < height; y += 1) {
    values.set(data.subarray(3 * width * y, 3 * width * (y + 1)), 3 * (side * (y + top) + left));
  }
  return { side, left, top };
};

/** Reads the library and its files. After that, the process reads no file, so it may change its user. */
export const loadFaces = async (): Promise<{ start: () => Promise<FindFaces> }> => {
  const fetchFile = readFiles();
  const Library = await importLibrary();
  const start = async (): Promise<FindFaces> => {
    globalThis.fetch = fetchFile as typeof fetch;
    // The library writes to the console, but standard output is for the report.
    Object.assign(globalThis.console, { log: ignore, info: ignore, warn: ignore, error: ignore });
    const library = new Library(OPTIONS);
    await library.load();
    // One array for all turns of a picture, because each would take 5 MB of the child's limited memory.
    let values = new Float32Array(0);
    return async (picture) => {
      const length = 3 * Math.max(picture.width, picture.height) ** 2;
      if (values.length !== length) values = new Float32Array(length);
      const { side, left, top } = padToSquare(picture, values);
      const tensor = library.tf.tensor(values, [1, side, side, 3]);
      try {
        const { error, face } = await library.detect(tensor);
        if (error) throw new Error(`The faces cannot be searched: ${error}`);
        return face.map((found) => faceOf(found, left, top));
      } finally {
        library.tf.dispose(tensor);
      }
    };
  };
  return { start };
};
