/**
 * An OpenID Connect provider for tests. It signs any token for a test, without a person. It can also act dishonestly.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { OIDC_CLIENT } from "@realtime-avatar/testing/oidc/provider";

type Claims = Record<string, unknown>;

export type FakeProvider = {
  issuer: string;
  /** Additional claims of the next tokens. `undefined` omits a claim. */
  claims: Claims;
  /** The nonce of the next tokens. The test takes it from the authorization URL. */
  nonce: string | null;
  /** Replaces the responses of a path: `/token`, `/jwks`, `/.well-known/openid-configuration`. */
  answers: Map<string, () => Response | Promise<Response>>;
  /** The requests to the token endpoint. */
  exchanges: URLSearchParams[];
  /** The id of the key in the next tokens. */
  keyId: string;
  /** Changes the signature of tokens. */
  breaksSignature: boolean;
  /** Resets the counts. */
  reset(): void;
  stop(): Promise<void>;
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts a provider that accepts each code, any number of times. */
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

/** The metadata of a working provider. */
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
