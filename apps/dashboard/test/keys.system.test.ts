/** Keys: the first one, its secret, its changes, its lineage and its end. */
import { beforeAll, describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { bun, runToEnd } from "@realtime-avatar/testing/processes";
import type { Page } from "playwright-core";
import { expectAccessible } from "./support/axe.ts";
import { createCaller, seedCaller } from "./support/calls.ts";
import { choose, clipboard, expectErrorsOnce, expectQuiet } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

/** The secret in the dialog, copied by its button. */
const copySecret = async (page: Page): Promise<string> => {
  await page.getByRole("button", { name: "Copy: Live API key" }).click();
  return clipboard(page);
};

/** Runs a copied program with the secret in its environment. Returns its output. */
const runProgram = async (text: string, extension: "ts" | "py", secret: string): Promise<string> => {
  // Written into this package, so that it finds the client.
  const file = join(import.meta.dir, `copied-${process.pid}.${extension}`);
  // Without Python, the Python program is not run.
  const python = process.env["PYTHON"] ?? Bun.which("python3");
  if (extension === "py" && !python) return "My app (there is no python3)";
  await Bun.write(file, text);
  const { code, stdout } = await runToEnd(extension === "ts" ? bun(file) : [python as string, file], {
    API_KEY: secret,
  });
  await rm(file);
  return code === 0 ? stdout : `exit ${code}`;
};

const { service, owner, page } = await fileWorld();

describe.skipIf(!BROWSER)("the keys page in Chromium", () => {
  let secret = "";

  const card = (name: string) => page.getByRole("listitem").filter({ hasText: name });

  test("a key, created on the page: its curl line works; the secret is not stored", async () => {
    // Opens another page first, so that the back button stays in the dashboard.
    await owner.open("/audit");
    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByRole("button", { name: "Create a live key" }).click();
    const dialog = page.getByRole("dialog");
    // The cap and the expiry are visible, because the first preset has an expiry.
    const cap = dialog.getByLabel("Spend cap in credits");
    const expires = dialog.getByLabel("Expires");
    for (const field of [cap, expires]) {
      const { y = 0, height = 0 } = (await field.boundingBox()) ?? {};
      expect(y + height).toBeLessThan((await dialog.getByRole("button", { name: "Cancel" }).boundingBox())?.y ?? 0);
    }
    expect(await expires.inputValue()).toBe("365");
    // No preset is for a page, because the service allows no pages of other origins.
    expect(await dialog.getByRole("radio", { name: /browser/i }).count()).toBe(0);
    await dialog.getByRole("radio", { name: "Calls only" }).check();
    expect([await cap.inputValue(), await expires.inputValue()]).toEqual(["600", "90"]);
    expect(await dialog.getByLabel("Calls at once").inputValue()).toBe("10");
    await dialog.getByRole("radio", { name: "Read only" }).check();
    expect([await cap.inputValue(), await expires.inputValue()]).toEqual(["", "90"]);
    const chosen = dialog.getByRole("group", { name: "What the key may do" }).getByRole("checkbox", { checked: true });
    expect(await chosen.count()).toBe(3);
    await dialog.getByRole("radio", { name: "Engine" }).check();
    await dialog.getByText(/keys create --tenant ten_.* --scopes .*usage:write/).waitFor();
    await dialog.getByRole("radio", { name: "Server" }).check();
    await dialog.getByLabel("Name").fill("My app");
    await cap.fill("12.5");
    await expires.selectOption({ label: "In 30 days" });
    await dialog.getByRole("checkbox", { name: "api_keys:write" }).check();
    expect(await dialog.getByRole("checkbox", { name: "usage:write", exact: true }).count()).toBe(0);
    await dialog.getByText("Only the operator gives a key usage:write").waitFor();
    await dialog.getByRole("button", { name: "Create the live key" }).click();
    await page.getByText("This is the only time").waitFor();
    // Escape and the back button do not close the only view of the secret. The browser asks before a reload.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.evaluate("history.back()");
    const asked = page.waitForEvent("dialog");
    await page.evaluate("setTimeout(() => location.reload())");
    await (await asked).dismiss();
    expect((await asked).type()).toBe("beforeunload");
    await page.waitForURL(/\/dashboard\/keys/);
    await page.getByText("This is the only time").waitFor();
    secret = await copySecret(page);
    expect(secret).toMatch(/^rta_live_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/);
    await page.getByRole("button", { name: "Copy: Try it" }).click();
    const curl = Bun.spawn(["sh", "-c", await clipboard(page)], { stdout: "pipe" });
    const answer = JSON.parse(await new Response(curl.stdout).text());
    expect([answer.name, answer.spendLimitCreditMicros, answer.environment]).toEqual(["My app", 12_500_000, "live"]);
    const filled = ["avatars:read", "avatars:write", "credits:read", "realtime:write", "usage:read"];
    expect(answer.scopes.sort()).toEqual(["api_keys:write", ...filled]);
    for (const [language, extension] of [
      ["TypeScript", "ts"],
      ["Python", "py"],
    ] as const) {
      await page.getByRole("radio", { name: language }).check();
      await page.getByRole("button", { name: "Copy: Try it" }).click();
      expect(await runProgram(await clipboard(page), extension, secret)).toStartWith("My app ");
    }
    await page.getByRole("button", { name: "I have stored it" }).click();
    await card("My app").getByText("0 of 12.5").waitFor();
    // The secret is neither on the page nor in the browser's storage.
    const kept = await page.evaluate(
      "document.documentElement.outerHTML + JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])",
    );
    expect(kept).not.toContain(secret);
    expectQuiet(owner);
  });

  test("a key, refused by the service: the error is beside its field", async () => {
    await page.getByRole("button", { name: "Create a live key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("   ");
    // Finer than a credit micro, so it would become a cap of 0.
    await dialog.getByLabel("Spend cap in credits").fill("0.0000001");
    await dialog.getByText("Must be a number such as 12.5").waitFor();
    expect(await dialog.getByRole("button", { name: "Create the live key" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Spend cap in credits").fill("");
    await dialog.getByRole("button", { name: "Create the live key" }).click();
    await expectErrorsOnce(dialog);
    expect(await dialog.getByLabel("Name").getAttribute("aria-invalid")).toBe("true");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expectQuiet(owner, [/status of 422/]);
  });

  test("a key, rotated with an overlap: a new secret, and the old one works until its end", async () => {
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await choose(page, "My app", "Rotate My app");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText("This is the only time").waitFor();
    const rotated = await copySecret(page);
    expect(rotated).not.toBe(secret);
    for (const each of [secret, rotated]) {
      expect((await createCaller(service, each)("GET", "/api-keys/self"))["name"]).toBe("My app");
    }
    secret = rotated;
    // A reload and the back button do not close the only view.
    const question = page.waitForEvent("dialog");
    const reload = page.evaluate("setTimeout(() => location.reload())");
    expect((await question).type()).toBe("beforeunload");
    await (await question).dismiss();
    await reload;
    await page.evaluate("history.back()");
    await page.getByText("This is the only time").waitFor();
    expect(await page.getByRole("dialog").getByText(rotated).count()).toBeGreaterThan(0);
    await page.getByRole("button", { name: "I have stored it" }).click();
    expectQuiet(owner);
  });

  test("a key, revoked on the page: its lineage is shown, with the keys that end with it", async () => {
    const call = createCaller(service, secret);
    const child = { name: "Child", scopes: ["api_keys:write"], environment: "live" };
    const { apiKey } = await call("POST", "/api-keys", child);
    await createCaller(service, String(apiKey))("POST", "/api-keys", {
      name: "Grandchild",
      scopes: ["api_keys:write"],
      environment: "test",
    });
    await page.reload();
    const names = page.getByRole("list", { name: "API keys" }).getByRole("listitem");
    await card("Child").first().waitFor();
    const rows = await names.evaluateAll((items) =>
      items.map((item) => [item.querySelector("button")?.textContent, item.querySelector(".sr-only")?.textContent]),
    );
    const at = rows.findIndex(([name]) => name === "My app");
    expect(rows[at + 1]).toEqual(["Child", `level ${Number(rows[at]?.[1]?.slice(6) ?? 1) + 1}`]);
    await page.getByRole("button", { name: "My app", exact: true }).click();
    const details = page.getByRole("dialog");
    await details.getByText("Active keys below it").waitFor();
    expect(page.url()).toContain("key=key_");
    await page.keyboard.press("Escape");

    // The action that ends the key is the last one of the menu, in a different colour.
    await page.getByRole("button", { name: "Actions for My app", exact: true }).click();
    const colours = new Map(
      await page.locator("[popover]:popover-open button").evaluateAll((buttons) =>
        buttons.map((button) => {
          const { color } = (button.ownerDocument.defaultView as Window).getComputedStyle(button);
          return [button.textContent, color] as const;
        }),
      ),
    );
    expect([...colours.keys()]).toEqual(["Change", "Rotate", "Revoke"]);
    expect([colours.get("Change") === colours.get("Rotate"), colours.get("Revoke") === colours.get("Rotate")]).toEqual([
      true,
      false,
    ]);
    await page.keyboard.press("Escape");

    await choose(page, "My app", "Revoke My app");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 keys that it created").waitFor();
    expect(await dialog.getByRole("listitem").allTextContents()).toEqual(["Grandchildtest", "Childlive"]);
    await dialog.getByText("Its open calls with avatars end within seconds").waitFor();
    await dialog.getByRole("button", { name: "Revoke 3 keys" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("My app and 2 keys below it are revoked.").waitFor();
    expect(await page.evaluate("document.activeElement?.id")).toBe("page");
    await card("Child").first().waitFor({ state: "detached" });
    await page.getByLabel("Status").selectOption("All");
    await card("Child").first().getByText("revoked").waitFor();
    const refused = await call("GET", "/api-keys/self").catch((error: Error) => error.message);
    expect(refused).toContain("revoked_api_key");
    expectQuiet(owner);
  });

  describe("the dialog that changes a key", () => {
    const dialog = () => page.getByRole("dialog", { name: /^Change / });
    const passkey = () => page.getByRole("dialog", { name: "Confirm it is you" });
    const changes = () => dialog().getByRole("region", { name: "What changes" });
    const save = () => dialog().getByRole("button", { name: "Save the changes" }).click();
    /** The key in the database. */
    const stored = async (name: string) => {
      const [row] = await service.database.db.client`
        select scopes, spend_limit_credit_micros as cap, expires_at as expiry, version from api_keys where name = ${name}`;
      return row;
    };

    beforeAll(async () => {
      const scopes = ["avatars:read" as const, "api_keys:write" as const];
      const limits = { environment: "live" as const, spendLimitCreditMicros: 5_000_000 };
      const call = await seedCaller(service, { name: "Shop", scopes, ...limits });
      await call("POST", "/api-keys", { name: "Till", environment: "live", scopes: ["avatars:read"] });
      await owner.open("/keys");
    });

    test("a change, wider and narrower: described, and widening asks for the passkey", async () => {
      const { page } = owner;
      await service.age();
      await choose(page, "Shop", "Change Shop");
      await changes().getByText("Nothing has been changed yet.").waitFor();
      await dialog().getByLabel("Name").fill("Store");
      await dialog().getByRole("checkbox", { name: "usage:read" }).check();
      await dialog().getByRole("checkbox", { name: "avatars:read" }).uncheck();
      await dialog().getByLabel("Spend cap in credits").fill("3");
      await dialog().getByLabel("Expires").selectOption({ label: "In 30 days" });
      expect(await changes().getByRole("listitem").allTextContents()).toEqual([
        "Name: Shop → Store",
        "widerMay also do: usage:read",
        "narrowerMay no longer do: avatars:read",
        "narrowerSpend cap: 5 credits → 3 credits",
        expect.stringMatching(/^narrowerExpires: never → /),
      ]);
      expect(await changes().textContent()).toContain("1 active key below it keeps its own scopes and limits.");
      await expectAccessible(page, "change a key");
      await save();
      await passkey().getByRole("button", { name: "Use the passkey" }).click();
      await dialog().waitFor({ state: "detached" });
      await card("Store").first().waitFor();
      expect(await stored("Store")).toMatchObject({ scopes: ["api_keys:write", "usage:read"], cap: "3000000" });
      // The limits of the upper key are in effect for the lower one, whose own values stay.
      await card("Till").getByText("In effect: 3 credits, the cap of a key above it.").waitFor();
      expect(await stored("Till")).toMatchObject({
        scopes: ["avatars:read"],
        cap: "5000000",
        expiry: null,
        version: 1,
      });
      expectQuiet(owner, [/status of 403/]);
    });

    test("a narrowing change: no passkey, and an unchanged expiry is not written", async () => {
      const { page } = owner;
      await service.age();
      const before = await stored("Store");
      await choose(page, "Store", "Change Store");
      await dialog().getByLabel("Spend cap in credits").fill("2.5");
      const sent = page.waitForRequest((request) => request.method() === "PATCH");
      await save();
      expect((await sent).postDataJSON()).toEqual({ spendLimitCreditMicros: 2_500_000 });
      await dialog().waitFor({ state: "detached" });
      expect(await passkey().count()).toBe(0);
      expect(await stored("Store")).toMatchObject({ cap: "2500000", expiry: before?.["expiry"] });
      expectQuiet(owner);
    });

    test("a change, another person's change in between: shown, not overwritten", async () => {
      const { page } = owner;
      await choose(page, "Store", "Change Store");
      await dialog().getByLabel("Spend cap in credits").fill("2");
      await service.database.db.client`
        update api_keys set name = 'Market', scopes = '{avatars:read}', version = version + 1 where name = 'Store'`;
      await save();
      await dialog().getByText("The key was changed meanwhile, so nothing was saved.").waitFor();
      expect(await dialog().getByLabel("Name").inputValue()).toBe("Market");
      expect(await dialog().getByRole("checkbox", { name: "avatars:read" }).isChecked()).toBe(true);
      expect(await dialog().getByLabel("Spend cap in credits").inputValue()).toBe("2");
      expect(await stored("Market")).toMatchObject({ cap: "2500000" });
      await expectAccessible(page, "a key that was changed meanwhile");
      await save();
      await dialog().waitFor({ state: "detached" });
      expect(await stored("Market")).toMatchObject({ cap: "2000000", scopes: ["avatars:read"] });
      expectQuiet(owner, [/status of 412/]);
    });

    test("a change, while it saves: the dialog cannot be closed", async () => {
      const { page } = owner;
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(/\/api-keys\/key_/, async (route) => {
        if (route.request().method() === "PATCH") await held;
        await route.continue();
      });
      await choose(page, "Market", "Change Market");
      await dialog().getByLabel("Name").fill("Bazaar");
      await save();
      await dialog().locator("[aria-busy]").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      expect(await dialog().getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
      expect(await dialog().isVisible()).toBe(true);
      release();
      await dialog().waitFor({ state: "detached" });
      await card("Bazaar").first().waitFor();
      await page.unrouteAll();
      expectQuiet(owner);
    });
  });
});
