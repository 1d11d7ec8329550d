/// <reference path="./oidc-provider.d.ts" />
/** A real provider of OpenID Connect (`oidc-provider`), with pages on which any name signs in. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import Provider, { type Context, interactionPolicy } from "oidc-provider";

export const OIDC_CLIENT = { clientId: "realtime-avatar", clientSecret: "the secret of the tests at their provider" };

export type OidcServer = {
  issuer: string;
  /** Accepts the service at this address. Before that, the provider is unavailable. */
  register(redirectUri: string): void;
  /** Replaces its key. Later tokens are signed by the new key. */
  rotateKey(): void;
  close(): Promise<void>;
};

/** The page on which a person signs in. It loads no other files. */
const PAGE = `<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,"><h1>Sign in</h1>
<form method="post"><label>Login <input name="login"></label>
<button name="action" value="login">Sign in</button><button name="action" value="cancel">Cancel</button></form></html>`;

const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
};

/** Every account gives its consent. */
const giveConsent = async ({ oidc }: Context): Promise<object> => {
  const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
  grant.addOIDCScope("openid");
  await grant.save();
  return grant;
};

/** The default policy, except that an address of localhost does not need consent each time. */
const policy = (): unknown => {
  const prompts = interactionPolicy.base();
  prompts.get("consent").checks.remove("native_client_prompt");
  return prompts;
};

const createKey = (): object => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
};

/** A provider with a new key. It knows nothing of the previous provider. */
const createProvider = (issuer: string, redirectUri: string): Provider =>
  new Provider(issuer, {
    jwks: { keys: [createKey()] },
    clients: [
      {
        client_id: OIDC_CLIENT.clientId,
        client_secret: OIDC_CLIENT.clientSecret,
        redirect_uris: [redirectUri],
        // Otherwise the provider refuses addresses of localhost without https.
        application_type: "native",
      },
    ],
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
    features: { devInteractions: { enabled: false } },
    interactions: { policy: policy(), url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    loadExistingGrant: giveConsent,
    pkce: { required: () => true },
    cookies: { keys: ["the key of the tests"] },
  });

/** Starts a provider on localhost. Close it after the tests. */
export const startOidcServer = async (): Promise<OidcServer> => {
  let provider: Provider | null = null;
  let redirectUri = "";
  const server = createServer(async (request, response) => {
    if (!provider) return response.writeHead(503).end();
    if (!request.url?.startsWith("/interaction/")) return provider.callback()(request, response);
    if (request.method === "GET") return response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
    const form = await readForm(request);
    const isCancelled = form.get("action") === "cancel";
    const denied = { error: "access_denied", error_description: "A text of the provider" };
    const result = isCancelled ? denied : { login: { accountId: form.get("login") } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const rotateKey = (): void => {
    provider = createProvider(issuer, redirectUri);
  };
  const register = (uri: string): void => {
    redirectUri = uri;
    rotateKey();
  };
  return { issuer, register, rotateKey, close };
};

/** A browser that follows redirects and fills in the forms of the provider, and keeps its cookies. */
export const createOidcBrowser = () => {
  const cookies = new Map<string, string>();
  const send = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { ...init.headers, cookie } });
    for (const header of response.headers.getSetCookie()) {
      const [pair = ""] = header.split(";");
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
    return response;
  };
  return {
    /**
     * Goes from the address of an authorization to the address to which the provider redirects back. `login` signs in
     * when the provider asks.
     */
    authorize: async (authorizationUrl: string, login: string): Promise<string> => {
      const { origin } = new URL(authorizationUrl);
      let response = await send(authorizationUrl);
      for (let steps = 0; steps < 20; steps++) {
        const location = response.headers.get("location");
        const text = await response.text();
        if (location && new URL(location, origin).origin !== origin) return location;
        if (location) {
          response = await send(new URL(location, origin).href);
          continue;
        }
        if (!text.includes('name="login"')) throw new Error(`the provider shows no form: ${response.status}`);
        // The form has the address of its page.
        response = await send(response.url, { method: "POST", body: new URLSearchParams({ action: "login", login }) });
      }
      throw new Error("the provider does not lead back");
    },
  };
};
