/** A certificate authority for tests, and signers that it certifies. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  authorityExtensions,
  C2PA_CLAIM_SIGNING,
  EMAIL_PROTECTION,
  type Issuer,
  issueCertificate,
  objectIdentifier,
  signerExtensions,
} from "./certificate.ts";

/** The validity of the certificates of tests. */
export const VALID_FROM = new Date("2020-01-01T00:00:00Z");
export const VALID_TO = new Date("2060-01-01T00:00:00Z");

export type KeyKind = "P-256" | "P-384" | "P-521" | "Ed25519" | "RSA" | "RSA-1024";

/** Keys of a kind. Generating RSA keys takes a second. */
export const createKeyPair = (kind: KeyKind): { publicKey: KeyObject; privateKey: KeyObject } => {
  if (kind === "Ed25519") return generateKeyPairSync("ed25519");
  if (kind === "RSA" || kind === "RSA-1024") {
    return generateKeyPairSync("rsa", { modulusLength: kind === "RSA" ? 2048 : 1024 });
  }
  return generateKeyPairSync("ec", { namedCurve: kind });
};

export type Authority = { issuer: Issuer; certificate: string };

/** An authority, its certificate issued by `parent` or by itself. */
export const createAuthority = (commonName = "Authority of tests", parent?: Authority): Authority => {
  const { publicKey, privateKey } = createKeyPair("P-256");
  const name = { organization: "Tests", commonName };
  const issuer = parent?.issuer ?? { name, privateKey };
  const certificate = issueCertificate({
    subject: name,
    publicKey,
    issuer,
    validFrom: VALID_FROM,
    validTo: VALID_TO,
    extensions: authorityExtensions(publicKey, issuer),
  });
  return { issuer: { name, privateKey }, certificate };
};

export type SignerOptions = {
  kind?: KeyKind;
  validFrom?: Date;
  validTo?: Date;
  purposes?: string[];
  /** Object identifier of the extension to leave out. */
  without?: string;
  isAuthority?: boolean;
};

/** A certificate of a signer, issued by the authority, and its key, in PEM. */
export const createSignerFiles = (
  { issuer }: Authority,
  options: SignerOptions = {},
): { certificate: string; key: string } => {
  const { kind = "P-256", purposes = [C2PA_CLAIM_SIGNING, EMAIL_PROTECTION], without = null } = options;
  const { publicKey, privateKey } = createKeyPair(kind);
  const extensions = options.isAuthority
    ? authorityExtensions(publicKey, issuer)
    : signerExtensions(publicKey, issuer, purposes);
  const certificate = issueCertificate({
    subject: { organization: "Tests", commonName: "Signer of tests" },
    publicKey,
    issuer,
    validFrom: options.validFrom ?? VALID_FROM,
    validTo: options.validTo ?? VALID_TO,
    extensions: extensions.filter((bytes) => without === null || !bytes.includes(objectIdentifier(without))),
  });
  return { certificate, key: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
};
