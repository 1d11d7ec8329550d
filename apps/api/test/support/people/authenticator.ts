/**
 * A software authenticator for tests. It creates passkeys and signs as in WebAuthn Level 3, with real CBOR, COSE and
 * ES256. It can also deviate from the standard.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export type Cbor = number | string | Uint8Array | readonly Cbor[] | Map<number | string, Cbor>;

/** The head of a CBOR item (RFC 8949 §3): major type and argument. */
const head = (major: number, argument: number): Buffer => {
  if (argument < 24) return Buffer.from([(major << 5) | argument]);
  if (argument < 256) return Buffer.from([(major << 5) | 24, argument]);
  return Buffer.from([(major << 5) | 25, argument >> 8, argument & 255]);
};

export const cbor = (value: Cbor): Buffer => {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (!(value instanceof Map)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([name, one]) => [cbor(name), cbor(one)])]);
};

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest();

/** A COSE key (RFC 9053): EC2, ES256, P-256. */
const coseKey = (publicKey: KeyObject): Buffer => {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  return cbor(
    new Map<number | string, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, "base64url")],
      [-3, Buffer.from(y, "base64url")],
    ]),
  );
};

const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

/** A deviation of the authenticator in a test. */
export type Deviation = {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  isUserVerified?: boolean;
  counter?: number;
  /** The format and the statement of the attestation, from the signed bytes. */
  attestation?: (signed: Uint8Array) => [format: string, statement: Map<string, Cbor>];
};

type PublicKeyOptions = {
  challenge: string;
  rp?: { id?: string };
  rpId?: string;
  user?: { id: string };
  allowCredentials?: { id: string }[];
};

export const createAuthenticator = (origin: string, { hasCounter = true, idLength = 16 } = {}) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(idLength);
  let userHandle = "";
  let counter = 0;

  const clientData = (type: string, { challenge }: PublicKeyOptions, deviation: Deviation): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: deviation.type ?? type,
        challenge: deviation.challenge ?? challenge,
        origin: deviation.origin ?? origin,
        crossOrigin: deviation.crossOrigin ?? false,
      }),
    );

  const authenticatorData = (rpId: string, flags: number, deviation: Deviation, rest: Uint8Array): Buffer => {
    if (hasCounter) counter++;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(deviation.counter ?? counter);
    const verified = deviation.isUserVerified === false ? 0 : VERIFIED;
    return Buffer.concat([sha256(deviation.rpId ?? rpId), Buffer.from([PRESENT | verified | flags]), count, rest]);
  };

  const envelope = (response: object) => ({
    id: base64url(id),
    rawId: base64url(id),
    type: "public-key",
    clientExtensionResults: {},
    authenticatorAttachment: "platform",
    response,
  });

  return {
    credentialId: base64url(id),
    /** The response to `navigator.credentials.create`. */
    create: (options: PublicKeyOptions, deviation: Deviation = {}) => {
      userHandle = options.user?.id ?? "";
      const clientDataJSON = clientData("webauthn.create", options, deviation);
      const length = Buffer.from([id.length >> 8, id.length & 255]);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)]);
      const authData = authenticatorData(options.rp?.id ?? "", WITH_CREDENTIAL, deviation, attested);
      const signed = Buffer.concat([authData, sha256(clientDataJSON)]);
      const [format, statement] = deviation.attestation?.(signed) ?? ["none", new Map<string, Cbor>()];
      const attestationObject = cbor(
        new Map<string, Cbor>([
          ["fmt", format],
          ["attStmt", statement],
          ["authData", authData],
        ]),
      );
      return envelope({
        clientDataJSON: base64url(clientDataJSON),
        attestationObject: base64url(attestationObject),
        transports: ["internal"],
      });
    },
    /** The response to `navigator.credentials.get`. */
    get: (options: PublicKeyOptions, deviation: Deviation = {}) => {
      const clientDataJSON = clientData("webauthn.get", options, deviation);
      const data = authenticatorData(options.rpId ?? "", 0, deviation, Buffer.alloc(0));
      const signature = sign("sha256", Buffer.concat([data, sha256(clientDataJSON)]), privateKey);
      return envelope({
        clientDataJSON: base64url(clientDataJSON),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        userHandle,
      });
    },
    /** A signature with its key. */
    sign: (bytes: Uint8Array): Buffer => sign("sha256", bytes, privateKey),
    /** Makes the authenticator sign for another user. */
    claimUser: (handle: string) => {
      userHandle = handle;
    },
  };
};

export type Authenticator = ReturnType<typeof createAuthenticator>;
