import { describe, expect, test } from "bun:test";
import { createPrivateKey, verify, X509Certificate } from "node:crypto";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { ConfigError, readVariables } from "../config.ts";
import { createAuthority, createSignerFiles, type KeyKind } from "./certificate.testing.ts";
import { DOCUMENT_SIGNING, EMAIL_PROTECTION } from "./certificate.ts";
import { openVideoSigner, readVideoSignerConfig, SELF_SIGNED_FILE } from "./video-signer.ts";

const NOW = new Date("2026-06-01T12:00:00Z");
const base = await fileFolder();
const authority = createAuthority();
const signer = createSignerFiles(authority);
let count = 0;

/** Opens a signer with these texts in files. */
const open = async (certificate: string, key: string, now = NOW) => {
  count += 1;
  const paths = { certificate: join(base, `certificate-${count}.pem`), key: join(base, `key-${count}.pem`) };
  await Promise.all([writeFile(paths.certificate, certificate), writeFile(paths.key, key)]);
  return openVideoSigner(paths, base, { warn: () => {} }, now);
};
/** The message of the `ConfigError` that rejects `opening`. */
const refusal = async (opening: Promise<unknown>): Promise<string> => {
  const error: unknown = await opening.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return (error as Error).message;
};
const selfSigned = (folder: string, now = NOW, warnings: unknown[] = []) =>
  openVideoSigner(null, folder, { warn: (warning: unknown) => void warnings.push(warning) } as never, now);

describe("the variables", () => {
  test("both variables: the paths; neither: null", () => {
    expect(readVideoSignerConfig({})).toBeNull();
    expect(readVideoSignerConfig({ C2PA_CERTIFICATE: "", C2PA_KEY: "" })).toBeNull();
    expect(readVideoSignerConfig({ C2PA_CERTIFICATE: "a.pem", C2PA_KEY: "b.pem" })).toEqual({
      certificate: "a.pem",
      key: "b.pem",
    });
  });

  test.each([
    ["C2PA_CERTIFICATE", "C2PA_KEY"],
    ["C2PA_KEY", "C2PA_CERTIFICATE"],
  ])("%s alone: refused, without its value", (name, missing) => {
    const read = expect(() => readVariables({ [name]: "hunter2" }, readVideoSignerConfig));
    read.toThrow(`${missing} must be set when ${name} is set.`);
    read.not.toThrow("hunter2");
  });
});

describe("a certificate of an authority", () => {
  test.each<[KeyKind, string, string | null, number]>([
    ["P-256", "ES256", "sha256", 64],
    ["P-384", "ES384", "sha384", 96],
    ["P-521", "ES512", "sha512", 132],
    ["Ed25519", "EdDSA", null, 64],
    ["RSA", "PS256", "sha256", 256],
  ])("a key of %s: signs by %s", async (kind, algorithm, hash, signatureBytes) => {
    const files = createSignerFiles(authority, { kind });
    const opened = await open(files.certificate + authority.certificate, files.key);
    expect(opened).toMatchObject({ algorithm, signatureBytes });
    expect(opened.chain).toHaveLength(2);
    const bytes = Buffer.from("a claim");
    const signature = opened.sign(bytes);
    expect(signature).toHaveLength(signatureBytes);
    const key = {
      key: new X509Certificate(opened.chain[0] ?? "").publicKey,
      dsaEncoding: "ieee-p1363" as const,
      ...(kind === "RSA" ? { padding: 6, saltLength: 32 } : {}),
    };
    expect([verify(hash, bytes, key, signature), verify(hash, Buffer.from("another"), key, signature)]).toEqual([
      true,
      false,
    ]);
  });

  test("a chain with an intermediate authority: accepted", async () => {
    const intermediate = createAuthority("Intermediate of tests", authority);
    const files = createSignerFiles(intermediate, { purposes: [EMAIL_PROTECTION, DOCUMENT_SIGNING] });
    const opened = await open(files.certificate + intermediate.certificate + authority.certificate, files.key);
    expect(opened.chain).toHaveLength(3);
  });

  test("a signer, printed: without its key", async () => {
    const opened = await open(signer.certificate, signer.key);
    const secret = createPrivateKey(signer.key).export({ format: "jwk" }).d ?? "";
    expect(secret).toHaveLength(43);
    expect(Bun.inspect(opened) + JSON.stringify(opened)).not.toContain(secret);
  });
});

describe("unusable files", () => {
  const other = createSignerFiles(authority);
  const unsuitable = (options: Parameters<typeof createSignerFiles>[1]) => createSignerFiles(authority, options);
  const damaged = signer.certificate.slice(0, 200) + signer.certificate.slice(212);
  const weak = unsuitable({ kind: "RSA-1024" });
  test.each([
    ["the key of another certificate", signer.certificate, other.key, "C2PA_KEY must be the key of the first"],
    ["no key", signer.certificate, "hunter2", "C2PA_KEY must be a file with a private key in PEM"],
    ["a certificate as the key", signer.certificate, signer.certificate, "C2PA_KEY must be a file with a private key"],
    ["a key as the certificate", signer.key, signer.key, "C2PA_CERTIFICATE must be a file of certificates in PEM: it"],
    ["a damaged certificate", damaged, signer.key, "one cannot be parsed"],
    ["a short key", weak.certificate, weak.key, "RSA with at least 2048 bits"],
    ["nine certificates", signer.certificate.repeat(9), signer.key, "at most 8"],
    ["65 KiB", " ".repeat(66_000), signer.key, "at most 65536 bytes"],
    [
      "another issuer",
      signer.certificate + createAuthority().certificate,
      signer.key,
      "issued by the next one: number 1 is not",
    ],
  ])("%s: refused", async (_, certificate, key, reason) => {
    const message = await refusal(open(certificate, key));
    expect(message).toContain(reason);
    expect(message).not.toContain("hunter2");
  });

  test.each([
    ["of an authority", { isAuthority: true }, "must not be an authority"],
    ["for TLS alone", { purposes: ["1.3.6.1.5.5.7.3.1"] }, "extended key usage of 1.3.6.1.4.1.62558.2.1"],
    ["for any purpose", { purposes: [EMAIL_PROTECTION, "2.5.29.37.0"] }, "and not any"],
    ["without a purpose", { without: "2.5.29.37" }, "extended key usage"],
    ["without the usage of its key", { without: "2.5.29.15" }, "digitalSignature"],
    ["without the key of its issuer", { without: "2.5.29.35" }, "authority key identifier"],
    ["expired", { validTo: new Date("2026-05-31T00:00:00Z") }, "expired at 2026-05-31T00:00:00.000Z"],
    [
      "valid only in the future",
      { validFrom: new Date("2026-07-01T00:00:00Z") },
      "valid from 2026-07-01T00:00:00.000Z",
    ],
  ])("a certificate %s: refused", async (_, options, reason) => {
    const files = unsuitable(options);
    expect(await refusal(open(files.certificate, files.key))).toMatch(/^C2PA_CERTIFICATE must be a file of/);
    expect(await refusal(open(files.certificate, files.key))).toContain(reason);
  });

  test("a valid certificate of an expired authority: refused", async () => {
    const validTo = new Date("2070-01-01T00:00:00Z");
    const files = createSignerFiles(authority, { validTo });
    const later = new Date("2065-01-01T00:00:00Z");
    expect(await refusal(open(files.certificate + authority.certificate, files.key, later))).toContain(
      "expired at 2060",
    );
  });

  test("a missing file, or a folder: refused, with the error code", async () => {
    await writeFile(join(base, "there.pem"), signer.key);
    const there = join(base, "there.pem");
    const openPaths = (certificate: string, key: string) =>
      refusal(openVideoSigner({ certificate, key }, base, { warn: () => {} }, NOW));
    expect(await openPaths(join(base, "hunter2"), there)).toBe(
      "C2PA_CERTIFICATE must be the path of a file that this user can read (ENOENT).",
    );
    expect(await openPaths(base, there)).toContain("C2PA_CERTIFICATE must be the path of a file");
    expect(await openPaths(there, join(base, "hunter2"))).toContain("C2PA_KEY must be the path of a file");
  });
});

describe("the self-signed certificate", () => {
  test("eight processes that start together: share one certificate, in a file that only this user can read", async () => {
    const folder = join(base, "together");
    const signers = await Promise.all(Array.from({ length: 8 }, () => selfSigned(folder)));
    expect(new Set(signers.map(({ chain }) => Buffer.from(chain[0] ?? []).toString("hex"))).size).toBe(1);
    expect(await readdir(folder)).toEqual([SELF_SIGNED_FILE]);
    expect((await stat(join(folder, SELF_SIGNED_FILE))).mode & 0o777).toBe(0o600);
  });

  test("its content: valid for ten years from a day ago; names the product, and neither the machine nor a person", async () => {
    const { chain, validFrom, validTo, algorithm } = await selfSigned(join(base, "content"));
    expect([algorithm, validFrom.toISOString(), validTo.toISOString()]).toEqual([
      "ES256",
      "2026-05-31T12:00:00.000Z",
      "2036-06-01T12:00:00.000Z",
    ]);
    const certificate = new X509Certificate(chain[0] ?? "");
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.subject).toBe(certificate.issuer);
    expect(certificate.subject.split("\n")).toEqual([
      "O=Realtime Avatar Service",
      "CN=Self-signed certificate of an installation",
    ]);
    expect(certificate.subjectAltName).toBeUndefined();
  });

  test("expired or damaged: refused; the error says how to get another certificate", async () => {
    const folder = join(base, "expired");
    await selfSigned(folder);
    const later = new Date("2036-06-02T00:00:00Z");
    expect(await refusal(selfSigned(folder, later))).toContain(`${SELF_SIGNED_FILE} in DATA_DIR, which the next start`);
    await writeFile(join(folder, SELF_SIGNED_FILE), "");
    expect(await refusal(selfSigned(folder))).toContain("it has none");
  });

  test("a certificate that expires after 2049: its time has four digits of the year", async () => {
    const { validTo } = await selfSigned(join(base, "far"), new Date("2045-01-01T00:00:00Z"));
    expect(validTo.toISOString()).toBe("2055-01-01T00:00:00.000Z");
  });

  // Even root cannot write there.
  test.skipIf(process.platform !== "linux")(
    "a read-only data directory: a warning, and a certificate for this start only",
    async () => {
      const warnings: unknown[] = [];
      const [first, second] = [await selfSigned("/sys/kernel", NOW, warnings), await selfSigned("/sys/kernel")];
      expect(Buffer.from(first.chain[0] ?? []).equals(second.chain[0] ?? new Uint8Array())).toBe(false);
      expect(warnings).toEqual([expect.stringContaining("DATA_DIR cannot be written")]);
    },
  );
});
