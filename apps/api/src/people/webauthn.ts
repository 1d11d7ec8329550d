/** The ceremonies of WebAuthn: registration and authentication with passkeys (w3.org/TR/webauthn-3). */

import type { Assertion } from "@realtime-avatar/db/people/passkeys";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import {
  CHALLENGE_MS,
  type Challenge,
  type ChallengeUse,
  createChallenge,
  readChallenge,
} from "@realtime-avatar/domain/people/challenge";
import {
  type PasskeyRecord,
  parseUserHandle,
  type UserRecord,
  userHandle,
} from "@realtime-avatar/domain/people/people";
import { MAX_CREDENTIAL_ID_BYTES, MAX_PUBLIC_KEY_BYTES } from "@realtime-avatar/domain/people/schemas";
import { Problem } from "@realtime-avatar/domain/problem";
import type { JsonObject } from "@realtime-avatar/domain/schema";
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { decodeAttestationObject, isoBase64URL } from "@simplewebauthn/server/helpers";

const RELYING_PARTY_NAME = "Realtime Avatar Service";
/** ES256, EdDSA and RS256, which authenticators support. */
const ALGORITHMS = [-7, -8, -257];
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;
type Transport = (typeof TRANSPORTS)[number];
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** The same text for every reason, so that an attacker learns nothing from it. */
export const invalidPasskey = (cause?: unknown, reason = ""): Problem =>
  new Problem("invalid_passkey", `The response of the passkey was not accepted.${reason}`, {}, { cause });

/** The library has no code for this error. */
const UNVERIFIED = /^User verification (was )?required/;
const UNVERIFIED_REASON =
  " The authenticator did not verify the user: use its PIN, fingerprint or face, or another authenticator.";

type Dependencies = {
  publicUrl: () => string;
  sessionSecret: { reveal(): string };
  clock: () => Date;
  random: RandomBytes;
};

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, "base64url"));
const rpIdOf = (publicUrl: string): string => new URL(publicUrl).hostname;

/** The member `name` of an object, as base64url. Throws the problem `invalid_passkey` for any other value. */
const textIn = (object: JsonObject, name: string): string => {
  const value = object[name];
  if (typeof value !== "string" || !BASE64URL.test(value)) throw invalidPasskey();
  return value;
};

const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = object[name];
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalidPasskey();
  return value as JsonObject;
};

/** The parts of a credential that both ceremonies have. */
const readCredential = (credential: JsonObject) => {
  const response = objectIn(credential, "response");
  const id = textIn(credential, "id");
  const common = { id, rawId: textIn(credential, "rawId"), type: "public-key" as const, clientExtensionResults: {} };
  if (credential["type"] !== "public-key") throw invalidPasskey();
  return { common, response, clientDataJSON: textIn(response, "clientDataJSON") };
};

/** Reads the challenge that the authenticator has signed, if this service has signed it for this use. */
const challengeIn = (
  { sessionSecret, clock }: Dependencies,
  clientDataJSON: string,
  use: ChallengeUse,
): { text: string; spent: Challenge } => {
  let data: unknown;
  try {
    data = JSON.parse(Buffer.from(clientDataJSON, "base64url").toString());
  } catch {
    throw invalidPasskey();
  }
  const { challenge, crossOrigin } = (data ?? {}) as { challenge?: unknown; crossOrigin?: unknown };
  // `crossOrigin` means that another origin has framed the page. The dashboard is never framed.
  if (typeof challenge !== "string" || crossOrigin === true) throw invalidPasskey();
  const spent = readChallenge(sessionSecret, challenge, use, clock());
  if (!spent) throw invalidPasskey();
  return { text: challenge, spent };
};

/** Runs a verification of the library. Throws when the library rejects or throws. */
const accepted = async <Result extends { verified: boolean }>(
  verify: () => Promise<Result>,
): Promise<Extract<Result, { verified: true }> | Result> => {
  let result: Result;
  try {
    result = await verify();
  } catch (error) {
    throw invalidPasskey(error, error instanceof Error && UNVERIFIED.test(error.message) ? UNVERIFIED_REASON : "");
  }
  if (!result.verified) throw invalidPasskey();
  return result;
};

/**
 * Refuses attestation statements with certificates. The service requests none, so browsers remove them. The library
 * would verify them, and fetch their revocation lists from any address.
 */
const checkAttestation = (attestationObject: string): void => {
  let isAccepted: boolean;
  try {
    // The types promise maps, but the client's CBOR can be anything. A value that is not a map throws here.
    const decoded = decodeAttestationObject(bytesOf(attestationObject));
    const format = decoded.get("fmt");
    isAccepted = format === "none" || (format === "packed" && decoded.get("attStmt").get("x5c") === undefined);
  } catch (error) {
    throw invalidPasskey(error);
  }
  if (!isAccepted) throw invalidPasskey();
};

const isTransport = (value: unknown): value is Transport => TRANSPORTS.some((transport) => transport === value);

/** A passkey as an authenticator has created it. */
export type NewPasskey = Pick<PasskeyRecord, "credentialId" | "publicKey" | "counter" | "transports" | "isBackedUp"> & {
  challenge: Challenge;
};

const descriptorOf = ({ credentialId, transports }: PasskeyRecord) => ({
  id: isoBase64URL.fromBuffer(new Uint8Array(credentialId)),
  transports: [...transports],
});

/** A new challenge, as bytes. */
const newChallenge = ({ sessionSecret, clock, random }: Dependencies, use: ChallengeUse): Uint8Array<ArrayBuffer> =>
  bytesOf(createChallenge(sessionSecret, use, clock(), random));

const createRegistration = (dependencies: Dependencies) => {
  const { publicUrl } = dependencies;
  return {
    /** Options to create a passkey for a user who has `existing` passkeys. */
    registrationOptions: async (
      user: Pick<UserRecord, "tenantId" | "id" | "email" | "name">,
      existing: readonly PasskeyRecord[],
      use: ChallengeUse,
    ): Promise<JsonObject> => {
      const options = await generateRegistrationOptions({
        rpName: RELYING_PARTY_NAME,
        rpID: rpIdOf(publicUrl()),
        userID: userHandle(user),
        userName: user.email,
        userDisplayName: user.name,
        challenge: newChallenge(dependencies, use),
        timeout: CHALLENGE_MS,
        attestationType: "none",
        excludeCredentials: existing.map(descriptorOf),
        // A sign-in does not name a user, so the authenticator must store the user. The passkey is the only factor.
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        supportedAlgorithmIDs: ALGORITHMS,
      });
      return { ...options };
    },

    /** The passkey that an authenticator has created. Throws the problem `invalid_passkey`. */
    verifyRegistration: async (credential: JsonObject, use: ChallengeUse): Promise<NewPasskey> => {
      const { common, response, clientDataJSON } = readCredential(credential);
      const { text, spent } = challengeIn(dependencies, clientDataJSON, use);
      const attestationObject = textIn(response, "attestationObject");
      checkAttestation(attestationObject);
      const { registrationInfo } = await accepted(() =>
        verifyRegistrationResponse({
          response: { ...common, response: { clientDataJSON, attestationObject } },
          expectedChallenge: text,
          expectedOrigin: publicUrl(),
          expectedRPID: rpIdOf(publicUrl()),
          requireUserVerification: true,
          supportedAlgorithmIDs: ALGORITHMS,
        }),
      );
      if (!registrationInfo) throw invalidPasskey();
      const { credential: created, credentialBackedUp } = registrationInfo;
      // The library accepts any length; the table does not.
      const isStorable =
        bytesOf(created.id).length <= MAX_CREDENTIAL_ID_BYTES && created.publicKey.length <= MAX_PUBLIC_KEY_BYTES;
      if (!isStorable) throw invalidPasskey();
      const transports = Array.isArray(response["transports"]) ? response["transports"].filter(isTransport) : [];
      return {
        credentialId: bytesOf(created.id),
        publicKey: created.publicKey,
        counter: created.counter,
        transports: [...new Set(transports)],
        isBackedUp: credentialBackedUp,
        challenge: spent,
      };
    },
  };
};

const createAuthentication = (dependencies: Dependencies) => {
  const { publicUrl, clock } = dependencies;
  return {
    /** Options to use one of the passkeys `allowed`; if it is empty, any passkey of this service. */
    authenticationOptions: async (allowed: readonly PasskeyRecord[], use: ChallengeUse): Promise<JsonObject> => {
      const options = await generateAuthenticationOptions({
        rpID: rpIdOf(publicUrl()),
        challenge: newChallenge(dependencies, use),
        timeout: CHALLENGE_MS,
        userVerification: "required",
        ...(allowed.length > 0 ? { allowCredentials: allowed.map(descriptorOf) as [] } : {}),
      });
      return { ...options };
    },

    /** The credential id and the user in the response of an authenticator. Neither is verified yet. */
    readAssertion: (credential: JsonObject) => {
      const { common, response } = readCredential(credential);
      const handle = response["userHandle"];
      const user = typeof handle === "string" && BASE64URL.test(handle) ? parseUserHandle(handle) : null;
      return { credentialId: bytesOf(common.id), user };
    },

    /** The verified data that a passkey has signed. Throws the problem `invalid_passkey`. */
    verifyAssertion: async (
      credential: JsonObject,
      passkey: PasskeyRecord,
      use: ChallengeUse,
    ): Promise<{ assertion: Assertion; challenge: Challenge }> => {
      const { common, response, clientDataJSON } = readCredential(credential);
      const { text, spent } = challengeIn(dependencies, clientDataJSON, use);
      const { authenticationInfo } = await accepted(() =>
        verifyAuthenticationResponse({
          response: {
            ...common,
            response: {
              clientDataJSON,
              authenticatorData: textIn(response, "authenticatorData"),
              signature: textIn(response, "signature"),
            },
          },
          expectedChallenge: text,
          expectedOrigin: publicUrl(),
          expectedRPID: rpIdOf(publicUrl()),
          requireUserVerification: true,
          credential: {
            id: isoBase64URL.fromBuffer(new Uint8Array(passkey.credentialId)),
            publicKey: new Uint8Array(passkey.publicKey),
            counter: passkey.counter,
          },
        }),
      );
      const { newCounter: counter, credentialBackedUp: isBackedUp } = authenticationInfo;
      const { tenantId, id: passkeyId, userId } = passkey;
      return { assertion: { tenantId, passkeyId, userId, counter, isBackedUp, usedAt: clock() }, challenge: spent };
    },
  };
};

/** The ceremonies for the public URL of the service. The public URL alone determines origin and relying party. */
export const createPasskeyCeremonies = (dependencies: Dependencies) => ({
  ...createRegistration(dependencies),
  ...createAuthentication(dependencies),
});

export type PasskeyCeremonies = ReturnType<typeof createPasskeyCeremonies>;
