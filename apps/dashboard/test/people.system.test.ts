/** People: invitations, roles, passkeys and sessions, with several people in separate browsers. */
import { beforeAll, describe, expect, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { expectAccessible } from "./support/axe.ts";
import {
  choose,
  clipboard,
  DESKTOP,
  expectErrorsOnce,
  expectQuiet,
  type Person,
  register,
  registerHere,
} from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const { service, owner, page, openPerson } = await fileWorld();

describe.skipIf(!BROWSER)("the people page in Chromium", () => {
  let viewer: Person;
  beforeAll(async () => {
    viewer = await openPerson();
  });

  const rows = (person: Person, list: string) => person.page.getByRole("list", { name: list }).getByRole("listitem");

  test("a colleague, invited by an owner: registers", async () => {
    await owner.open("/people");
    await page.getByRole("button", { name: "Invite a colleague" }).click();
    const dialog = page.getByRole("dialog");
    // The browser accepts this address. The service refuses it.
    await dialog.getByLabel("E-mail address").fill(`grace@${`${"a".repeat(60)}.`.repeat(4)}example`);
    await dialog.getByRole("button", { name: "Create the link" }).click();
    await expectErrorsOnce(dialog);
    await dialog.getByLabel("E-mail address").fill("Grace@Example.com");
    await dialog.getByLabel("Role").selectOption("viewer");
    await dialog.getByLabel("The link is valid for").selectOption("7 days");
    await dialog.getByRole("button", { name: "Create the link" }).click();
    await page.getByText("Send this link to").waitFor();
    await page.getByText("It is not shown again").waitFor();
    // The public URL of this service is on localhost.
    await page.getByText("The link works only on the computer on which the service runs.").waitFor();
    await expectAccessible(page, "link");
    await page.getByRole("button", { name: /^Copy: Link/ }).click();
    const link = await clipboard(page);
    expect(link).toStartWith(`${service.url}/dashboard/register#`);
    await page.getByRole("button", { name: "Done" }).click();
    await rows(owner, "Open invitations").getByText("grace@example.com").waitFor();
    const [stored] = await service.database.db.client`
      select extract(epoch from expires_at - created_at)::int as seconds from invitations where email = 'grace@example.com'`;
    expect(stored).toEqual({ seconds: 604_800 });
    await register(viewer, link, "Grace Hopper");
    // Shown without a reload.
    await rows(owner, "Members").getByText("Grace Hopper").waitFor();
    await page.getByText("None. An invitation is a link").waitFor();
    expectQuiet(owner, [/status of 422/]);
    expectQuiet(viewer);
  });

  test("an invitation, with a new link and then withdrawn: neither link is valid", async () => {
    const link = await service.invite("eve@example.com", "owner");
    await page.reload();
    await choose(page, "eve@example.com", "New link for eve@example.com");
    await page.getByRole("button", { name: /^Copy: Link/ }).click();
    const renewed = await clipboard(page);
    await page.getByRole("button", { name: "Done" }).click();
    const person = await openPerson();
    await person.page.goto(link);
    await person.page.getByText("This link is not valid").waitFor();
    await choose(page, "eve@example.com", "Withdraw the invitation of eve@example.com");
    await page.getByText("The invitation of eve@example.com is withdrawn: its link no longer works.").waitFor();
    await page.getByText("None. An invitation is a link").waitFor();
    await person.page.goto(renewed);
    await person.page.getByText("This link is not valid: it was used, withdrawn or has expired").waitFor();
    await person.context.close();
    expectQuiet(owner);
  });

  test("an invitation, withdrawn after its acceptance: no longer shown", async () => {
    await service.invite("eve@example.com", "viewer");
    await page.reload();
    const menu = page.getByRole("button", { name: "Actions for eve@example.com" });
    await menu.waitFor();
    await service.database.db.client`delete from invitations where email = 'eve@example.com'`;
    await choose(page, "eve@example.com", "Withdraw the invitation of eve@example.com");
    await page.getByText("The invitation of eve@example.com is not open any more").waitFor();
    await menu.waitFor({ state: "detached" });
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.evaluate("document.activeElement?.id")).toBe("page");
    expectQuiet(owner, [/status of 404/]);
  });

  test("a viewer, on every page: sees all, without buttons for changes", async () => {
    const { page } = viewer;
    for (const [link, heading, buttons] of [
      ["Avatars", "Avatars", [/Create/]],
      ["People", "People", [/Invite/, /Remove/]],
      ["Usage", "Usage and credits", []],
      ["Webhooks", "Webhooks", [/Add/]],
      ["Audit", "Audit", []],
      ["Keys", "API keys", [/Create/, /Rotate/, /Revoke/]],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await page.locator(".shimmer").first().waitFor({ state: "detached" });
      for (const name of buttons) expect([link, await page.getByRole("button", { name }).count()]).toEqual([link, 0]);
      expect([link, await page.getByRole("alert").count()]).toEqual([link, 0]);
    }
    expectQuiet(viewer);
  });

  test("a changed role: effective at once; of the last owner: refused", async () => {
    await owner.open("/people");
    const changed = page.waitForResponse((response) => response.request().method() === "PATCH" && response.ok());
    await page.getByLabel("Role of Grace Hopper").selectOption("developer");
    await changed;
    await viewer.open("/keys");
    await viewer.page.getByRole("button", { name: "Create a live key" }).waitFor();
    await page.getByLabel("Role of Ada Lovelace").selectOption("viewer");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("A tenant keeps an owner");
    await page.reload();
    expect(await page.getByLabel("Role of Ada Lovelace").inputValue()).toBe("owner");
    await page.getByRole("button", { name: "Remove Ada Lovelace" }).click();
    const removal = page.getByRole("dialog", { name: "Remove Ada Lovelace" });
    await removal.getByText("Ada Lovelace is the only owner, and cannot be removed.").waitFor();
    expect(await removal.getByRole("button", { name: "Remove" }).isDisabled()).toBe(true);
    await removal.getByRole("button", { name: "Keep" }).click();
    expectQuiet(owner, [/status of 409/]);
    expectQuiet(viewer);
  });

  test("passkeys, renamed, deleted and added by a link: changed, but the last one stays", async () => {
    await owner.open("/people");
    const passkeys = rows(owner, "Your passkeys");
    await passkeys.getByRole("button", { name: /^Actions for/ }).click();
    await passkeys.getByRole("button", { name: /^Delete/ }).click();
    const deletion = page.getByRole("dialog", { name: /^Delete the passkey/ });
    await deletion.getByRole("button", { name: "Delete it for good" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("A person keeps a passkey");
    await deletion.getByRole("button", { name: "Keep it" }).click();

    // A waiting device does not block the dialog.
    await owner.authenticator.agree(false);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    const addition = page.getByRole("dialog", { name: "Add a passkey on this device" });
    await addition.getByLabel("Name").fill("Key");
    await addition.getByRole("button", { name: "Add" }).click();
    await addition.getByRole("button", { name: "Cancel" }).click();
    await addition.waitFor({ state: "detached" });
    await owner.authenticator.agree(true);

    await page.getByRole("button", { name: "Link for another device" }).click();
    await page.getByRole("button", { name: /^Copy: Link/ }).click();
    const link = await clipboard(page);
    await page.getByRole("button", { name: "Done" }).click();
    const device = await openPerson();
    await device.page.goto(link);
    await device.page.getByText("You add a passkey on this device").waitFor();
    await registerHere(device, "Phone");
    expectQuiet(device);
    await page.reload();
    await passkeys.nth(1).waitFor();
    // The lists of the page are read separately.
    await rows(owner, "Members").first().waitFor();
    expect(await rows(owner, "Members").count()).toBe(2);

    await passkeys
      .first()
      .getByRole("button", { name: /^Actions for/ })
      .click();
    await page.getByRole("button", { name: /^Rename/ }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("The phone");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await passkeys.getByText("The phone").waitFor();
    await choose(page, "The phone", "Delete The phone");
    await page.getByRole("button", { name: "Delete it for good" }).click();
    await passkeys.getByText("The phone").waitFor({ state: "detached" });
    await device.context.close();
    expectQuiet(owner, [/status of 409/]);
  });

  test("a session ended and a member removed, by an owner: effective at once", async () => {
    await owner.open("/people");
    const sessions = rows(owner, "Open sessions");
    await sessions
      .filter({ hasText: "Grace Hopper" })
      .getByRole("button", { name: /^End the session/ })
      .click();
    await sessions.filter({ hasText: "Grace Hopper" }).waitFor({ state: "detached" });
    await page.getByText("The session of Grace Hopper has ended.").waitFor();
    await viewer.page.getByRole("link", { name: "Audit" }).click();
    await viewer.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await viewer.page.getByText("Your session has ended").waitFor();
    await viewer.page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await viewer.page.getByRole("heading", { name: "Audit" }).waitFor();

    await page.getByRole("button", { name: "Remove Grace Hopper" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await rows(owner, "Members").filter({ hasText: "Grace Hopper" }).waitFor({ state: "detached" });
    await viewer.page.getByRole("link", { name: "Usage" }).click();
    await viewer.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await viewer.page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await viewer.page.getByRole("alert").waitFor();
    expectQuiet(owner);
    expectQuiet(viewer, [/status of (401|422)/]);
  });

  test("an action that needs the passkey: asks for it, then succeeds", async () => {
    await owner.open("/keys");
    await page.getByRole("button", { name: "Create a live key" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("After five minutes");
    await service.age();
    await page.getByRole("button", { name: "Create the live key" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
    await dialog.waitFor();
    await expectAccessible(page, "passkey again");
    const giveUp = async () => {
      await dialog.getByRole("button", { name: "Use the passkey" }).click();
      await dialog.getByText("Your device is asking for the passkey.").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await page.getByText("This is the only time").count()).toBe(0);
    };
    // Cancelled before the device is asked, so it is not asked.
    const held = Promise.withResolvers<void>();
    const options = "**/verification/options";
    await page.route(options, (route) => held.promise.then(() => route.continue()));
    await giveUp();
    const arrived = page.waitForResponse(options).then((response) => response.finished());
    held.resolve();
    await arrived;
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Create the live key" }).click();
    await dialog.waitFor();
    // Cancelled while the device waits for the person.
    await owner.authenticator.agree(false);
    await giveUp();
    await owner.authenticator.agree(true);
    await page.getByRole("button", { name: "Create the live key" }).click();
    await dialog.getByRole("button", { name: "Use the passkey" }).click();
    await page.getByText("This is the only time").waitFor();
    await page.getByRole("button", { name: "I have stored it" }).click();
    expectQuiet(owner, [/status of 403/]);
  });

  test("the audit page, after a person's action: names the person", async () => {
    await owner.open("/audit?action=api_key.created");
    await rows(owner, "Events").getByText("Ada Lovelace").first().waitFor();
    const [event] = await rows(owner, "Events").allTextContents();
    expect(event).toContain("Key created");
    expect(event).toContain("After five minutes");
    expect(event).toContain("Ada Lovelace");
    await owner.open("/audit?action=user_session.created");
    await rows(owner, "Events").getByRole("link", { name: "A session" }).first().waitFor();
    await page.getByLabel("Action").selectOption({ label: "Member removed" });
    await page.getByText("Member removed").nth(1).waitFor();
    expect(await rows(owner, "Events").count()).toBe(1);
    await page.getByText("1 event", { exact: true }).waitFor();
    await rows(owner, "Events").getByText("A former member").waitFor();
    expectQuiet(owner);
  });

  test("the audit page, filtered by actor, days and object: in the address, its rows of one line", async () => {
    const events = rows(owner, "Events");
    await owner.open("/audit");
    await events.getByText("the service or its operator").first().waitFor();
    await page.getByLabel("Actor").selectOption({ label: "Ada Lovelace" });
    await events.getByText("the service or its operator").first().waitFor({ state: "detached" });
    expect(page.url()).toMatch(/actor=usr_/);
    for (const text of await events.allTextContents()) expect(text).toContain("Ada Lovelace");
    const heights = `[...document.querySelectorAll("ul[aria-label=Events] > li")].map((row) => row.offsetHeight)`;
    for (const width of [DESKTOP.width, 360]) {
      await page.setViewportSize({ width, height: 800 });
      expect(Math.max(...((await page.evaluate(heights)) as number[]))).toBeLessThanOrEqual(44);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await page.getByRole("button", { name: "Details: Key created" }).first().click();
    await page.getByText("Credential of the key").waitFor({ state: "detached" });
    await expectAccessible(page, "audit details");
    await page.setViewportSize(DESKTOP);
    const created = events.filter({ hasText: "Key created" }).first();
    await created
      .getByRole("button", { name: /^Copy the id key_/ })
      .first()
      .click();
    const keyId = await clipboard(page);
    await page.getByRole("button", { name: "Only this object" }).click();
    await page.getByRole("button", { name: /^Only .* Show all objects$/ }).waitFor();
    expect(page.url()).toContain(`target=${keyId}`);
    for (const [from, words] of [
      ["2090-01-01", "No event matches these filters."],
      ["2020-01-01", "Key created"],
    ] as const) {
      await page.getByLabel("From").fill(from);
      await page.getByRole("main").getByText(words).last().waitFor();
    }
    expect(page.url()).toContain("since=2020-01-01");
    // The key shows its creator, and links to its actions.
    await created.getByRole("link").first().click();
    const dialog = page.getByRole("dialog");
    await dialog
      .locator("dt", { hasText: "Created by" })
      .locator("..")
      .getByRole("link", { name: "Ada Lovelace" })
      .waitFor();
    await dialog.getByRole("button", { name: "What it did" }).click();
    await page.getByText("No event matches these filters.").waitFor();
    expect(page.url()).toContain(`actor=${keyId}`);
    expectQuiet(owner);
  });
});
