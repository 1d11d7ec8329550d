/** Sign-in at an OpenID Connect provider, in a browser, with a real provider. */
import { beforeAll, describe, expect, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { fixture } from "@realtime-avatar/testing/fixture";
import { OIDC_CLIENT, startOidcServer } from "@realtime-avatar/testing/oidc/provider";
import { expectAccessible } from "./support/axe.ts";
import { expectQuiet, type Person } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const provider = await fixture(startOidcServer());
const { service, owner, openPerson } = await fileWorld({
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: OIDC_CLIENT.clientId,
  OIDC_CLIENT_SECRET: OIDC_CLIENT.clientSecret,
  OIDC_NAME: "Example Login",
});

describe.skipIf(!BROWSER)("the provider's sign-in in Chromium", () => {
  /** A person who joins with an account at the provider, without a passkey. */
  let grace: Person;
  /** A person without an account of the service. */
  let visitor: Person;
  beforeAll(async () => {
    [grace, visitor] = [await openPerson(), await openPerson()];
  });

  const heading = (person: Person, name: string) => person.page.getByRole("heading", { name, level: 1 }).waitFor();
  const button = ({ page }: Person, name: string | RegExp) => page.getByRole("button", { name });
  /** Fills in the provider's page. */
  const signInAtProvider = async ({ page }: Person, login: string): Promise<void> => {
    await page.waitForURL(`${provider.issuer}/interaction/**`);
    await page.getByLabel("Login").fill(login);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${service.url}/dashboard**`);
  };
  /** The cookies of the service. The provider is on localhost as well, and cookies ignore ports. */
  const ownCookies = async ({ context }: Person) =>
    (await context.cookies(service.url)).filter(({ name }) => name.startsWith("realtime-avatar-"));
  /** Expects requests only to the service and the provider. */
  const expectOwnQuiet = (person: Person, expected: readonly RegExp[] = []): void =>
    expectQuiet(person, [new RegExp(`request to ${provider.issuer}`), ...expected]);

  test("the provider, down: the page says so, remembers the tenant, and passkeys work", async () => {
    await owner.open(`/sign-in?tenant=${service.tenantId}`);
    await button(owner, "Sign in with Example Login").click();
    await owner.page.getByRole("alert").getByText("Example Login does not respond").waitFor();
    await expectAccessible(owner.page, "provider down");
    // This browser remembers the tenant. The person follows a foreign link, but does not sign in there.
    await owner.open("/sign-in?tenant=ten_01h455vb4pex5vsknk084sn02q");
    await button(owner, "Sign in with Example Login").waitFor();
    await owner.open("/sign-in");
    const request = owner.page.waitForRequest(/oidc\/sign-in/);
    await button(owner, "Sign in with Example Login").click();
    expect((await request).postDataJSON()).toEqual({ tenantId: service.tenantId });
    await owner.page.getByRole("alert").waitFor();
    await button(owner, "Sign in with a passkey").click();
    await heading(owner, "Home");
    expectOwnQuiet(owner, [/status of 503/]);
    // From now on, the provider is available.
    provider.register(`${service.url}/api/v1/oidc/callback`);
  });

  test("an invitation, accepted with an account of the provider: a member with one cookie", async () => {
    const link = await service.invite("grace@example.com", "owner");
    await grace.page.goto(link);
    await button(grace, "Join with Example Login").waitFor();
    await expectAccessible(grace.page, "register with a provider");
    // Without a name, the form is not sent.
    await button(grace, "Join with Example Login").click();
    await grace.page.getByLabel("Your name").fill("Grace Hopper");
    await button(grace, "Join with Example Login").click();
    await signInAtProvider(grace, "grace-1");
    await heading(grace, "Home");
    expect(grace.page.url()).toBe(`${service.url}/dashboard`);
    await button(grace, "Grace Hopper").waitFor();
    const cookies = await ownCookies(grace);
    expect(cookies.map(({ sameSite, httpOnly }) => [sameSite, httpOnly])).toEqual([["Strict", true]]);
    expectOwnQuiet(grace);
  });

  test("a person, signing out and in at the tenant's address: signed in", async () => {
    await grace.open("/people");
    const address = await grace.page.getByText(/\/dashboard\/sign-in\?tenant=ten_/).textContent();
    expect(address).toBe(`${service.url}/dashboard/sign-in?tenant=${service.tenantId}`);
    await grace.page.getByRole("list", { name: "Your linked accounts" }).getByText("grace-1").waitFor();
    await grace.page.getByText("by the provider").first().waitFor();
    await expectAccessible(grace.page, "linked accounts");
    await button(grace, "Grace Hopper").first().click();
    await button(grace, "Sign out").click();
    await heading(grace, "Sign in");
    // This browser remembers the tenant.
    await button(grace, "Sign in with Example Login").waitFor();
    await grace.page.goto(address as string);
    await button(grace, "Sign in with Example Login").waitFor();
    await expectAccessible(grace.page, "sign-in with a provider");
    await button(grace, "Sign in with Example Login").click();
    // The provider has a session, so it shows no page.
    await heading(grace, "Home");
    expectOwnQuiet(grace, [/status of 401/]);
  });

  test("an action that needs a verification: to the provider and back", async () => {
    await grace.open("/people?environment=test");
    await service.age();
    await button(grace, "Invite a colleague").click();
    const dialog = grace.page.getByRole("dialog", { name: "Confirm it is you" });
    const invite = async () => {
      await grace.page.getByLabel("E-mail address").fill("ada2@example.com");
      await button(grace, "Create the link").click();
    };
    await invite();
    await dialog.getByText("What you have entered here is not kept").waitFor();
    expect(await dialog.getByRole("button", { name: "Use the passkey" }).count()).toBe(0);
    await expectAccessible(grace.page, "confirm at the provider");
    await dialog.getByRole("button", { name: "Confirm at Example Login" }).click();
    await signInAtProvider(grace, "grace-1");
    await heading(grace, "People");
    expect(grace.page.url()).toBe(`${service.url}/dashboard/people?environment=test`);
    await button(grace, "Invite a colleague").click();
    await invite();
    await grace.page.getByText("Send this link to").waitFor();
    await button(grace, "Done").click();
    expectOwnQuiet(grace, [/status of 403/]);
  });

  test("an account, the last way to sign in: kept; with a passkey: unlinked", async () => {
    const startUnlinking = () =>
      grace.page
        .getByRole("list", { name: "Your linked accounts" })
        .getByRole("button", { name: /^Unlink/ })
        .click();
    await startUnlinking();
    const dialog = grace.page.getByRole("dialog", { name: /^Unlink the account grace-1 at / });
    // A second click at the same place must not unlink.
    await grace.page.waitForFunction(() => document.activeElement?.textContent === "Keep it");
    await expectAccessible(grace.page, "unlink an account");
    await dialog.getByRole("button", { name: "Unlink it" }).click();
    await dialog.getByRole("alert").getByText("A person keeps a passkey").waitFor();
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await button(grace, "Add a passkey").click();
    await grace.page.getByRole("dialog").getByLabel("Name").fill("Laptop");
    await grace.page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await grace.page.getByRole("list", { name: "Your passkeys" }).getByText("Laptop").waitFor();
    await startUnlinking();
    await dialog.getByRole("button", { name: "Unlink it" }).click();
    await grace.page.getByText(/^The account grace-1 at .* is unlinked\.$/).waitFor();
    await grace.page.getByText("None. With a linked account").waitFor();
    await button(grace, "Link an account at Example Login").click();
    await grace.page.getByRole("list", { name: "Your linked accounts" }).getByText("grace-1").waitFor();
    expectOwnQuiet(grace, [/status of 409/]);
  });

  test("a sign-in of an unknown account: the reason and the next step", async () => {
    await visitor.open("/sign-in");
    await visitor.page.getByText("open your team's sign-in address").waitFor();
    await visitor.open(`/sign-in?tenant=${service.tenantId}`);
    await button(visitor, "Sign in with Example Login").click();
    // The address is a member's.
    await signInAtProvider(visitor, "grace");
    await visitor.page.getByRole("alert").getByText("No member has linked this account").waitFor();
    expect(visitor.page.url()).toEndWith("problem=unknown_identity");
    await expectAccessible(visitor.page, "failed at the provider");
    expect(await ownCookies(visitor)).toEqual([]);
    expectOwnQuiet(visitor);
  });

  test("a person who cancels at the provider: a message", async () => {
    // The person is not signed in at the provider either.
    await visitor.context.clearCookies();
    await visitor.open(`/sign-in?tenant=${service.tenantId}`);
    await button(visitor, "Sign in with Example Login").click();
    await visitor.page.getByRole("button", { name: "Cancel" }).click();
    await visitor.page.getByRole("alert").getByText("The provider reports that you said no").waitFor();
    expect(await visitor.page.getByText("A text of the provider").count()).toBe(0);
    expectOwnQuiet(visitor);
  });

  test("a problem code, in the address: a known one is explained, any other ignored", async () => {
    await visitor.open("/sign-in?problem=%3Cscript%3E&tenant=x");
    await heading(visitor, "Sign in");
    expect(await visitor.page.getByRole("alert").count()).toBe(0);
    await visitor.open("/sign-in?problem=denied");
    await visitor.page.getByRole("alert").getByText("The provider reports that you said no").waitFor();
    expectOwnQuiet(visitor);
  });

  test("the log, after all sign-ins: no code and no token", () => {
    const log = service.log();
    expect(log).toContain("/api/v1/oidc/callback");
    expect(log).not.toMatch(/code=|state=|eyJ[\w-]{20}|rta_session_|rta_invitation_/);
  });
});
