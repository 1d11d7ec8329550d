/** The certificate and the key that sign the C2PA manifests of generated videos. */
import { constants, createPrivateKey, type KeyObject, sign, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createFolder, errorCode, writeOnce } from "@realtime-avatar/storage/disk/files";
import { ConfigError, readVariable, refuse, type Variables } from "../config.ts";
import type { Logger } from "../log.ts";
import {
  C2PA_CLAIM_SIGNING,
  createSelfSigned,
  DOCUMENT_SIGNING,
  EMAIL_PROTECTION,
  objectIdentifier,
} from "./certificate.ts";
import { NOT_WRITABLE } from "./data-directory.ts";

/** The paths of `C2PA_CERTIFICATE` and `C2PA_KEY`; null: a self-signed certificate in the data directory. */
export type VideoSignerConfig = { certificate: string; key: string } | null;

/** The algorithms of COSE (RFC 9053, RFC 9864) that C2PA allows, by the kinds of keys. */
export type SignatureAlgorithm = "ES256" | "ES384" | "ES512" | "PS256" | "EdDSA";

export type VideoSigner = {
  algorithm: SignatureAlgorithm;
  /** The certificates in DER, that of the signer first, each issued by the next one. */
  chain: readonly Uint8Array[];
  validFrom: Date;
  validTo: Date;
  /** Size of each signature in bytes. */
  signatureBytes: number;
  /** Signs as COSE requires: ECDSA as the two numbers, RSA-PSS with a salt of 32 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
};

/** The file of the self-signed certificate and its key, in the data directory. */
export const SELF_SIGNED_FILE = "c2pa-signer.pem";
const MAX_FILE_BYTES = 65_536;
const MAX_CERTIFICATES = 8;
const MIN_RSA_BITS = 2048;
const PURPOSES = [C2PA_CLAIM_SIGNING, EMAIL_PROTECTION, DOCUMENT_SIGNING];
/** `anyExtendedKeyUsage`, which C2PA forbids. */
const ANY_PURPOSE = "2.5.29.37.0";
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const KEY_USAGE = objectIdentifier("2.5.29.15");
const AUTHORITY_KEY_IDENTIFIER = objectIdentifier("2.5.29.35");

const readPath = (variables: Variables, name: string): string | null =>
  readVariable<string | null>(variables, name, null, "a path", (text) => (text.includes("\0") ? undefined : text));

/** Throws a `ConfigError` when one of the two variables is set without the other. */
export const readVideoSignerConfig = (variables: Variables): VideoSignerConfig => {
  const [certificate, key] = [readPath(variables, "C2PA_CERTIFICATE"), readPath(variables, "C2PA_KEY")];
  if (variables["C2PA_KEY"] && !variables["C2PA_CERTIFICATE"]) {
    refuse(variables, "C2PA_CERTIFICATE", "set when C2PA_KEY is set");
  }
  if (variables["C2PA_CERTIFICATE"] && !variables["C2PA_KEY"]) {
    refuse(variables, "C2PA_KEY", "set when C2PA_CERTIFICATE is set");
  }
  return certificate === null || key === null ? null : { certificate, key };
};

const invalid = (setting: string, form: string): ConfigError => new ConfigError([`${setting} must be ${form}.`]);

const readSetting = async (setting: string, path: string): Promise<string> => {
  try {
    const found = await stat(path);
    // Otherwise the start would wait for a pipe.
    if (found.isFile() && found.size <= MAX_FILE_BYTES) return await readFile(path, "utf8");
  } catch (error) {
    throw invalid(setting, `the path of a file that this user can read (${errorCode(error) ?? "unknown"})`);
  }
  throw invalid(setting, `the path of a file of at most ${MAX_FILE_BYTES} bytes`);
};

/** The algorithms for a kind of key; null for a kind that C2PA forbids. */
const scheme = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) => {
  if (type === "ed25519") return { algorithm: "EdDSA", hash: null, signatureBytes: 64 } as const;
  if (type === "rsa") {
    const bits = details?.modulusLength ?? 0;
    return bits < MIN_RSA_BITS ? null : ({ algorithm: "PS256", hash: "sha256", signatureBytes: bits / 8 } as const);
  }
  if (type !== "ec") return null;
  if (details?.namedCurve === "prime256v1") return { algorithm: "ES256", hash: "sha256", signatureBytes: 64 } as const;
  if (details?.namedCurve === "secp384r1") return { algorithm: "ES384", hash: "sha384", signatureBytes: 96 } as const;
  if (details?.namedCurve === "secp521r1") return { algorithm: "ES512", hash: "sha512", signatureBytes: 132 } as const;
  return null;
};

/** Whether the extension of the usages of the key has `digitalSignature`, its first bit. `X509Certificate` does not expose it. */
const hasDigitalSignature = (certificate: Uint8Array): boolean => {
  const found = Buffer.from(certificate).indexOf(KEY_USAGE);
  if (found === -1) return false;
  const value = certificate.subarray(found + KEY_USAGE.length);
  // OCTET STRING { BIT STRING { number of unused bits, bits } }, after `critical` if that is set.
  const octets = value[0] === 0x01 ? value.subarray(3) : value;
  return octets[0] === 0x04 && octets[2] === 0x03 && ((octets[5] ?? 0) & 0x80) !== 0;
};

/** The first violation of C2PA's certificate profile; null for a valid certificate. */
const unsuitable = (certificate: X509Certificate): string | null => {
  if (certificate.ca) return "the signer's certificate first, which must not be an authority";
  const purposes = certificate.keyUsage ?? [];
  if (purposes.includes(ANY_PURPOSE) || !purposes.some((purpose) => PURPOSES.includes(purpose))) {
    return `for C2PA: the first needs an extended key usage of ${PURPOSES.join(" or ")}, and not any`;
  }
  if (!hasDigitalSignature(certificate.raw)) return "for C2PA: the first needs the key usage digitalSignature";
  if (!certificate.raw.includes(AUTHORITY_KEY_IDENTIFIER))
    return "for C2PA: the first needs an authority key identifier";
  return null;
};

const parseChain = (setting: string, text: string, now: Date): readonly [X509Certificate, ...X509Certificate[]] => {
  const form = `${setting} must be a file of certificates in PEM`;
  const certificates = (text.match(PEM_CERTIFICATE) ?? []).map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new ConfigError([`${form}: one cannot be parsed.`]);
    }
  });
  const [first, ...others] = certificates;
  if (first === undefined) throw new ConfigError([`${form}: it has none.`]);
  if (certificates.length > MAX_CERTIFICATES) throw new ConfigError([`${form}, at most ${MAX_CERTIFICATES}.`]);
  const reason = unsuitable(first);
  if (reason !== null) throw new ConfigError([`${form}, ${reason}.`]);
  for (const [index, certificate] of certificates.entries()) {
    const issuer = certificates[index + 1];
    if (issuer !== undefined && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))) {
      throw new ConfigError([`${form}, each issued by the next one: number ${index + 1} is not.`]);
    }
    const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
    if (from > now) throw new ConfigError([`${form} that are valid: one is valid from ${from.toISOString()}.`]);
    if (to < now) throw new ConfigError([`${form} that are valid: one expired at ${to.toISOString()}.`]);
  }
  return [first, ...others];
};

const parseKey = (setting: string, text: string): KeyObject => {
  try {
    return createPrivateKey(text);
  } catch {
    // The message of the library is left out, because it could quote the key.
    throw invalid(setting, "a file with a private key in PEM, without a passphrase");
  }
};

type Source = { certificate: string; key: string };

/**
 * Checks the algorithm of the key, the certificate of the key, and the validity of the chain. Throws a `ConfigError`
 * that names the setting.
 */
const createSigner = (source: Source, settings: Source, now: Date): VideoSigner => {
  const certificates = parseChain(settings.certificate, source.certificate, now);
  const key = parseKey(settings.key, source.key);
  const found = scheme(key);
  if (found === null) {
    throw invalid(settings.key, `a key of P-256, P-384, P-521, Ed25519, or RSA with at least ${MIN_RSA_BITS} bits`);
  }
  if (!certificates[0].checkPrivateKey(key)) {
    throw invalid(settings.key, `the key of the first certificate of ${settings.certificate}`);
  }
  const { hash, ...rest } = found;
  return {
    ...rest,
    chain: certificates.map(({ raw }) => raw),
    validFrom: new Date(certificates[0].validFrom),
    validTo: new Date(certificates[0].validTo),
    sign: (bytes) =>
      sign(hash, bytes, {
        key,
        dsaEncoding: "ieee-p1363",
        ...(rest.algorithm === "PS256" ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}),
      }),
  };
};

/** The self-signed certificate and key that the first start writes into the data directory, of mode 0600. */
const openSelfSigned = async (dataDirectory: string, log: Pick<Logger, "warn">, now: Date): Promise<string> => {
  try {
    await createFolder(dataDirectory, 0o777);
    return await writeOnce(dataDirectory, join(dataDirectory, SELF_SIGNED_FILE), createSelfSigned(now));
  } catch (error) {
    if (!NOT_WRITABLE.includes(errorCode(error))) throw error;
    log.warn(
      "DATA_DIR cannot be written: each start signs videos with another self-signed certificate. Set C2PA_CERTIFICATE",
    );
    return createSelfSigned(now);
  }
};

/**
 * The operator's certificate and key, or the self-signed ones of the data directory. Throws a `ConfigError` that says
 * what to change when a file cannot be read, the certificate has expired or violates the profile of C2PA, or the key is
 * that of another certificate.
 */
export const openVideoSigner = async (
  config: VideoSignerConfig,
  dataDirectory: string,
  log: Pick<Logger, "warn">,
  now: Date,
): Promise<VideoSigner> => {
  if (config === null) {
    const text = await openSelfSigned(dataDirectory, log, now);
    const file = `The file ${SELF_SIGNED_FILE} in DATA_DIR, which the next start creates when it is deleted,`;
    return createSigner({ certificate: text, key: text }, { certificate: file, key: file }, now);
  }
  const [certificate, key] = await Promise.all([
    readSetting("C2PA_CERTIFICATE", config.certificate),
    readSetting("C2PA_KEY", config.key),
  ]);
  return createSigner({ certificate, key }, { certificate: "C2PA_CERTIFICATE", key: "C2PA_KEY" }, now);
};
