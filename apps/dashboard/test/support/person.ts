/** A person with a browser and a passkey. */
import { expect } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { userHandle } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { seedPerson } from "@realtime-avatar/testing/people/seeds";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import type { Service } from "./service.ts";

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** A passkey in the authenticator, its bytes in base64. */
type HeldPasskey = { credentialId: string; userHandle: string; privateKey: string };

export type Person = {
  page: Page;
  context: BrowserContext;
  /** Messages of the browser's console, and requests to other hosts. */
  complaints: string[];
  /**
   * A virtual authenticator that agrees to everything. `agree(false)`: its requests wait. `hold`: gives it a passkey.
   */
  authenticator: { agree(does: boolean): Promise<void>; hold(passkey: HeldPasskey): Promise<void> };
  /** Opens a page of the dashboard by its address. */
  open(path: string): Promise<void>;
};

/** Collects all messages of the console, except failed loads that a test expects. */
export const watch = (page: Page, origin: string, complaints: string[]): void => {
  // Pictures are loaded from the address at which the service listens.
  const own = new RegExp(`^(${origin}|${origin.replace("localhost", "127.0.0.1")}/public)/|^(data|blob):`);
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (!own.test(url)) complaints.push(`request to ${url}`);
  });
};

const ALWAYS_PRESENT = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** Opens a browser for a person without an account. */
export const newPerson = async (
  browser: Browser,
  service: Pick<Service, "url">,
  options: BrowserContextOptions = {},
): Promise<Person> => {
  const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: "reduce", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.url });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  watch(page, service.url, complaints);
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: ALWAYS_PRESENT });
  return {
    page,
    context,
    complaints,
    authenticator: {
      agree: (enabled) =>
        devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }).then(() => {}),
      hold: (passkey) => {
        const credential = { ...passkey, isResidentCredential: true, rpId: "localhost", signCount: 0 };
        return devtools.send("WebAuthn.addCredential", { authenticatorId, credential }).then(() => {});
      },
    },
    open: async (path) => {
      await page.goto(`${service.url}/dashboard${path}`);
    },
  };
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** A key pair of a passkey. The public key is a COSE key (RFC 9053): EC2, ES256, P-256. */
const newKeyPair = () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const cose = ["a5010203262001215820", x, "225820", y] as const;
  const bytes = cose.map((part, index) => Buffer.from(part, index % 2 === 0 ? "hex" : "base64url"));
  return { privateKey: privateKey.export({ type: "pkcs8", format: "der" }), publicKey: Buffer.concat(bytes) };
};

/**
 * Creates a member with a passkey, and signs the browser in. Opens no page, because registering on one takes a second
 * of processor time.
 */
export const signIn = async (
  { context, authenticator }: Person,
  { url, database, tenantId }: Service,
  role: Role,
  name: string,
): Promise<void> => {
  const { privateKey, publicKey } = newKeyPair();
  const passkey = { publicKey, name: "First passkey", transports: ["internal"] };
  const seeded = await seedPerson(database.db, tenantId, role, { name, passkey });
  const credentialId = base64(seeded.passkey.credentialId);
  await authenticator.hold({
    credentialId,
    userHandle: base64(userHandle(seeded.user)),
    privateKey: base64(privateKey),
  });
  const cookie = { name: `realtime-avatar-session-${new URL(url).port}`, value: seeded.token.reveal(), url };
  await context.addCookies([{ ...cookie, httpOnly: true, sameSite: "Strict" }]);
};

/** Registers the person on the open page of a link, and waits for the first page. */
export const registerHere = async ({ page }: Person, name: string): Promise<void> => {
  await page.getByLabel(/Your name|Name of the passkey/).fill(name);
  await page.getByRole("button", { name: "Register a passkey" }).click();
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
};

/** Registers the person with a link, and waits for the first page. */
export const register = async (person: Person, link: string, name: string): Promise<void> => {
  await person.page.goto(link);
  await registerHere(person, name);
};

/** Chooses an action from the menu of a row: "Delete" of "Phone" has the label "Delete Phone". */
export const choose = async (page: Page, row: string, action: string): Promise<void> => {
  await page.getByRole("button", { name: `Actions for ${row}`, exact: true }).click();
  await page.getByRole("button", { name: action, exact: true }).click();
};

/** The text that the page has copied. */
export const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

/** Makes requests to these addresses fail with status 500, until they are unrouted. Returns the request id. */
export const failRequests = async (page: Page, addresses: string, detail: string): Promise<string> => {
  const requestId = crypto.randomUUID();
  const problem = { type: "/problems/internal_error", code: "internal_error", status: 500, title: "Internal error" };
  const body = JSON.stringify({ ...problem, detail, requestId, retryable: false });
  await page.route(addresses, (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body }));
  return requestId;
};

/** Fails unless a refused form shows the text of each error once, and names of fields without backticks. */
export const expectErrorsOnce = async (dialog: Locator): Promise<void> => {
  await dialog.getByRole("alert").waitFor();
  const text = (await dialog.textContent()) ?? "";
  const errors = await dialog.locator("p[id$=error], [role=alert] li").allTextContents();
  // An entry of the list begins with the name of its field.
  const counts = errors.map((error) => [error, text.split(error.replace(/^\w+: /, "")).length - 1]);
  expect(counts).toEqual(errors.map((error) => [error, 1]));
  expect(errors).not.toEqual([]);
  expect(text).not.toContain("`");
};

/** Fails unless a part of the bar, of another colour, is filled. */
export const expectBar = async (bar: Locator): Promise<void> => {
  const filled = await bar.evaluate((element) => {
    const [whole, part] = [element.querySelector("svg"), element.querySelector("rect")];
    if (!whole || !part) return null;
    const share = part.getBoundingClientRect().width / whole.getBoundingClientRect().width;
    return { share, colors: [getComputedStyle(whole).backgroundColor, getComputedStyle(part).fill] };
  });
  expect(filled?.share).toBeWithin(0.2, 0.4);
  expect(filled?.colors[0]).not.toBe(filled?.colors[1]);
};

/**
 * Fails when the console has messages, or the page sent a request to another host. `expected`: allowed failed loads.
 */
export const expectQuiet = ({ complaints }: Person, expected: readonly RegExp[] = []): void => {
  // Cleared first, so that the messages do not fail later tests.
  const said = complaints.splice(0);
  expect(said.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
};
