/** JUMBF (ISO/IEC 19566-5): boxes with a description, in which C2PA keeps manifests. */

/** The first four bytes of the type of a superbox. The other bytes are the same for all types of C2PA. */
export type JumbfType = "c2pa" | "c2ma" | "c2as" | "c2cl" | "c2cs" | "cbor";
const TYPE_END = Buffer.from("00110010800000aa00389b71", "hex");

/** The content has a label by which it can be requested. */
const TOGGLES = 0x03;

/** A box of ISO/IEC 14496-12, with a size of 32 bits. */
export const box = (type: string, ...contents: Uint8Array[]): Buffer => {
  const size = contents.reduce((sum, { length }) => sum + length, 8);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(size);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, ...contents], size);
};

/** The content of a superbox, without its head of 8 bytes. C2PA hashes this part of an assertion. */
export const superboxContent = (type: JumbfType, label: string, ...contents: Uint8Array[]): Buffer =>
  Buffer.concat([
    box("jumd", Buffer.from(type, "latin1"), TYPE_END, Buffer.from([TOGGLES]), Buffer.from(`${label}\0`)),
    ...contents,
  ]);

export const superbox = (type: JumbfType, label: string, ...contents: Uint8Array[]): Buffer =>
  box("jumb", superboxContent(type, label, ...contents));
