/** Reads and verifies the C2PA manifest of a signed MP4, from its whole bytes and without the code that writes it. */
import { createHash, X509Certificate } from "node:crypto";

type Decoded = { value: unknown; end: number };

/** CBOR with definite lengths: maps become `Map`s, tags are dropped. */
const decode = (bytes: Buffer, start: number): Decoded => {
  const first = bytes.readUInt8(start);
  const [major, low] = [first >> 5, first & 31];
  if (low > 26) throw new Error("CBOR that this reader does not know.");
  const extra = low < 24 ? 0 : 2 ** (low - 24);
  const argument = extra === 0 ? low : bytes.readUIntBE(start + 1, extra);
  let at = start + 1 + extra;
  const next = (): unknown => {
    const { value, end } = decode(bytes, at);
    at = end;
    return value;
  };
  if (major === 0) return { value: argument, end: at };
  if (major === 1) return { value: -1 - argument, end: at };
  if (major === 2) return { value: bytes.subarray(at, at + argument), end: at + argument };
  if (major === 3) return { value: bytes.toString("utf8", at, at + argument), end: at + argument };
  if (major === 4) return { value: Array.from({ length: argument }, next), end: at };
  if (major === 5) return { value: new Map(Array.from({ length: argument }, () => [next(), next()])), end: at };
  if (major === 6) return { value: next(), end: at };
  return { value: null, end: at };
};
export const decodeCbor = (bytes: Uint8Array): unknown => decode(Buffer.from(bytes), 0).value;

/** The same as plain objects and texts, for comparisons. */
const plain = (value: unknown): unknown => {
  if (Buffer.isBuffer(value)) return value.toString("hex");
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
  return value;
};

export type Box = { type: string; start: number; bytes: Buffer; content: Buffer };

export const readBoxes = (bytes: Buffer): Box[] => {
  const boxes: Box[] = [];
  for (let start = 0; start < bytes.length; ) {
    const isLong = bytes.readUInt32BE(start) === 1;
    const size = isLong ? Number(bytes.readBigUInt64BE(start + 8)) : bytes.readUInt32BE(start);
    const all = bytes.subarray(start, start + size);
    boxes.push({ type: all.toString("latin1", 4, 8), start, bytes: all, content: all.subarray(isLong ? 16 : 8) });
    start += size;
  }
  return boxes;
};

/** The label of a JUMBF superbox, and the boxes after its description. */
const openSuperbox = ({ type, content }: Box) => {
  const [description, ...inner] = readBoxes(content);
  if (type !== "jumb" || description?.type !== "jumd") throw new Error("This is not a superbox.");
  const label = description.content.toString("utf8", 17, description.content.length - 1);
  return { kind: description.content.toString("latin1", 0, 4), label, inner, content };
};

/** The algorithms of WebCrypto, by the ids of COSE. */
const ALGORITHMS: Record<number, { key: Parameters<typeof crypto.subtle.importKey>[2]; verify: object }> = {
  [-7]: { key: { name: "ECDSA", namedCurve: "P-256" }, verify: { name: "ECDSA", hash: "SHA-256" } },
  [-35]: { key: { name: "ECDSA", namedCurve: "P-384" }, verify: { name: "ECDSA", hash: "SHA-384" } },
  [-36]: { key: { name: "ECDSA", namedCurve: "P-521" }, verify: { name: "ECDSA", hash: "SHA-512" } },
  [-37]: { key: { name: "RSA-PSS", hash: "SHA-256" }, verify: { name: "RSA-PSS", saltLength: 32 } },
  [-8]: { key: { name: "Ed25519" }, verify: { name: "Ed25519" } },
};

/** A CBOR head of a byte string. */
const bytesHead = (length: number): Buffer =>
  length < 24
    ? Buffer.from([0x40 | length])
    : length < 256
      ? Buffer.from([0x58, length])
      : Buffer.from([0x59, length >> 8, length & 255]);

type CoseSign1 = [headers: Buffer, otherHeaders: unknown, payload: null, signature: Buffer];

const verifySignature = async (claim: Buffer, [headers, , payload, signature]: CoseSign1): Promise<boolean> => {
  const decoded = decodeCbor(headers) as Map<number, unknown>;
  const chain = decoded.get(33) as Buffer | Buffer[];
  const { publicKey } = new X509Certificate(Array.isArray(chain) ? (chain[0] ?? "") : chain);
  const algorithm = ALGORITHMS[decoded.get(1) as number];
  if (payload !== null || algorithm === undefined) return false;
  const spki = Uint8Array.from(publicKey.export({ format: "der", type: "spki" }));
  const key = await crypto.subtle.importKey("spki", spki, algorithm.key, false, ["verify"]);
  const context = Buffer.from("\x84\x6aSignature1", "latin1");
  const parts = [context, bytesHead(headers.length), headers, Buffer.from([0x40]), bytesHead(claim.length), claim];
  return crypto.subtle.verify(
    algorithm.verify as Parameters<typeof crypto.subtle.verify>[0],
    key,
    Uint8Array.from(signature),
    Uint8Array.from(Buffer.concat(parts)),
  );
};

const sha256 = (...parts: Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

/** The hash of the file by `c2pa.hash.bmff.v3`, with the exclusions that C2PA requires. */
const fileHash = (boxes: readonly Box[]): string =>
  sha256(
    ...boxes.flatMap(({ type, start, bytes }) => {
      if (["uuid", "ftyp", "mfra"].includes(type)) return [];
      const offset = Buffer.alloc(8);
      offset.writeBigUInt64BE(BigInt(start));
      return [offset, bytes];
    }),
  );

/** Reads a manifest, and verifies its three proofs. */
export const readManifest = async (file: Buffer) => {
  const boxes = readBoxes(file);
  const box = boxes.find(({ type }) => type === "uuid");
  if (box === undefined) throw new Error("The file has no manifest.");
  // The UUID, version and flags, the purpose, and an offset.
  const head = box.content.subarray(0, 16 + 4 + 9 + 8).toString("latin1");
  const [store] = readBoxes(box.content.subarray(16 + 4 + 9 + 8));
  const [manifestBox] = store === undefined ? [] : openSuperbox(store).inner;
  if (manifestBox === undefined) throw new Error("The store has no manifest.");
  const manifest = openSuperbox(manifestBox);
  const parts = new Map(manifest.inner.map((inner) => [openSuperbox(inner).label, openSuperbox(inner)]));
  const cborOf = (part: { inner: Box[] } | undefined): Buffer => part?.inner[0]?.content ?? Buffer.alloc(0);
  const assertions = new Map(
    (parts.get("c2pa.assertions")?.inner ?? []).map((inner) => [openSuperbox(inner).label, openSuperbox(inner)]),
  );
  const cose = decodeCbor(cborOf(parts.get("c2pa.signature"))) as CoseSign1;
  const claimBytes = cborOf(parts.get("c2pa.claim.v2"));
  const claim = plain(decodeCbor(claimBytes)) as Record<string, unknown> & {
    created_assertions: { url: string; hash: string }[];
  };
  const contents = Object.fromEntries([...assertions].map(([label, part]) => [label, plain(decodeCbor(cborOf(part)))]));
  const hashed = contents["c2pa.hash.bmff.v3"] as { hash: string } | undefined;
  return {
    label: manifest.label,
    kinds: [openSuperbox(store as Box).kind, manifest.kind, ...[...parts.values()].map(({ kind }) => kind)],
    parts: [...parts.keys()],
    head,
    claim,
    assertions: contents,
    hasAssertions: claim.created_assertions.every(
      ({ url, hash }) => sha256(assertions.get(url.replace(/^.*\//, ""))?.content ?? Buffer.alloc(0)) === hash,
    ),
    headers: [...(decodeCbor(cose[0]) as Map<number, unknown>).keys()],
    otherHeaders: plain(cose[1]),
    hasSignature: await verifySignature(claimBytes, cose),
    hasFile: hashed?.hash === fileHash(boxes),
  };
};
