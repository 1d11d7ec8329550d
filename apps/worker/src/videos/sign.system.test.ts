/** Signed videos, read by other programs: c2pa-python, which is built on the reference implementation, and ffmpeg. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { C2PA_CLAIM_SIGNING } from "@realtime-avatar/runtime/config/certificate";
import {
  type Authority,
  createAuthority,
  createSignerFiles,
  type KeyKind,
  type SignerOptions,
} from "@realtime-avatar/runtime/config/certificate.testing";
import { openVideoSigner, type VideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { runToEnd, source } from "@realtime-avatar/testing/processes";
import { video } from "../sandbox/corpus/media.testing.ts";
import { findFfmpeg } from "../sandbox/frame.ts";
import { readBoxes } from "./c2pa/reader.testing.ts";
import { signVideo } from "./sign.ts";

/** PYTHON_C2PA names an interpreter with the package `c2pa-python`: a virtual environment, for example. */
const python = process.env["PYTHON_C2PA"] ?? "";
const hasReader = existsSync(python) && (await runToEnd([python, "-c", "import c2pa"])).code === 0;
const withoutReader = hasReader ? "" : " (skipped: PYTHON_C2PA names no Python with c2pa-python)";
const ffmpeg = findFfmpeg();
const withoutFfmpeg = ffmpeg === null ? " (skipped: there is no ffmpeg)" : "";

/** Reads a file. Trusts an authority if one is named, and accepts its certificates for a purpose if one is given. */
const PROGRAM = `
import c2pa, json, sys
path, anchors, purpose = sys.argv[1:]
trust = {"trust": {"trust_anchors": open(anchors).read()}} if anchors else {}
if purpose: trust["trust"]["trust_config"] = purpose
settings = c2pa.Settings.from_dict({**trust, "verify": {"verify_trust": True}})
store = json.loads(c2pa.Reader(path, context=c2pa.Context(settings)).json())
results = store["validation_results"]["activeManifest"]
print(json.dumps({
  "state": store["validation_state"],
  "success": [item["code"] for item in results["success"]],
  "failure": [item["code"] for item in results["failure"]],
  "manifest": store["manifests"][store["active_manifest"]],
}))`;

const base = await fileFolder();
const createdAt = new Date();
const authority = createAuthority();
const anchors = join(base, "authority.pem");
await writeFile(anchors, authority.certificate);
const selfSigned = await openVideoSigner(null, base, { warn: () => {} }, createdAt);
const original = await video();
let count = 0;

const read = async (path: string, trusted = "", purpose = "") => {
  const { code, stdout, stderr } = await runToEnd([python, "-c", PROGRAM, path, trusted, purpose]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout);
};
/** A signer of an authority. Its chain omits the root, as C2PA requires. */
const signerOf = async (
  issuer: Authority,
  options: SignerOptions,
  { intermediates = "", now = createdAt } = {},
): Promise<VideoSigner> => {
  count += 1;
  const files = createSignerFiles(issuer, options);
  const paths = { certificate: join(base, `${count}.pem`), key: join(base, `${count}.key`) };
  await writeFile(paths.certificate, files.certificate + intermediates);
  await writeFile(paths.key, files.key);
  return openVideoSigner(paths, base, { warn: () => {} }, now);
};
const signed = async (signer: VideoSigner, file = original, now = createdAt): Promise<string> => {
  count += 1;
  const path = join(base, `${count}.mp4`);
  await writeFile(path, file);
  await signVideo({ path, signer, createdAt: now });
  return path;
};
const SIGNATURE = ["claimSignature.insideValidity", "claimSignature.validated"];
const ASSERTIONS = ["assertion.hashedURI.match", "assertion.hashedURI.match"];

describe.skipIf(!hasReader)(`c2pa-python${withoutReader}`, () => {
  test("the self-signed certificate: all valid; the signer is not trusted", async () => {
    const { state, success, failure, manifest } = await read(await signed(selfSigned), anchors);
    expect([state, failure]).toEqual(["Valid", ["signingCredential.untrusted"]]);
    expect(success).toEqual([...SIGNATURE, ...ASSERTIONS, "assertion.bmffHash.match"]);
    expect(manifest).toMatchObject({
      claim_generator_info: [{ name: "Realtime Avatar Service" }],
      claim_version: 2,
      signature_info: { alg: "Es256", issuer: "Realtime Avatar Service" },
    });
    expect(manifest.assertions[0]).toMatchObject({
      label: "c2pa.actions.v2",
      data: {
        actions: [
          {
            action: "c2pa.created",
            when: createdAt.toISOString(),
            digitalSourceType: "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic",
          },
        ],
      },
    });
  });

  test.each<[KeyKind]>([["P-256"], ["P-384"], ["P-521"], ["Ed25519"], ["RSA"]])(
    "a key of %s with a certificate of an authority: trusted exactly if the authority is trusted",
    async (kind) => {
      const path = await signed(await signerOf(authority, { kind }));
      expect(await read(path, anchors)).toMatchObject({
        state: "Trusted",
        failure: [],
        success: ["signingCredential.trusted", ...SIGNATURE, ...ASSERTIONS, "assertion.bmffHash.match"],
      });
      const failure = ["signingCredential.untrusted"];
      expect(await read(path)).toMatchObject({ state: "Valid", failure });
      const stranger = join(base, "stranger.pem");
      await writeFile(stranger, createAuthority("Another authority").certificate);
      expect(await read(path, stranger)).toMatchObject({ state: "Valid", failure });
    },
  );

  test("a chain with an intermediate authority: trusted", async () => {
    const intermediate = createAuthority("Intermediate of tests", authority);
    const path = await signed(await signerOf(intermediate, {}, { intermediates: intermediate.certificate }));
    expect(await read(path, anchors)).toMatchObject({ state: "Trusted", failure: [] });
  });

  test("a certificate that expired after the signature: invalid, because no authority has stamped the time", async () => {
    const now = new Date("2024-01-01T00:00:00Z");
    const signer = await signerOf(authority, { validTo: new Date("2025-01-01T00:00:00Z") }, { now });
    const { state, failure } = await read(await signed(signer, original, now), anchors);
    expect(state).toBe("Invalid");
    expect(failure).toContain("signingCredential.expired");
  });

  test("a certificate only for the purpose of C2PA: trusted by a reader that lists the purpose", async () => {
    const path = await signed(await signerOf(authority, { purposes: [C2PA_CLAIM_SIGNING] }));
    expect(await read(path, anchors, C2PA_CLAIM_SIGNING)).toMatchObject({ state: "Trusted", failure: [] });
  });

  test.each(["moov", "mdat"])("one bit of %s changed: invalid", async (type) => {
    const path = await signed(selfSigned);
    const bytes = await readFile(path);
    const box = readBoxes(bytes).find((found) => found.type === type);
    // The last byte, which is not part of a size or type.
    const at = (box?.start ?? 0) + (box?.bytes.length ?? 0) - 1;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    await writeFile(path, bytes);
    const { state, failure } = await read(path);
    expect([state, failure]).toEqual(["Invalid", ["signingCredential.untrusted", "assertion.bmffHash.mismatch"]]);
  });

  test("a claim that was changed: invalid", async () => {
    const path = await signed(selfSigned);
    const bytes = await readFile(path);
    bytes.write("Another", bytes.indexOf("Realtime", bytes.indexOf("claim_generator_info")));
    await writeFile(path, bytes);
    const { state, failure } = await read(path);
    expect(state).toBe("Invalid");
    expect(failure).toContain("claimSignature.mismatch");
  });
});

describe.skipIf(ffmpeg === null)(`ffmpeg${withoutFfmpeg}`, () => {
  test.each([
    ["moov first", ["-movflags", "+faststart"], ["ftyp", "uuid", "moov", "free", "mdat"]],
    ["moov last", [], ["ftyp", "uuid", "moov", "free", "mdat"]],
  ])("H.264 and AAC, %s: each decoded frame and sample as before", async (_, options, types) => {
    const path = join(base, "speech.mp4");
    const sources = ["-f", "lavfi", "-i", "testsrc2=s=160x90:r=25", "-f", "lavfi", "-i", "sine=f=440"];
    const codecs = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"];
    const run = (args: string[]) => runToEnd([ffmpeg ?? "", "-hide_banner", "-v", "error", ...args]);
    expect((await run(["-y", ...sources, "-t", "2", ...codecs, ...options, path])).code).toBe(0);
    const decoded = async (file: string) => (await run(["-xerror", "-i", file, "-f", "framemd5", "-"])).stdout;
    const signedPath = await signed(selfSigned, await readFile(path));
    expect(readBoxes(await readFile(signedPath)).map(({ type }) => type)).toEqual(types);
    const frames = await decoded(path);
    expect(frames.split("\n").filter((line) => line.startsWith("0,"))).toHaveLength(50);
    expect(await decoded(signedPath)).toBe(frames);
    if (hasReader) expect(await read(signedPath)).toMatchObject({ state: "Valid" });
  });
});

/** Signs its first argument with the self-signed certificate in its second. Prints its greatest memory in KiB. */
const SIGN = `
import { openVideoSigner } from "${import.meta.resolve("@realtime-avatar/runtime/config/video-signer")}";
import { signVideo } from "${import.meta.resolve("./sign.ts")}";
const [path, folder] = process.argv.slice(2);
const now = new Date();
await signVideo({ path, signer: await openVideoSigner(null, folder, console, now), createdAt: now });
console.log(process.resourceUsage().maxRSS);`;

test("200 MB: signed with the memory of a short video", async () => {
  const program = join(base, "sign.ts");
  const [short, long] = [join(base, "short.mp4"), join(base, "long.mp4")];
  await Promise.all([writeFile(program, SIGN), writeFile(short, original), writeFile(long, original)]);
  // A last box of media, which is a hole in the file.
  const { size } = await stat(long);
  const file = await open(long, "r+");
  const head = Buffer.alloc(8);
  head.writeUInt32BE(200_000_000);
  head.write("mdat", 4);
  await file.write(head, 0, 8, size);
  await file.truncate(size + 200_000_000);
  await file.close();
  const memory = async (path: string): Promise<number> => {
    const { code, stdout, stderr } = await runToEnd(source(program, path, base));
    expect([code, stderr]).toEqual([0, ""]);
    return Number(stdout);
  };
  const [little, much] = [await memory(short), await memory(long)];
  expect((await stat(long)).size).toBeGreaterThan(200_000_000);
  expect(much - little).toBeLessThan(40_000);
  if (hasReader) expect(await read(long)).toMatchObject({ state: "Valid" });
});
