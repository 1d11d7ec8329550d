/** A self-signed certificate for the TLS servers of tests, created in memory. `ca` is the certificate itself. */
import { generateKeyPairSync, sign } from "node:crypto";

/** A DER element: tag, length, content (ITU-T X.690). */
const der = (tag: number, ...contents: Uint8Array[]): Uint8Array => {
  const content = Buffer.concat(contents);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Uint8Array.from([tag, ...length]), content]);
};
const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents);
const oid = (...bytes: number[]) => der(0x06, Uint8Array.from(bytes));
const text = (tag: number, value: string) => der(tag, Buffer.from(value, "latin1"));

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const ALTERNATIVE_NAMES = oid(0x55, 0x1d, 0x11);
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const TRUE = der(0x01, Uint8Array.of(0xff));

/** A self-signed certificate (X.509 version 3, RFC 5280) for `names`, and its key, both as PEM. */
export const selfSigned = (names: readonly string[]): { cert: string; key: string } => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, text(0x0c, "Test authority"))));
  const alternatives = sequence(...names.map((value) => text(0x82, value)));
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE))),
    sequence(ALTERNATIVE_NAMES, der(0x04, alternatives)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Uint8Array.of(2))),
    der(0x02, Uint8Array.of(1)),
    ECDSA_WITH_SHA256,
    name,
    sequence(text(0x17, "200101000000Z"), text(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = Buffer.concat([Uint8Array.of(0), sign("sha256", body, privateKey)]);
  const certificate = Buffer.from(sequence(body, ECDSA_WITH_SHA256, der(0x03, signature))).toString("base64");
  const lines = certificate.match(/.{1,64}/g)?.join("\n") ?? "";
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
};
