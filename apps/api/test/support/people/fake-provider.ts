/**
 * A provider of OpenID Connect for tests, which signs whatever a test wants, and asks no one. It can also do what no honest
 * provider does.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { OIDC_CLIENT } from "@realtime-avatar/testing/oidc/provider";

type Claims = Record<string, unknown>;

export type FakeProvider = {
  issuer: string;
  /** The claims of the next tokens, beside those that the protocol requires. `undefined` leaves one out. */
  claims: Claims;
  /** The nonce of the authorization whose tokens are next: the test takes it from the address. */
  nonce: string | null;
  /** Takes the place of a path: `/token`, `/jwks`, `/.well-known/openid-configuration`. */
  answers: Map<string, () => Response | Promise<Response>>;
  /** What was sent to the token endpoint. */
  exchanges: URLSearchParams[];
  /** The id of the key that the next tokens name. */
  keyId: string;
  /** Changes the signature of tokens. */
  breaksSignature: boolean;
  /** Starts to count from nothing. */
  reset(): void;
  stop(): Promise<void>;
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts a provider that accepts each code, as often as it is sent. */
export const startFakeProvider = (): FakeProvider => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" };
  const token = (): string => {
    const now = Math.floor(Date.now() / 1000);
    const required = {
      iss: fake.issuer,
      aud: OIDC_CLIENT.clientId,
      sub: "1",
      iat: now,
      exp: now + 60,
      nonce: fake.nonce,
    };
    const text = `${encode({ alg: "RS256", kid: fake.keyId })}.${encode({ ...required, ...fake.claims })}`;
    const signature = sign("sha256", Buffer.from(fake.breaksSignature ? `${text}x` : text), privateKey);
    return `${text}.${signature.toString("base64url")}`;
  };
  const server = Bun.serve({
    hostname: "localhost",
    port: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      const body = new URLSearchParams(await request.text());
      if (pathname === "/token") fake.exchanges.push(body);
      const answer = fake.answers.get(pathname);
      if (answer) return answer();
      if (pathname === "/jwks") return Response.json({ keys: [jwk] });
      if (pathname === "/token") {
        return Response.json({ access_token: "a", token_type: "bearer", id_token: token() });
      }
      return Response.json(providerMetadata(fake.issuer));
    },
  });
  const fake: FakeProvider = {
    issuer: `http://localhost:${server.port}`,
    claims: {},
    nonce: null,
    answers: new Map(),
    exchanges: [],
    keyId: "1",
    breaksSignature: false,
    reset: () => {
      Object.assign(fake, { claims: {}, nonce: null, exchanges: [], keyId: "1", breaksSignature: false });
      fake.answers.clear();
    },
    stop: () => server.stop(true),
  };
  return fake;
};

/** The metadata of a provider that works. */
export const providerMetadata = (issuer: string): Record<string, unknown> => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  authorization_response_iss_parameter_supported: true,
});
