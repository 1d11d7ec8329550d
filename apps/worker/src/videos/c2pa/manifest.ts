/** The C2PA manifest of a video or a recording (C2PA 2.2): its contents and its signature. */
import { createHash } from "node:crypto";
import type { SignatureAlgorithm, VideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { type CborValue, encodeCbor, Tagged } from "./cbor.ts";
import { box, superbox, superboxContent } from "./jumbf.ts";

/** The type of the box of a manifest in an MP4. */
export const C2PA_UUID = Buffer.from("d8fec3d61b0e483c92975828877ec481", "hex");

/** Where the content of a file comes from. `digitalSourceType`: a term of IPTC. */
export type MediaSource = { digitalSourceType: string; description: string };

const IPTC = "http://cv.iptc.org/newscodes/digitalsourcetype";
/**
 * A composite of several elements, at least one of which is synthetic. The photo and an uploaded voice come from a
 * camera and a microphone. The movement and a voice from text are synthetic. `trainedAlgorithmicMedia` would mean that
 * a model has generated the whole file.
 */
export const COMPOSITE = `${IPTC}/compositeSynthetic`;
/** Recorded from life. */
export const CAPTURE = `${IPTC}/digitalCapture`;

export const GENERATED_VIDEO: MediaSource = {
  digitalSourceType: COMPOSITE,
  description: "Created by an AI system: a picture of a face, animated to match speech.",
};

/** The algorithms of COSE (RFC 9053). */
const COSE_ALGORITHMS: Record<SignatureAlgorithm, number> = {
  ES256: -7,
  ES384: -35,
  ES512: -36,
  PS256: -37,
  EdDSA: -8,
};
/** Headers of COSE (RFC 9052, RFC 9360). */
const HEADER_ALGORITHM = 1;
const HEADER_CHAIN = 33;
const TAG_COSE_SIGN1 = 18;
const TAG_DATE_TIME = 0;

/** The program that a manifest names as its generator. The manifest names no user, machine or tenant. */
export type Generator = { name: string; version: string };

export type ManifestContent = {
  /** SHA-256 of the file by `c2pa.hash.bmff.v3`: all boxes except `EXCLUSIONS`, each with its offset before it. */
  hash: Uint8Array;
  createdAt: Date;
  title: string | null;
  generator: Generator;
  source: MediaSource;
};

/** The boxes that the hash omits. The first is that of the manifest; C2PA requires the others. */
const EXCLUSIONS = [
  { xpath: "/uuid", data: [{ offset: 8, value: C2PA_UUID }] },
  { xpath: "/ftyp" },
  { xpath: "/mfra" },
];

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/**
 * A UUID in the form of a random one (version 4), which C2PA requires. It is the same for the same video, time and
 * certificate.
 */
const uuid = (purpose: string, seed: Uint8Array): string => {
  const bytes = sha256(Buffer.from(purpose), seed);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};

const assertions = ({ hash, createdAt, generator, source }: ManifestContent) => {
  const created = {
    action: "c2pa.created",
    when: new Tagged(TAG_DATE_TIME, createdAt.toISOString()),
    softwareAgent: generator,
    ...source,
  };
  const contents: [label: string, content: CborValue][] = [
    ["c2pa.actions.v2", { actions: [created] }],
    ["c2pa.hash.bmff.v3", { exclusions: EXCLUSIONS, alg: "sha256", hash, name: "the file without this manifest" }],
  ];
  return contents.map(([label, content]) => ({ label, content: box("cbor", encodeCbor(content)) }));
};

/** A claim's signature: COSE_Sign1 (RFC 9052) without its payload, which is the box of the claim. */
const coseSign1 = (claim: Uint8Array, signer: VideoSigner, sign: VideoSigner["sign"]): Buffer => {
  const [first, ...others] = signer.chain;
  if (first === undefined) throw new Error("A signer has a certificate.");
  const headers = new Map<number, CborValue>([
    [HEADER_ALGORITHM, COSE_ALGORITHMS[signer.algorithm]],
    [HEADER_CHAIN, others.length === 0 ? first : [first, ...others]],
  ]);
  const protectedHeaders = encodeCbor(headers);
  const signature = sign(encodeCbor(["Signature1", protectedHeaders, new Uint8Array(0), claim]));
  return encodeCbor(new Tagged(TAG_COSE_SIGN1, [protectedHeaders, {}, null, signature]));
};

/** The box of a manifest, its claim signed by `sign`. */
const manifestBox = (content: ManifestContent, signer: VideoSigner, sign: VideoSigner["sign"]): Buffer => {
  const seed = sha256(content.hash, Buffer.from(content.createdAt.toISOString()), ...signer.chain);
  const label = `urn:c2pa:${uuid("manifest", seed)}`;
  const parts = assertions(content);
  const claim = encodeCbor({
    instanceID: `xmp:iid:${uuid("instance", seed)}`,
    claim_generator_info: content.generator,
    signature: `self#jumbf=/c2pa/${label}/c2pa.signature`,
    created_assertions: parts.map((part) => ({
      url: `self#jumbf=c2pa.assertions/${part.label}`,
      hash: sha256(superboxContent("cbor", part.label, part.content)),
    })),
    ...(content.title === null ? {} : { "dc:title": content.title }),
    alg: "sha256",
  });
  const manifest = superbox(
    "c2ma",
    label,
    superbox("c2as", "c2pa.assertions", ...parts.map((part) => superbox("cbor", part.label, part.content))),
    superbox("c2cl", "c2pa.claim.v2", box("cbor", claim)),
    superbox("c2cs", "c2pa.signature", box("cbor", coseSign1(claim, signer, sign))),
  );
  // Version and flags, the purpose, and the offset of the first box of a Merkle tree, which this file does not have.
  const head = [C2PA_UUID, Buffer.alloc(4), Buffer.from("manifest\0"), Buffer.alloc(8)];
  return box("uuid", ...head, superbox("c2pa", "c2pa", manifest));
};

/** The size of the box that `signedManifest` returns, in bytes. It does not depend on the hash or the signature. */
export const manifestSize = (content: Omit<ManifestContent, "hash">, signer: VideoSigner): number =>
  manifestBox({ ...content, hash: new Uint8Array(32) }, signer, () => new Uint8Array(signer.signatureBytes)).length;

/** The box of the manifest for an MP4. All but the signature is the same for the same content and certificate. */
export const signedManifest = (content: ManifestContent, signer: VideoSigner): Buffer =>
  manifestBox(content, signer, signer.sign);
