/** Limits for an OpenID Connect provider: it is down, slow, endless or wrong, and the service still works. */
import { beforeEach, describe, expect, test } from "bun:test";
import { newOidcAttempt, type OidcPurpose } from "@realtime-avatar/domain/people/oidc-attempt";
import { Problem } from "@realtime-avatar/domain/problem";
import { Secret } from "@realtime-avatar/storage/secret";
import { fixture } from "@realtime-avatar/testing/fixture";
import { OIDC_CLIENT } from "@realtime-avatar/testing/oidc/provider";
import { random } from "@realtime-avatar/testing/random-bytes";
import { providerMetadata, startFakeProvider } from "../../test/support/people/fake-provider.ts";
import { createOidcProvider, OidcError } from "./oidc-provider.ts";

const fake = startFakeProvider();
await fixture({ close: () => fake.stop() });
beforeEach(() => {
  fake.reset();
  elapsed = 0;
});

const METADATA = "/.well-known/openid-configuration";
const TENANT = "ten_01h455vb4pex5vsknk084sn02q";
/** The offset of the service's clock, in milliseconds. */
let elapsed = 0;
const clock = () => new Date(Date.now() + elapsed);
const attemptFor = (purpose: OidcPurpose = { kind: "sign_in" }) =>
  newOidcAttempt(TENANT, purpose, { now: clock(), random });
// Limits that no response of a test exceeds, even on a slow machine.
const providerAt = (issuer = fake.issuer, limits = { requestMs: 60_000, totalMs: 60_000 }) => {
  const clientSecret = new Secret(OIDC_CLIENT.clientSecret);
  const config = { issuer, clientId: OIDC_CLIENT.clientId, clientSecret, name: "Example Login" };
  return createOidcProvider(config, { publicUrl: () => "https://avatars.test", clock }, limits);
};
type Provider = ReturnType<typeof providerAt>;

/** The reason why an attempt cannot begin. */
const reasonOf = async (provider: Provider): Promise<string> => {
  const error = await provider.authorizationUrl(attemptFor()).catch((failure: unknown) => failure);
  if (!(error instanceof Problem)) throw new Error(`not a problem: ${error}`);
  expect([error.code, error.status, error.extras]).toEqual([
    "provider_unavailable",
    503,
    { retryable: true, retryAfterSeconds: 5 },
  ]);
  expect(error.detail).toBe("Example Login does not respond. Sign in with a passkey, or try again shortly.");
  return (error.cause as Error).message.replace(/^.*: /, "");
};

/** The failure and the reason of an exchange. */
const failureOf = async (provider: Provider, purpose?: OidcPurpose, at = fake): Promise<string> => {
  const attempt = attemptFor(purpose);
  at.nonce = attempt.nonce;
  const parameters = new URLSearchParams({ code: "c", state: attempt.state, iss: at.issuer });
  const error = await provider.exchange(attempt, parameters).catch((failure: unknown) => failure);
  return error instanceof OidcError ? error.message : `no error: ${JSON.stringify(error)}`;
};

const endless = (): Response =>
  new Response(
    new ReadableStream({
      async pull(controller) {
        await Bun.sleep(1);
        controller.enqueue(new Uint8Array(64 * 1024));
      },
    }),
    { headers: { "content-type": "application/json" } },
  );
const silent = (): Promise<Response> => new Promise(() => {});
/** 100 MB that are about 100 KB when compressed. */
const bomb = (): Response =>
  new Response(Bun.gzipSync(new Uint8Array(100_000_000)), {
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
  });
const trickle = (): Response =>
  new Response(
    new ReadableStream({
      async pull(controller) {
        await Bun.sleep(100);
        controller.enqueue(new Uint8Array([0x20]));
      },
    }),
    { headers: { "content-type": "application/json" } },
  );
const metadata = (changes: object) => () => Response.json({ ...providerMetadata(fake.issuer), ...changes });

describe("the metadata of a provider", () => {
  test("the provider, unreachable, then back: the problem names the reason, then a sign-in works", async () => {
    const down = startFakeProvider();
    const { issuer } = down;
    await down.stop();
    expect(await reasonOf(providerAt(issuer))).not.toBe("");
    const provider = providerAt();
    fake.answers.set(METADATA, () => new Response("down", { status: 503 }));
    expect(await reasonOf(provider)).toBe("status_503");
    fake.answers.delete(METADATA);
    expect(await provider.authorizationUrl(attemptFor())).toStartWith(`${fake.issuer}/authorize?`);
  });

  test.each<[string, () => Response | Promise<Response>, string]>([
    ["is endless", endless, "response_too_large"],
    ["has 100 MB after decompression", bomb, "response_too_large"],
    ["is not JSON", () => new Response("<html>"), "OAUTH_RESPONSE_IS_NOT_JSON"],
    ["is refused", () => new Response("no", { status: 404 }), "OAUTH_RESPONSE_IS_NOT_CONFORM"],
    ["is elsewhere", () => Response.redirect("http://localhost:1/"), "OAUTH_RESPONSE_IS_NOT_CONFORM"],
    ["is of another issuer", metadata({ issuer: "https://evil.test" }), "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED"],
    ["differs by a slash", () => metadata({ issuer: `${fake.issuer}/` })(), "issuer_differs"],
    [
      "has a script as its address",
      metadata({ authorization_endpoint: "javascript:alert(1)" }),
      "authorization_endpoint",
    ],
    ["leads nowhere", metadata({ authorization_endpoint: undefined }), "authorization_endpoint"],
  ])("the metadata, a document that %s: a problem with its reason", async (_, answer, reason) => {
    fake.answers.set(METADATA, answer);
    expect(await reasonOf(providerAt())).toBe(reason);
  });

  test("the metadata, needed by many attempts at once: read once", async () => {
    let reads = 0;
    fake.answers.set(METADATA, () => {
      reads++;
      return Response.json(providerMetadata(fake.issuer));
    });
    const provider = providerAt();
    expect(reads).toBe(0);
    await Promise.all([1, 2, 3].map(() => provider.authorizationUrl(attemptFor())));
    await provider.authorizationUrl(attemptFor());
    expect(reads).toBe(1);
  });

  test("the authentication methods of the metadata: the secret is sent accordingly", async () => {
    const provider = providerAt();
    await failureOf(provider);
    expect(fake.exchanges[0]?.get("client_secret")).toBeNull();
    fake.answers.set(METADATA, metadata({ token_endpoint_auth_methods_supported: ["client_secret_post"] }));
    await failureOf(providerAt());
    expect(fake.exchanges[1]?.get("client_secret")).toBe(OIDC_CLIENT.clientSecret);
  });
});

// The attempts run concurrently, because each waits until the timeout of one request.
test("a provider, silent or sending byte by byte, at each request to it: a timeout", async () => {
  const outcomes = [METADATA, "/token", "/jwks"].flatMap((path) =>
    [silent, trickle].map(async (answer) => {
      const slow = startFakeProvider();
      slow.answers.set(path, answer);
      const provider = providerAt(slow.issuer, { requestMs: 1000, totalMs: 60_000 });
      const outcome = await (path === METADATA ? reasonOf(provider) : failureOf(provider, undefined, slow));
      await slow.stop();
      return outcome.replace(/^provider_unavailable: /, "");
    }),
  );
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["timeout"]));
});

describe("the exchange of a code", () => {
  test.each<[string, string, () => Response | Promise<Response>, string]>([
    ["is endless", "/token", endless, "provider_unavailable: response_too_large"],
    ["has 100 MB after decompression", "/token", bomb, "provider_unavailable: response_too_large"],
    ["fails", "/token", () => new Response("x", { status: 500 }), "provider_unavailable: status_500"],
    ["is limited", "/token", () => new Response("x", { status: 429 }), "provider_unavailable: status_429"],
    [
      "is refused",
      "/token",
      () => Response.json({ error: "invalid_grant", error_description: "The code is secret-1" }, { status: 400 }),
      "not_accepted: invalid_grant",
    ],
    [
      "has no ID token",
      "/token",
      () => Response.json({ access_token: "a", token_type: "bearer" }),
      "not_accepted: OAUTH_INVALID_RESPONSE",
    ],
    ["ends with endless keys", "/jwks", endless, "provider_unavailable: response_too_large"],
    ["ends without such a key", "/jwks", () => Response.json({ keys: [] }), "not_accepted: OAUTH_KEY_SELECTION_FAILED"],
  ])("a code exchange whose response %s: fails with a code", async (_, path, answer, failure) => {
    fake.answers.set(path, answer);
    expect(await failureOf(providerAt())).toBe(failure);
  });

  test("many code exchanges with tokens of unknown keys: the keys are read again once in five seconds", async () => {
    let reads = 0;
    const { keys } = (await (await fetch(`${fake.issuer}/jwks`)).json()) as { keys: object[] };
    fake.answers.set("/jwks", () => {
      reads++;
      return Response.json({ keys });
    });
    const provider = providerAt();
    expect(await failureOf(provider)).toStartWith("no error");
    fake.keyId = "unknown";
    const refused = "not_accepted: OAUTH_KEY_SELECTION_FAILED";
    // The exchanges run one after another, because `fake` has one nonce at a time.
    for (let attempt = 0; attempt < 5; attempt++) expect(await failureOf(provider)).toBe(refused);
    expect(reads).toBe(2);
    elapsed = 5000;
    expect(await failureOf(provider)).toBe(refused);
    expect(reads).toBe(3);
    // The keys that were read also serve other exchanges.
    fake.keyId = "1";
    expect(await failureOf(provider)).toStartWith("no error");
    expect(reads).toBe(3);
  });

  test("a repeated read of the keys that fails: the next exchange reads them again, without a pause", async () => {
    const { keys } = (await (await fetch(`${fake.issuer}/jwks`)).json()) as { keys: object[] };
    const provider = providerAt();
    expect(await failureOf(provider)).toStartWith("no error");
    fake.keyId = "new";
    fake.answers.set("/jwks", () => new Response("x", { status: 500 }));
    expect(await failureOf(provider)).toBe("provider_unavailable: status_500");
    fake.answers.set("/jwks", () => Response.json({ keys: keys.map((key) => ({ ...key, kid: "new" })) }));
    expect(await failureOf(provider)).toStartWith("no error");
  });

  test("a code exchange with a valid token: accepted", async () => {
    expect(await failureOf(providerAt())).toStartWith("no error");
  });
});

describe("a verification by a provider", () => {
  const purpose = {
    kind: "verification",
    sessionId: "uss_01h455vb4pex5vsknk084sn02q",
    digest: "",
    returnTo: "/keys",
    environment: "live",
  } as const;
  const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;

  test.each<[string, unknown]>([
    ["does not say when", undefined],
    ["asked before the attempt", seconds(-120)],
    ["asks in the future", seconds(600)],
    ["has no time of its prompt", 0],
    ["asked at a time that no date can represent", 2 ** 40],
  ])("a verification, by a provider that %s: refused", async (_, time) => {
    fake.claims = { auth_time: time };
    expect(await failureOf(providerAt(), purpose)).toBe("not_fresh: not_fresh");
  });

  test("a verification, authenticated after the attempt began: accepted", async () => {
    fake.claims = { auth_time: seconds(0) };
    expect(await failureOf(providerAt(), purpose)).toStartWith("no error");
  });

  test("a verification, unlike a sign-in: asks the provider to prompt the person", async () => {
    const provider = providerAt();
    const parametersOf = async (of?: OidcPurpose) =>
      Object.fromEntries(new URL(await provider.authorizationUrl(attemptFor(of))).searchParams);
    expect(await parametersOf(purpose)).toMatchObject({ prompt: "login", max_age: "0" });
    const { prompt, max_age } = await parametersOf();
    expect([prompt, max_age]).toEqual([undefined, undefined]);
  });
});
