/** Certificates for C2PA, in DER (X.690), by RFC 5280 and the profile of C2PA 2.2, section 14.5. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** Object identifiers of the purposes for which C2PA accepts a certificate of a signer. */
export const EMAIL_PROTECTION = "1.3.6.1.5.5.7.3.4";
export const DOCUMENT_SIGNING = "1.3.6.1.5.5.7.3.36";
export const C2PA_CLAIM_SIGNING = "1.3.6.1.4.1.62558.2.1";

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const ORGANIZATION = "2.5.4.10";
const COMMON_NAME = "2.5.4.3";
const SUBJECT_KEY_IDENTIFIER = "2.5.29.14";
const KEY_USAGE = "2.5.29.15";
const BASIC_CONSTRAINTS = "2.5.29.19";
const AUTHORITY_KEY_IDENTIFIER = "2.5.29.35";
const EXTENDED_KEY_USAGE = "2.5.29.37";

export type Name = { organization: string; commonName: string };
/** The issuer of a certificate, with a key of P-256. */
export type Issuer = { name: Name; privateKey: KeyObject };

const VALID_YEARS = 10;
const DAY_MS = 86_400_000;

const TAG = { true: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, text: 0x0c, time: 0x18 } as const;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;

/** A value with its tag and its length: at most 65535 bytes. */
const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
};

/** The DER of an object identifier, such as `2.5.29.15`. */
export const objectIdentifier = (text: string): Buffer => {
  const [first = 0, second = 0, ...others] = text.split(".").map(Number);
  const bytes = [40 * first + second, ...others].flatMap((number) => {
    const groups = [number & 127];
    for (let rest = number >>> 7; rest > 0; rest >>>= 7) groups.unshift((rest & 127) | 128);
    return groups;
  });
  return der(TAG.oid, Buffer.from(bytes));
};

/** RFC 5280 requires two digits of the year before 2050. */
const time = (date: Date): Buffer => {
  const digits = date.toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "");
  return date.getUTCFullYear() < 2050
    ? der(UTC_TIME, Buffer.from(digits.slice(2), "latin1"))
    : der(TAG.time, Buffer.from(digits, "latin1"));
};

/** The name of a subject or an issuer. Readers show the organization. */
const distinguishedName = ({ organization, commonName }: Name): Buffer => {
  const attribute = (oid: string, text: string): Buffer =>
    der(SET, der(SEQUENCE, objectIdentifier(oid), der(TAG.text, Buffer.from(text))));
  return der(SEQUENCE, attribute(ORGANIZATION, organization), attribute(COMMON_NAME, commonName));
};

const extension = (oid: string, value: Buffer, isCritical = false): Buffer =>
  der(
    SEQUENCE,
    objectIdentifier(oid),
    ...(isCritical ? [der(TAG.true, Buffer.from([0xff]))] : []),
    der(TAG.octets, value),
  );

/** A public key in DER, with its algorithm. */
const publicKeyInfo = (key: KeyObject): Buffer => key.export({ format: "der", type: "spki" });

/** The first 20 bytes of a hash of the key (RFC 7093). */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash("sha256").update(publicKeyInfo(key)).digest().subarray(0, 20);

/** The extensions of a signer: not an authority, `digitalSignature`, the purposes, and the keys of the signer and the issuer. */
export const signerExtensions = (publicKey: KeyObject, issuer: Issuer, purposes: readonly string[]): Buffer[] => [
  extension(BASIC_CONSTRAINTS, der(SEQUENCE), true),
  extension(KEY_USAGE, der(TAG.bits, Buffer.from([7, 0x80])), true),
  extension(EXTENDED_KEY_USAGE, der(SEQUENCE, ...purposes.map(objectIdentifier))),
  extension(SUBJECT_KEY_IDENTIFIER, der(TAG.octets, keyIdentifier(publicKey))),
  extension(AUTHORITY_KEY_IDENTIFIER, der(SEQUENCE, der(0x80, keyIdentifier(createPublicKey(issuer.privateKey))))),
];

/** The extensions of an authority, which signs certificates. */
export const authorityExtensions = (publicKey: KeyObject, issuer: Issuer): Buffer[] => [
  extension(BASIC_CONSTRAINTS, der(SEQUENCE, der(TAG.true, Buffer.from([0xff]))), true),
  extension(KEY_USAGE, der(TAG.bits, Buffer.from([2, 0x04])), true),
  extension(SUBJECT_KEY_IDENTIFIER, der(TAG.octets, keyIdentifier(publicKey))),
  extension(AUTHORITY_KEY_IDENTIFIER, der(SEQUENCE, der(0x80, keyIdentifier(createPublicKey(issuer.privateKey))))),
];

export type CertificateContent = {
  subject: Name;
  publicKey: KeyObject;
  issuer: Issuer;
  validFrom: Date;
  validTo: Date;
  extensions: readonly Buffer[];
};

/** A certificate in PEM. */
export const issueCertificate = (content: CertificateContent): string => {
  const { subject, publicKey, issuer, validFrom, validTo } = content;
  // Positive, and without a leading zero byte, which DER forbids.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const algorithm = der(SEQUENCE, objectIdentifier(ECDSA_WITH_SHA256));
  const signed = der(
    SEQUENCE,
    der(0xa0, der(TAG.integer, Buffer.from([2]))), // Version 3.
    der(TAG.integer, serial),
    algorithm,
    distinguishedName(issuer.name),
    der(SEQUENCE, time(validFrom), time(validTo)),
    distinguishedName(subject),
    publicKeyInfo(publicKey),
    der(0xa3, der(SEQUENCE, ...content.extensions)),
  );
  const signature = sign("sha256", signed, issuer.privateKey);
  const certificate = der(SEQUENCE, signed, algorithm, der(TAG.bits, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
};

/**
 * A new key of P-256 and its certificate, as one PEM text: the certificate first. It names the product, and neither the machine
 * nor a person. It is valid for ten years, from a day before `now`: clocks of readers may be late.
 */
export const createSelfSigned = (now: Date): string => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = { organization: "Realtime Avatar Service", commonName: "Self-signed certificate of an installation" };
  const issuer = { name, privateKey };
  const validTo = new Date(now);
  validTo.setUTCFullYear(validTo.getUTCFullYear() + VALID_YEARS);
  const certificate = issueCertificate({
    subject: name,
    publicKey,
    issuer,
    validFrom: new Date(now.getTime() - DAY_MS),
    validTo,
    // The purpose of C2PA since 2.1, and that of older readers. Readers require the key identifier of the issuer, also
    // in a self-signed certificate.
    extensions: signerExtensions(publicKey, issuer, [C2PA_CLAIM_SIGNING, EMAIL_PROTECTION]),
  });
  return certificate + privateKey.export({ format: "pem", type: "pkcs8" }).toString();
};
