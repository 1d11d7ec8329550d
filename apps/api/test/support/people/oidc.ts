/** Sign-ins by OIDC for tests, like those of a browser and of an attacker. */
import { Secret } from "@realtime-avatar/storage/secret";
import { OIDC_CLIENT } from "@realtime-avatar/testing/oidc/provider";
import { type Answer, PUBLIC_URL, readAnswer, startApi, TEST_CONFIG, type TestApi, testStorage } from "../api.ts";
import type { FakeProvider } from "./fake-provider.ts";
import { COOKIE, type Person, pageHeaders } from "./people.ts";

export const ATTEMPT_COOKIE = "__Host-realtime-avatar-oidc";
export const CALLBACK = "/api/v1/oidc/callback";

/** The configuration of a service with this provider. */
export const oidcConfig = (issuer: string) => ({
  ...TEST_CONFIG,
  oidc: {
    issuer,
    clientId: OIDC_CLIENT.clientId,
    clientSecret: new Secret(OIDC_CLIENT.clientSecret),
    name: "Example Login",
  },
});

export const startApiWith = (issuer: string, clock: () => Date = () => new Date()): Promise<TestApi> =>
  startApi(testStorage, { config: oidcConfig(issuer), clock });

/** The value that a response sets for a cookie; null without one. */
export const readSetCookie = ({ headers }: Answer, name: string): string | null => {
  const header = headers.getSetCookie().find((text) => text.startsWith(`${name}=`));
  return header === undefined ? null : header.slice(name.length + 1, header.indexOf(";"));
};

/** An attempt after its start: the address of the provider, and the cookie of the browser. */
export type Begun = { url: URL; cookie: string; state: string; nonce: string };

/** The attempt that a response began. */
export const begunBy = (answer: Answer): Begun => {
  if (answer.status !== 200) throw new Error(`not begun: ${answer.text}`);
  const url = new URL(answer.body.url);
  const parameter = (name: string): string => url.searchParams.get(name) ?? "";
  const cookie = readSetCookie(answer, ATTEMPT_COOKIE) ?? "";
  return { url, cookie, state: parameter("state"), nonce: parameter("nonce") };
};

export const beginSignIn = async (api: TestApi, tenantId: string = api.tenantId): Promise<Begun> =>
  begunBy(await api.call("POST", "/api/v1/oidc/sign-in", { body: { tenantId } }));
export const beginAcceptance = async (api: TestApi, token: string, name = "Ada"): Promise<Begun> =>
  begunBy(await api.call("POST", "/api/v1/oidc/acceptance", { body: { token, name } }));
export const beginIdentity = async (person: Pick<Person, "call">): Promise<Begun> =>
  begunBy(await person.call("POST", "/api/v1/oidc/identity"));
export const beginVerification = async (person: Pick<Person, "call">, returnTo = "/people"): Promise<Begun> =>
  begunBy(await person.call("POST", "/api/v1/oidc/verification", { returnTo }));

/**
 * The headers of a browser that the provider redirects back: with the cookie of the attempt, without the Strict session
 * cookie.
 */
const callbackHeaders = (cookie: string | null): Record<string, string> => ({
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  ...(cookie !== null && { cookie: `${ATTEMPT_COOKIE}=${cookie}` }),
});

/** Requests the callback with this query. */
export const comeBack = async (api: TestApi, query: string, cookie: string | null): Promise<Answer> => {
  const headers = { ...callbackHeaders(cookie), "x-forwarded-for": nextAddress() };
  return readAnswer(await fetch(`${api.url}${CALLBACK}?${query}`, { redirect: "manual", headers }));
};

let addresses = 0;
/** Each callback comes from another network, so that none is limited by chance. */
const nextAddress = (): string => {
  addresses++;
  return `11.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
};

/** The response of the fake provider to an attempt, signed for its nonce. */
export const callbackQuery = (
  fake: FakeProvider,
  begun: Begun,
  changes: Record<string, string | null> = {},
): string => {
  fake.nonce = begun.nonce;
  const parameters = { code: "code", state: begun.state, iss: fake.issuer, ...changes };
  const present = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null);
  return new URLSearchParams(present).toString();
};

/** Ends an attempt as the account `sub` of the fake provider. */
export const endAs = (api: TestApi, fake: FakeProvider, begun: Begun, sub: string): Promise<Answer> => {
  fake.claims = { ...fake.claims, sub };
  return comeBack(api, callbackQuery(fake, begun), begun.cookie);
};

/** The page of the dashboard to which a response redirects. */
export const dashboardPage = ({ status, headers }: Answer): string => {
  const location = headers.get("location") ?? "";
  if (status !== 303 || !location.startsWith(`${PUBLIC_URL}/dashboard`)) throw new Error(`${status} ${location}`);
  return location.slice(`${PUBLIC_URL}/dashboard`.length);
};

/** The code of an attempt's failure; null when it succeeded. */
export const readFailure = (answer: Answer): string | null => {
  const page = dashboardPage(answer);
  return page.startsWith("/sign-in") ? new URLSearchParams(page.slice(page.indexOf("?"))).get("problem") : null;
};

/** The session that a response has opened; null without one. */
export const readSession = (answer: Answer): string | null => readSetCookie(answer, COOKIE);

/** A person with the session of a response. */
export const personWith = (api: TestApi, answer: Answer): Pick<Person, "call"> => {
  const cookie = readSession(answer);
  if (cookie === null) throw new Error(`not signed in: ${dashboardPage(answer)}`);
  return {
    call: (method, path, body, headers = {}, environment = "live") =>
      api.call(method, path, { body, headers: { ...pageHeaders(cookie, environment), ...headers } }),
  };
};
