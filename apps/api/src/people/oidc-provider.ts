/**
 * A provider of OpenID Connect (openid.net/specs/openid-connect-core-1_0.html): the authorization code flow with PKCE
 * (RFC 7636), a nonce, and the issuer in the response (RFC 9207). `openid-client` implements the protocol. This file
 * limits time and size of the provider's responses. The provider gets requests only when a person needs it, never at
 * the start of the service.
 */
import type { OidcAttempt } from "@realtime-avatar/domain/people/oidc-attempt";
import type { OidcFailure } from "@realtime-avatar/domain/people/oidc-pages";
import { Problem } from "@realtime-avatar/domain/problem";
import * as openid from "openid-client";
import type { OidcConfig } from "./oidc-config.ts";

/** The path to which the provider redirects the browser. It is registered there, so it never changes. */
const OIDC_CALLBACK_PATH = "/api/v1/oidc/callback";

/** Timeouts of one request to the provider, and of all requests of one sign-in. */
const LIMITS = { requestMs: 4000, totalMs: 8000 };
/** The maximum size of a response. Metadata and keys of large providers have about 10 KB. */
const MAX_RESPONSE_BYTES = 256 * 1024;
/** How long the metadata of the provider is cached. The library reads the keys again after five minutes. */
const METADATA_MS = 3_600_000;
/** The minimum time between two reads of the keys for tokens with an unknown key. */
const KEYS_INTERVAL_MS = 5000;
/** The age at which the library reads the keys again for a token with an unknown key. */
const AGE_TO_READ_AGAIN_SECONDS = 60;
const RETRY_AFTER_SECONDS = 5;
/** Allowed difference between the clocks of the service and of the provider: the tolerance of the library. */
const CLOCK_TOLERANCE_MS = 30_000;
/** OpenID Connect Core §2: at most 255 characters of ASCII. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;

/** Why an attempt failed. `reason`: a code for the log, never text of the provider. */
export class OidcError extends Error {
  readonly failure: OidcFailure;
  readonly reason: string;

  constructor(failure: OidcFailure, reason: string = failure) {
    super(`${failure}: ${reason}`);
    this.name = "OidcError";
    this.failure = failure;
    this.reason = reason;
  }
}

const unavailable = (reason: string): OidcError => new OidcError("provider_unavailable", reason);

/** The bytes of a response, counted as they arrive. */
const readBounded = async (response: Response): Promise<Uint8Array<ArrayBuffer>> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw unavailable("response_too_large");
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
};

/** A member of an error that is a code. Other texts can be the provider's, or contain a token. */
const codeIn = (error: unknown, name: "code" | "error"): string | undefined => {
  const code = typeof error === "object" && error !== null ? (error as Record<string, unknown>)[name] : undefined;
  return typeof code === "string" && /^[A-Za-z_]{1,64}$/.test(code) ? code : undefined;
};

/** Sends requests to the provider, within the limits. Follows no redirect. */
const createFetch =
  (requestMs: number): openid.CustomFetch =>
  async (url, options) => {
    const controller = new AbortController();
    let timer: Timer | undefined;
    // Rejects and aborts, because the end of an endless body must not depend on how `fetch` handles the signal.
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(unavailable("timeout"));
        controller.abort();
      }, requestMs);
    });
    const respond = async (): Promise<Response> => {
      const init = { ...options, redirect: "manual" as const, signal: controller.signal } as RequestInit;
      const response = await fetch(url, init);
      if (response.status >= 500 || response.status === 429) throw unavailable(`status_${response.status}`);
      const body = await readBounded(response);
      const headers = new Headers(response.headers);
      for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
      return new Response(body, { status: response.status, headers });
    };
    try {
      return await Promise.race([respond(), timeout]);
    } catch (error) {
      throw error instanceof OidcError ? error : unavailable(codeIn(error, "code") ?? "no_response");
    } finally {
      clearTimeout(timer);
      // Aborts the rest of a response that is too large.
      controller.abort();
    }
  };

/** The failure behind an error of the library. */
const toOidcError = (error: unknown): OidcError => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OidcError) return cause;
  if (codeIn(error, "code") === "OAUTH_TIMEOUT") return unavailable("timeout");
  return new OidcError("not_accepted", codeIn(error, "error") ?? codeIn(error, "code") ?? "unknown");
};

/** Runs `work`, for at most `totalMs`. */
const within = async <Result>(totalMs: number, work: () => Promise<Result>): Promise<Result> => {
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable("timeout")), totalMs);
  });
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    clearTimeout(timer);
  }
};

/** The library's configuration for requests to the provider with this metadata. */
const configure = (
  { issuer, clientId, clientSecret }: OidcConfig,
  metadata: openid.ServerMetadata,
  request: openid.CustomFetch,
) => {
  const secret = clientSecret.reveal();
  // Without the member, a provider accepts the secret in a header (OpenID Connect Discovery §3).
  const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const takesHeader = methods.includes("client_secret_basic");
  const authenticate = takesHeader ? openid.ClientSecretBasic(secret) : openid.ClientSecretPost(secret);
  const configuration = new openid.Configuration(metadata, clientId, { client_secret: secret }, authenticate);
  configuration[openid.customFetch] = request;
  if (issuer.startsWith("http:")) openid.allowInsecureRequests(configuration);
  // TLS to the token endpoint would suffice (OpenID Connect Core §3.1.3.7). The signature also protects behind a proxy
  // that terminates TLS.
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
};

/** Reads the metadata of the provider. */
const discover = async (
  { issuer, clientId }: OidcConfig,
  request: openid.CustomFetch,
): Promise<openid.ServerMetadata> => {
  const isLocal = issuer.startsWith("http:");
  let found: openid.Configuration;
  try {
    found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      [openid.customFetch]: request,
      ...(isLocal && { execute: [openid.allowInsecureRequests] }),
    });
  } catch (error) {
    // Invalid metadata counts like missing metadata.
    throw unavailable(toOidcError(error).reason);
  }
  const metadata = found.serverMetadata();
  // Identities are stored with the issuer, so it is compared character by character (RFC 8414 §3.3).
  if (metadata.issuer !== issuer) throw unavailable("issuer_differs");
  // The page redirects the browser there, so an address such as `javascript:` must be refused.
  const { protocol } = new URL(metadata.authorization_endpoint ?? "about:blank");
  if (protocol !== "https:" && !(isLocal && protocol === "http:")) throw unavailable("authorization_endpoint");
  return metadata;
};

/** Metadata that is read on demand, by one request at a time. A failure is not remembered. */
const createMetadata = (config: OidcConfig, clock: () => Date, request: openid.CustomFetch) => {
  let known: { metadata: openid.ServerMetadata; until: number } | null = null;
  let reading: Promise<openid.ServerMetadata> | null = null;
  const read = async (): Promise<openid.ServerMetadata> => {
    const metadata = await discover(config, request);
    known = { metadata, until: clock().getTime() + METADATA_MS };
    return metadata;
  };
  return async (): Promise<openid.ServerMetadata> => {
    if (known && known.until > clock().getTime()) return known.metadata;
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
};

/**
 * The keys of the provider, shared by all exchanges. For a token with an unknown key, the library reads the keys again
 * only if they are at least a minute old. After a rotation, sign-ins would fail for that minute. So the library gets a
 * sufficient age, unless the keys were read for an unknown key within `KEYS_INTERVAL_MS`.
 */
const createKeys = (clock: () => Date, request: openid.CustomFetch) => {
  let known: { jwks: openid.ExportedJWKSCache["jwks"]; readAt: number } | null = null;
  let reading: ReturnType<openid.CustomFetch> | null = null;
  let readAgain: { response: ReturnType<openid.CustomFetch>; at: number } | null = null;
  const isRecent = (): boolean => readAgain !== null && clock().getTime() - readAgain.at < KEYS_INTERVAL_MS;

  /**
   * Reads the keys, by one request at a time. `isAgain`: other keys are known, so one response in `KEYS_INTERVAL_MS`
   * serves all.
   */
  const read = (url: string, options: openid.CustomFetchOptions, isAgain: boolean): ReturnType<openid.CustomFetch> => {
    if (isAgain && readAgain && isRecent()) return readAgain.response;
    reading ??= request(url, options).finally(() => {
      reading = null;
    });
    if (isAgain) {
      const again = { response: reading, at: clock().getTime() };
      readAgain = again;
      // A failure is not remembered.
      reading.catch(() => {
        if (readAgain === again) readAgain = null;
      });
    }
    return reading;
  };

  /** Runs `work` with a configuration that has the known keys, and remembers newly read keys. */
  return async <Result>(
    configuration: openid.Configuration,
    work: (configuration: openid.Configuration) => Promise<Result>,
  ): Promise<Result> => {
    const { jwks_uri } = configuration.serverMetadata();
    const lent = known;
    let readAt: number | null = null;
    configuration[openid.customFetch] = async (url, options) => {
      if (url !== jwks_uri) return request(url, options);
      const response = await read(url, options, lent !== null);
      readAt = clock().getTime();
      return response.clone() as Response;
    };
    if (lent) {
      const age = Math.floor((clock().getTime() - lent.readAt) / 1000);
      const uat = Math.floor(Date.now() / 1000) - Math.max(age, isRecent() ? 0 : AGE_TO_READ_AGAIN_SECONDS);
      openid.setJwksCache(configuration, { jwks: lent.jwks, uat });
    }
    try {
      return await work(configuration);
    } finally {
      const cache = openid.getJwksCache(configuration);
      if (readAt !== null && cache) known = { jwks: cache.jwks, readAt };
    }
  };
};

/**
 * A person who has signed in at the provider. `authenticatedAt`: when the provider last prompted the person; null if
 * unknown.
 */
export type OidcPerson = { issuer: string; subject: string; authenticatedAt: Date | null };

/** The provider of `config`, for the public URL of the service. */
export const createOidcProvider = (
  config: OidcConfig,
  { publicUrl, clock }: { publicUrl: () => string; clock: () => Date },
  { requestMs, totalMs } = LIMITS,
) => {
  const { issuer, name } = config;
  const request = createFetch(requestMs);
  const metadata = createMetadata(config, clock, request);
  const withKeys = createKeys(clock, request);
  const mustAskAgain = ({ purpose }: OidcAttempt): boolean => purpose.kind === "verification";
  return {
    issuer,
    name,

    /** The provider's address at which the attempt continues. Throws the problem `provider_unavailable`. */
    authorizationUrl: async (attempt: OidcAttempt): Promise<string> => {
      try {
        const url = openid.buildAuthorizationUrl(configure(config, await within(totalMs, metadata), request), {
          redirect_uri: publicUrl() + OIDC_CALLBACK_PATH,
          scope: "openid",
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: "S256",
          ...(mustAskAgain(attempt) && { prompt: "login", max_age: "0" }),
        });
        return url.href;
      } catch (error) {
        const detail = `${name} does not respond. Sign in with a passkey, or try again shortly.`;
        const extras = { retryable: true, retryAfterSeconds: RETRY_AFTER_SECONDS };
        const cause = new Error(`the provider of OIDC is unavailable: ${toOidcError(error).reason}`);
        throw new Problem("provider_unavailable", detail, extras, { cause });
      }
    },

    /**
     * Exchanges the code of a response for the person, after a check that the response belongs to the attempt. Throws
     * an `OidcError`. With a verification, `authenticatedAt` is not before the attempt.
     */
    exchange: async (attempt: OidcAttempt, parameters: URLSearchParams): Promise<OidcPerson> => {
      try {
        return await within(totalMs, async () => {
          const url = new URL(`${publicUrl()}${OIDC_CALLBACK_PATH}?${parameters}`);
          const checks = {
            pkceCodeVerifier: attempt.verifier,
            expectedState: attempt.state,
            expectedNonce: attempt.nonce,
            idTokenExpected: true,
          };
          const tokens = await withKeys(configure(config, await metadata(), request), (configuration) =>
            openid.authorizationCodeGrant(configuration, url, checks),
          );
          const { iss, sub, azp, auth_time: time } = tokens.claims() ?? {};
          if (iss !== issuer || sub === undefined || !SUBJECT.test(sub)) throw new OidcError("not_accepted", "claims");
          // The library compares it only for tokens with several clients (OpenID Connect Core §3.1.3.7).
          if (azp !== undefined && azp !== config.clientId) throw new OidcError("not_accepted", "azp");
          const authenticatedAt = typeof time === "number" && time > 0 && time < 2 ** 33 ? new Date(time * 1000) : null;
          if (mustAskAgain(attempt) && !isFresh(attempt, authenticatedAt, clock())) throw new OidcError("not_fresh");
          return { issuer, subject: sub, authenticatedAt };
        });
      } catch (error) {
        throw toOidcError(error);
      }
    },
  };
};

/** Whether the provider prompted the person after the attempt began. */
const isFresh = ({ startedAt }: OidcAttempt, at: Date | null, now: Date): boolean =>
  at !== null && at.getTime() >= startedAt - CLOCK_TOLERANCE_MS && at.getTime() <= now.getTime() + CLOCK_TOLERANCE_MS;

export type OidcProvider = ReturnType<typeof createOidcProvider>;
