import { describe, expect, test } from "bun:test";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createAuthority,
  createSignerFiles,
  type KeyKind,
  VALID_TO,
} from "@realtime-avatar/runtime/config/certificate.testing";
import { openVideoSigner, type VideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from "mediabunny";
import { version } from "../../package.json";
import { video } from "../sandbox/corpus/media.testing.ts";
import { CAPTURE } from "./c2pa/manifest.ts";
import { readBoxes, readManifest } from "./c2pa/reader.testing.ts";
import { Mp4Error } from "./mp4-boxes.ts";
import { CertificateExpired, type SignVideo, signVideo } from "./sign.ts";

const CREATED_AT = new Date("2026-06-01T12:00:00.250Z");
const PROOFS = { hasAssertions: true, hasSignature: true, hasFile: true };
const base = await fileFolder();
const authority = createAuthority();
let count = 0;

const signerOf = async (kind: KeyKind): Promise<VideoSigner> => {
  const files = createSignerFiles(authority, { kind });
  const paths = { certificate: join(base, `${kind}.pem`), key: join(base, `${kind}.key`) };
  await writeFile(paths.certificate, files.certificate + authority.certificate);
  await writeFile(paths.key, files.key);
  return openVideoSigner(paths, base, { warn: () => {} }, CREATED_AT);
};
const signer = await openVideoSigner(null, base, { warn: () => {} }, CREATED_AT);
const deterministic = await signerOf("Ed25519");
const original = await video();

/** Signs a copy of the file in a new folder. Returns the path and the signed bytes. */
const signed = async (file: Buffer, options: Partial<SignVideo> = {}) => {
  count += 1;
  const path = join(base, `${count}.mp4`);
  await writeFile(path, file);
  await signVideo({ path, signer, createdAt: CREATED_AT, ...options });
  return { path, bytes: await readFile(path) };
};

const packetsOf = async (file: Buffer) => {
  using input = new Input({ source: new BufferSource(file), formats: ALL_FORMATS });
  const track = await input.getPrimaryVideoTrack();
  if (track === null) throw new Error("The file has no video.");
  const packets: [number, string][] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) {
    packets.push([packet.timestamp, Buffer.from(packet.data).toString("hex")]);
  }
  return packets;
};

/** The MP4 with its `moov` after the media. So the offsets of its chunks do not include the size of `moov`. */
const movieLast = async (): Promise<Buffer> => {
  const boxes = readBoxes(original);
  const movie = boxes.find(({ type }) => type === "moov")?.bytes ?? Buffer.alloc(0);
  const moved = Buffer.from(movie);
  const table = moved.indexOf("stco");
  for (let entry = 0; entry < moved.readUInt32BE(table + 8); entry += 1) {
    const at = table + 12 + 4 * entry;
    moved.writeUInt32BE(moved.readUInt32BE(at) - movie.length, at);
  }
  return Buffer.concat([...boxes.filter(({ type }) => type !== "moov").map(({ bytes }) => bytes), moved]);
};

describe("a signed MP4", () => {
  // The whole manifest is compared, so it cannot contain data of a person, a tenant or the machine.
  test("its manifest: created by an AI system, at a time, by the product, as a composite with synthetic parts", async () => {
    const { bytes } = await signed(original);
    const manifest = await readManifest(bytes);
    expect(manifest).toMatchObject({ ...PROOFS, headers: [1, 33], otherHeaders: {} });
    const generator = { name: "Realtime Avatar Service", version };
    expect(manifest.claim).toEqual({
      instanceID: expect.stringMatching(
        /^xmp:iid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      claim_generator_info: generator,
      signature: `self#jumbf=/c2pa/${manifest.label}/c2pa.signature`,
      created_assertions: [
        { url: "self#jumbf=c2pa.assertions/c2pa.actions.v2", hash: expect.any(String) },
        { url: "self#jumbf=c2pa.assertions/c2pa.hash.bmff.v3", hash: expect.any(String) },
      ],
      alg: "sha256",
    });
    expect(manifest.assertions["c2pa.actions.v2"]).toEqual({
      actions: [
        {
          action: "c2pa.created",
          when: "2026-06-01T12:00:00.250Z",
          softwareAgent: generator,
          digitalSourceType: "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic",
          description: "Created by an AI system: a picture of a face, animated to match speech.",
        },
      ],
    });
  });

  test("of another source: its manifest states the source", async () => {
    const source = { digitalSourceType: CAPTURE, description: "The voice of a person." };
    const { assertions, ...proofs } = await readManifest((await signed(original, { source })).bytes);
    expect(assertions["c2pa.actions.v2"]).toMatchObject({ actions: [source] });
    expect(proofs).toMatchObject(PROOFS);
  });

  test("its boxes: the manifest after ftyp, with the names of C2PA and JUMBF, and the others unchanged", async () => {
    const { bytes, path } = await signed(original);
    const types = readBoxes(original).map(({ type }) => type);
    expect(readBoxes(bytes).map(({ type }) => type)).toEqual(["ftyp", "uuid", ...types.slice(1)]);
    const { kinds, parts, head, label, assertions } = await readManifest(bytes);
    expect(kinds).toEqual(["c2pa", "c2ma", "c2as", "c2cl", "c2cs"]);
    expect(parts).toEqual(["c2pa.assertions", "c2pa.claim.v2", "c2pa.signature"]);
    expect(Buffer.from(head, "latin1").toString("hex", 0, 16)).toBe("d8fec3d61b0e483c92975828877ec481");
    expect(head.slice(16)).toBe("\0\0\0\0manifest\0\0\0\0\0\0\0\0\0");
    expect(label).toMatch(/^urn:c2pa:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(assertions["c2pa.hash.bmff.v3"]).toMatchObject({
      alg: "sha256",
      exclusions: [
        { xpath: "/uuid", data: [{ offset: 8, value: "d8fec3d61b0e483c92975828877ec481" }] },
        { xpath: "/ftyp" },
        { xpath: "/mfra" },
      ],
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("its packets: unchanged, with moov first and with moov last, which comes first", async () => {
    const last = await movieLast();
    const expected = await packetsOf(original);
    expect(expected).toHaveLength(50);
    expect(await packetsOf(last)).toEqual(expected);
    for (const file of [original, last]) {
      const { bytes } = await signed(file);
      expect(await packetsOf(bytes)).toEqual(expected);
      expect(await readManifest(bytes)).toMatchObject(PROOFS);
      expect(
        readBoxes(bytes)
          .map(({ type }) => type)
          .slice(0, 3),
      ).toEqual(["ftyp", "uuid", "moov"]);
    }
  });

  test.each<[KeyKind]>([["P-384"], ["P-521"], ["Ed25519"], ["RSA"]])(
    "by a key of %s and a chain: verified by WebCrypto",
    async (kind) => {
      const { bytes } = await signed(original, { signer: await signerOf(kind) });
      expect(await readManifest(bytes)).toMatchObject(PROOFS);
    },
  );

  test("with a title, in letters of all lengths of UTF-8: in the claim", async () => {
    const title = `é€😀${"x".repeat(300)}`;
    const { claim, ...proofs } = await readManifest((await signed(original, { title })).bytes);
    expect(claim["dc:title"]).toBe(title);
    expect(proofs).toMatchObject(PROOFS);
  });

  test("the same input: the same bytes except the signature; with Ed25519 all bytes", async () => {
    const [first, second] = [await signed(original), await signed(original)];
    const end = readBoxes(first.bytes)[2]?.start ?? 0;
    // The signature is the end of the manifest.
    const withoutSignature = ({ bytes }: { bytes: Buffer }): string =>
      Buffer.concat([bytes.subarray(0, end - 64), bytes.subarray(end)]).toString("hex");
    expect(first.bytes.equals(second.bytes)).toBe(false);
    expect(withoutSignature(first)).toBe(withoutSignature(second));
    const options = { signer: deterministic };
    expect((await signed(original, options)).bytes.equals((await signed(original, options)).bytes)).toBe(true);
  });

  test("another time, file or certificate: another label", async () => {
    const others: [Buffer, Partial<SignVideo>][] = [
      [original, {}],
      [original, { createdAt: new Date(CREATED_AT.getTime() + 1) }],
      [original, { signer: deterministic }],
      [await video({ seconds: 1 }), {}],
    ];
    const labels = await Promise.all(
      others.map(async ([file, options]) => (await readManifest((await signed(file, options)).bytes)).label),
    );
    expect(new Set(labels).size).toBe(others.length);
  });
});

describe("a signed MP4 that was changed", () => {
  test.each(["moov", "mdat", "free"])("one bit of %s: the hash of the file does not match", async (type) => {
    // A box of mediabunny that fills a gap, and one from the test.
    const free = Buffer.from("\0\0\0\x0cfree\0\0\0\0", "latin1");
    const { bytes } = await signed(Buffer.concat([original, free]));
    const found = readBoxes(bytes).find((box) => box.type === type);
    bytes.writeUInt8(bytes.readUInt8((found?.start ?? 0) + 8) ^ 1, (found?.start ?? 0) + 8);
    expect(await readManifest(bytes)).toMatchObject({ ...PROOFS, hasFile: false });
  });

  test("the time of the claim: its assertion does not match; the generator: its signature does not", async () => {
    const { bytes } = await signed(original);
    const change = (from: string, to: string): Buffer => {
      const copy = Buffer.from(bytes);
      copy.write(to, copy.lastIndexOf(from));
      return copy;
    };
    expect(await readManifest(change("2026-06-01", "2025-06-01"))).toMatchObject({ ...PROOFS, hasAssertions: false });
    // The last occurrence except that in the certificate.
    const claim = bytes.indexOf("claim_generator_info");
    const other = Buffer.from(bytes);
    other.write("Another", bytes.indexOf("Realtime", claim));
    expect(await readManifest(other)).toMatchObject({ ...PROOFS, hasSignature: false });
  });
});

describe("unsignable files", () => {
  test.each<[string, () => Promise<Buffer> | Buffer]>([
    ["fragments", () => video({ container: "fragments" })],
    ["a signature", async () => (await signed(original)).bytes],
    ["no boxes", () => Buffer.from("This is a text, and no video.")],
    ["nothing in it", () => Buffer.alloc(0)],
    ["its end cut off", () => original.subarray(0, original.length - 1)],
    ["7 bytes too many", () => Buffer.concat([original, Buffer.alloc(7)])],
    [
      "two moov",
      () => Buffer.concat([original, readBoxes(original).find(({ type }) => type === "moov")?.bytes ?? original]),
    ],
    [
      "moov before ftyp",
      () =>
        Buffer.concat(
          readBoxes(original)
            .reverse()
            .map(({ bytes }) => bytes),
        ),
    ],
    ["1001 boxes", () => Buffer.concat([original, ...new Array(1001).fill(Buffer.from("\0\0\0\x08free", "latin1"))])],
  ])("an MP4 with %s: refused, the file unchanged, no other file", async (_, create) => {
    const file = Buffer.from(await create());
    const folder = await readdir(base);
    const signing = signed(file);
    await expect(signing).rejects.toThrow(Mp4Error);
    expect((await readFile(join(base, `${count}.mp4`))).equals(file)).toBe(true);
    expect((await readdir(base)).toSorted()).toEqual([...folder, `${count}.mp4`].toSorted());
  });

  test("after the certificate expired, or before it was valid: refused", async () => {
    const late = new Date(VALID_TO.getTime() + 1);
    await expect(signed(original, { signer: deterministic, createdAt: late })).rejects.toThrow(CertificateExpired);
    const early = new Date("2019-01-01T00:00:00Z");
    await expect(signed(original, { signer: deterministic, createdAt: early })).rejects.toThrow(CertificateExpired);
  });

  test("a signal that is aborted: its reason, and no other file", async () => {
    const signal = AbortSignal.abort(new Error("The job was canceled."));
    await expect(signed(original, { signal })).rejects.toThrow("The job was canceled.");
    expect(await readdir(base)).not.toContain(`${count}.mp4.signed`);
  });

  test("another path: the signed file there, the source unchanged; an existing file there: refused, and that file is unchanged", async () => {
    const to = join(base, "other.mp4");
    const { bytes } = await signed(original, { to });
    expect(bytes.equals(original)).toBe(true);
    const written = await readFile(to);
    expect(await readManifest(written)).toMatchObject(PROOFS);
    await expect(signed(original, { to })).rejects.toThrow("EEXIST");
    expect((await readFile(to)).equals(written)).toBe(true);
  });
});
