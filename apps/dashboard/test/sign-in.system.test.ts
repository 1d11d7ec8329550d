/** Registration, the sign-in and its refusals. */
import { beforeAll, describe, expect, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { expectAccessible } from "./support/axe.ts";
import { expectQuiet, type Person, registerHere } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const { service, owner, page, openPerson } = await fileWorld();

describe.skipIf(!BROWSER)("the sign-in page in Chromium", () => {
  const heading = (person: Person, name: string) => person.page.getByRole("heading", { name, level: 1 }).waitFor();
  /** A person without an account. */
  let visitor: Person;
  beforeAll(async () => {
    visitor = await openPerson();
  });

  test("a person who signs out and in: back on the page; without a session: every page redirects to the sign-in", async () => {
    await owner.open("/keys");
    await page.getByRole("button", { name: "Ada Lovelace", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await heading(owner, "Sign in");
    await expectAccessible(page, "sign-in");
    for (const path of ["/keys", "/people", ""]) {
      await owner.open(path);
      await heading(owner, "Sign in");
    }
    expect(await page.getByText("Your session has ended").count()).toBe(0);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await heading(owner, "Home");
    // The browser reports the reads without a session.
    expectQuiet(owner, [/status of 401/]);
  });

  test("a session, ended elsewhere: a message, and the same page after the sign-in", async () => {
    const { page, context } = owner;
    await owner.open("/keys");
    await heading(owner, "API keys");
    await context.clearCookies();
    await page.getByRole("link", { name: "Audit" }).click();
    await heading(owner, "Sign in");
    await page.getByText("Your session has ended").waitFor();
    await expectAccessible(page, "ended session");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    // Back on the page that the person wanted.
    await heading(owner, "Audit");
    await context.clearCookies();
    await owner.open("/usage?days=7&environment=test");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await heading(owner, "Usage and credits");
    expect(new URL(page.url()).search).toBe("?environment=test&days=7");
    expectQuiet(owner, [/status of 401/]);
  });

  test("a link, used twice: registers one person", async () => {
    const link = await service.invite("grace@example.com", "developer");
    const first = await openPerson();
    await first.page.goto(link);
    await first.page.getByText("developer").waitFor();
    await expectAccessible(first.page, "register");
    await registerHere(first, "Grace Hopper");
    // The token is removed from the address.
    expect(first.page.url()).not.toContain("#");
    await visitor.page.goto(link);
    await visitor.page.getByRole("alert").waitFor();
    expect(await visitor.page.getByRole("alert").textContent()).toContain(
      "This link is not valid: it was used, withdrawn or has expired",
    );
    expect(await visitor.page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await expectAccessible(visitor.page, "spent link");
    await visitor.page.getByRole("link", { name: "Open the dashboard" }).click();
    await heading(visitor, "Sign in");
    // The person opens the used link again.
    await first.page.goto(link);
    await first.page.getByRole("link", { name: "Open the dashboard" }).click();
    await heading(first, "Home");
    expectQuiet(first, [/status of 404/]);
    expectQuiet(visitor, [/status of (401|404)/]);
    await first.context.close();
  });

  test("the registration page, without a token: says that an invitation is needed", async () => {
    await visitor.open("/register");
    await visitor.page.getByText("This page needs an invitation").waitFor();
    expectQuiet(visitor);
  });

  test("a sign-in, without a passkey: a message, and no cookie", async () => {
    await visitor.open("/sign-in");
    // This authenticator has no passkey for the service.
    await visitor.page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await visitor.page.getByRole("alert").waitFor();
    expect(await visitor.page.getByRole("alert").textContent()).toContain("The passkey was not used");
    expect(await visitor.context.cookies()).toEqual([]);
    expectQuiet(visitor);
  });

  test("the sign-in page, at another origin: only a link to the right one", async () => {
    const { url } = service;
    await visitor.page.goto(`${url.replace("localhost", "127.0.0.1")}/dashboard/sign-in`);
    const link = visitor.page.getByRole("link", { name: url });
    expect(await link.getAttribute("href")).toBe(`${url}/dashboard/sign-in`);
    expect(await visitor.page.getByRole("button").count()).toBe(0);
  });

  test("the cookie and the page, for scripts and frames: not readable, not framed", async () => {
    const [cookie] = await owner.context.cookies();
    expect([cookie?.httpOnly, cookie?.sameSite, cookie?.path]).toEqual([true, "Strict", "/"]);
    expect(await page.evaluate("document.cookie")).toBe("");
    const person = await openPerson();
    const refused = person.page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await person.page.setContent(`<iframe src="${service.url}/dashboard/keys"></iframe>`);
    await refused;
    const frame = person.page.frames()[1];
    await frame?.waitForURL(/^chrome-error:/);
    expect(frame?.url()).toMatch(/^chrome-error:/);
    expect(person.complaints.join()).toContain("frame-ancestors");
    await person.context.close();
  });
});
