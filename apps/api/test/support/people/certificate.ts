/** A self-signed attestation certificate (WebAuthn Level 3, 8.2.1), as a hostile authenticator can make one. */
import { type KeyObject, sign } from "node:crypto";

/** An item of DER (ITU-T X.690): tag, length, content. */
const der = (tag: number, ...contents: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  const length = content.length;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
};
const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items);
const set = (item: Uint8Array): Buffer => der(0x31, item);
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]));
const text = (value: string, tag = 0x0c): Buffer => der(tag, Buffer.from(value));
const time = (value: string): Buffer => der(0x17, Buffer.from(value));
const octets = (content: Uint8Array): Buffer => der(0x04, content);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);

/** An object identifier; its first two numbers are below 40 and 3. */
const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = rest.flatMap((number) => {
    const groups = [number & 127];
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 127) | 128);
    return groups;
  });
  return der(0x06, Buffer.from([40 * first + second, ...bytes]));
};

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const NAME = sequence(
  set(sequence(oid("2.5.4.6"), text("NO", 0x13))),
  set(sequence(oid("2.5.4.10"), text("Example"))),
  set(sequence(oid("2.5.4.11"), text("Authenticator Attestation"))),
  set(sequence(oid("2.5.4.3"), text("Authenticator"))),
);

/** The certificate of a P-256 key pair, in DER. `listUrl`: the address of its revocation list. */
export const attestationCertificate = (
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
  listUrl: string,
): Buffer => {
  const point = der(0xa0, der(0xa0, text(listUrl, 0x86)));
  const extensions = sequence(
    sequence(oid("2.5.29.19"), der(0x01, Buffer.from([255])), octets(sequence())),
    sequence(oid("2.5.29.31"), octets(sequence(sequence(point)))),
  );
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    NAME,
    sequence(time("250101000000Z"), time("491231235959Z")),
    NAME,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  return sequence(body, ECDSA_WITH_SHA256, bits(sign("sha256", body, privateKey)));
};
