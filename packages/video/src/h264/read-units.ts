/** Reads the units of H.264 from the MP4 file that the encoder writes. Each picture is one unit. */

/**
 * `units`: the NAL unit of each picture. `sequence`, `picture`: the parameter sets. All are without start codes and
 * lengths.
 */
export type EncodedGroup = { units: Uint8Array[]; sequence: Uint8Array; picture: Uint8Array };

const SLICE = 1;
const KEY_SLICE = 5;
const CONTAINERS = new Set(["moov", "trak", "mdia", "minf", "stbl"]);

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Calls `visit` with the name and the content of each box. */
const visitBoxes = (bytes: Uint8Array, visit: (name: string, content: Uint8Array) => void): void => {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = view(bytes).getUint32(at);
    if (size < 8 || at + size > bytes.length) throw new Error("The encoder has written a damaged file.");
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const content = bytes.subarray(at + 8, at + size);
    visit(name, content);
    if (CONTAINERS.has(name)) visitBoxes(content, visit);
    at += size;
  }
};

/** The first unit after `at`, whose length is in 2 bytes. */
const parameterSet = (bytes: Uint8Array, at: number): Uint8Array => {
  const length = view(bytes).getUint16(at);
  return bytes.slice(at + 2, at + 2 + length);
};

/** The parameter sets of an `stsd` box. */
const readParameterSets = (description: Uint8Array): Omit<EncodedGroup, "units"> => {
  const at = Buffer.from(description.buffer, description.byteOffset, description.byteLength).indexOf("avcC") + 4;
  if (at < 4) throw new Error("The encoder has written no parameters.");
  // Five bytes of versions, then the number of sets.
  const sequence = parameterSet(description, at + 6);
  return { sequence, picture: parameterSet(description, at + 6 + 2 + sequence.length + 1) };
};

/** Reads a file with `count` pictures. Throws when it has another number, or a second key picture. */
export const readUnits = (file: Uint8Array, count: number): EncodedGroup => {
  const units: Uint8Array[] = [];
  let sets: Omit<EncodedGroup, "units"> | null = null;
  visitBoxes(file, (name, content) => {
    if (name === "stsd") sets = readParameterSets(content);
    if (name !== "mdat") return;
    for (let at = 0; at + 4 <= content.length; ) {
      const length = view(content).getUint32(at);
      units.push(content.slice(at + 4, at + 4 + length));
      at += 4 + length;
    }
  });
  const isRight = units.every((unit, index) => ((unit[0] ?? 0) & 31) === (index === 0 ? KEY_SLICE : SLICE));
  if (sets === null || units.length !== count || !isRight) throw new Error("The encoder has lost a picture.");
  return { units, ...(sets as Omit<EncodedGroup, "units">) };
};
