/**
 * Every page, by its address, at the width of a desktop and of a phone, in both colour schemes: layout, accessibility,
 * states, keyboard.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import type { Page } from "playwright-core";
import { expectAccessible } from "./support/axe.ts";
import { createCaller, makeCall, seedCaller } from "./support/calls.ts";
import { choose, DESKTOP, expectErrorsOnce, expectQuiet, failRequests, PHONE } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

/** A folder for screenshots of the pages. They take a third of the time of these tests. */
const SCREENSHOTS = process.env["SCREENSHOTS"];

/** Takes a screenshot if `SCREENSHOTS` is set. */
const picture = async (page: Page, name: string, fullPage = false): Promise<void> => {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
};

const isLong = process.env["LONG"] === "1";

const WIDTHS = { desktop: DESKTOP, phone: PHONE };

const PAGES = [
  ["", "Home"],
  ["keys", "API keys"],
  ["avatars", "Avatars"],
  ["videos", "Videos"],
  ["usage", "Usage and credits"],
  ["usage?tab=calls", "Usage and credits"],
  ["usage?tab=ledger", "Usage and credits"],
  ["webhooks", "Webhooks"],
  ["audit", "Audit"],
  ["people", "People"],
] as const;

/** The pages of which a list is the content. */
const LISTS: readonly string[] = ["keys", "avatars", "webhooks", "audit"];
/** The part of a phone's screen that is above such a list. */
const MAX_LIST_TOP = 0.45;

/** Waits until no placeholder is left. */
const settled = async (page: Page): Promise<void> => {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(".shimmer").first().waitFor({ state: "detached" });
};

const STATES = [
  ["phone", "dark"],
  ["desktop", "light"],
  ["phone", "light"],
  ["desktop", "dark"],
] as const;
let checks = 0;

/**
 * Checks the page at both widths and in both colour schemes with LONG=1. Otherwise alternates between the first two
 * states. One load suffices, and each further load would restart axe.
 */
const expectAccessibleInEachState = async (page: Page, name: string, fullPage = false): Promise<void> => {
  const states = isLong ? STATES : [STATES[checks++ % 2] ?? STATES[0]];
  for (const [width, colorScheme] of states) {
    await page.setViewportSize(WIDTHS[width]);
    await page.emulateMedia({ colorScheme });
    const state = `${name}-${width}-${colorScheme}`;
    await picture(page, state, fullPage);
    await expectAccessible(page, state);
  }
};

const MAX_FIRST_LOAD_BYTES = 150 * 1024;

const widthOf = (page: Page) => page.evaluate("document.documentElement.scrollWidth") as Promise<number>;

const { service, owner, page } = await fileWorld();

describe.skipIf(!BROWSER)("the pages in Chromium", () => {
  beforeAll(async () => {
    const scopes = ["*", "usage:write"] as ["*", "usage:write"];
    const limits = { spendLimitCreditMicros: 500_000_000 };
    const call = await seedCaller(service, { name: "Website", environment: "live", scopes, ...limits });
    const { apiKey } = await call("POST", "/api-keys", {
      name: "Calls of the website, with a name that is far longer than any column of any table is wide",
      environment: "live",
      scopes: ["realtime:write", "usage:write", "usage:read"],
    });
    await makeCall(call, 125);
    await makeCall(createCaller(service, String(apiKey)), 290);
    await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" });
    await call("POST", "/avatars", { displayName: "A".repeat(160), sourceKind: "image" });
    await call("POST", "/webhook-endpoints", { url: "https://hooks.example.com/avatars", events: ["avatar.*"] });
  });

  test("each page, by its address, on desktop and phone, light and dark: fits the window, is accessible, and nothing moves (LONG=1: in all states)", async () => {
    await page.addInitScript(`new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.moved = (window.moved ?? 0) + value;
    }).observe({ type: "layout-shift", buffered: true });`);
    for (const [index, [path, heading]] of PAGES.entries()) {
      const widths = Object.entries(WIDTHS);
      // A load takes as long as the rest of the check. In the sample, pages are loaded at alternating widths.
      const loaded = isLong ? widths : [widths[index % 2] as (typeof widths)[number]];
      for (const [width, viewport] of loaded) {
        await page.setViewportSize(viewport);
        await owner.open(path && `/${path}`);
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await settled(page);
        expect(await page.title()).toBe(`${heading} · Realtime Avatar`);
        // 0.1 is the limit for a good page: web.dev/articles/cls
        expect([path, width, ((await page.evaluate("window.moved ?? 0")) as number) < 0.1]).toEqual([
          path,
          width,
          true,
        ]);
      }
      // No content is cut off or must be scrolled sideways.
      for (const viewport of Object.values(WIDTHS)) {
        await page.setViewportSize(viewport);
        expect([path, await widthOf(page)]).toEqual([path, viewport.width]);
        if (viewport === PHONE && LISTS.includes(path)) {
          const top = (await page.getByRole("main").getByRole("list").first().boundingBox())?.y ?? Number.NaN;
          expect([path, top < MAX_LIST_TOP * PHONE.height]).toEqual([path, true]);
        }
      }
      await expectAccessibleInEachState(page, path, true);
    }
    expectQuiet(owner);
  });

  test("each dialog, on desktop and phone, light and dark: accessible (LONG=1: in all states)", async () => {
    await owner.open("/keys");
    for (const [path, link, heading, names] of [
      [
        "keys",
        "Keys",
        "API keys",
        ["Create a live key", "Website", "Change Website", "Revoke Website", "Rotate Website"],
      ],
      ["avatars", "Avatars", "Avatars", ["Create an avatar"]],
      ["webhooks", "Webhooks", "Webhooks", ["Add an endpoint"]],
      ["people", "People", "People", ["Invite a colleague"]],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await settled(page);
      for (const name of names) {
        if (/^(Change|Revoke|Rotate) /.test(name)) await choose(page, "Website", name);
        else await page.getByRole("button", { name, exact: true }).click();
        const dialog = page.getByRole("dialog");
        await dialog.waitFor();
        await expectAccessibleInEachState(page, `${path}-${name.toLowerCase().replaceAll(" ", "-")}`);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      }
    }
    expectQuiet(owner);
  });

  test("the first load, compressed with gzip: at most 150 KiB", async () => {
    const { url } = service;
    const html = await (await fetch(`${url}/dashboard`)).text();
    const files = [...html.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(files).toHaveLength(3);
    let bytes = html.length;
    for (const path of files) {
      const file = await fetch(url + path, { headers: { "accept-encoding": "gzip" }, decompress: false });
      expect(file.headers.get("content-encoding")).toBe("gzip");
      bytes += (await file.arrayBuffer()).byteLength;
    }
    expect(bytes).toBeLessThanOrEqual(MAX_FIRST_LOAD_BYTES);
  });

  test("the scripts of pages: apart from the first load, each once", async () => {
    const scripts: string[] = [];
    const note = (request: { url(): string }) => {
      if (request.url().endsWith(".js")) scripts.push(new URL(request.url()).pathname);
    };
    page.on("request", note);
    await owner.open("/keys");
    await settled(page);
    for (const [link, heading] of [
      ["Usage", "Usage and credits"],
      ["Webhooks", "Webhooks"],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    }
    page.off("request", note);
    const html = await (await fetch(`${service.url}/dashboard`)).text();
    expect(scripts.filter((path) => !html.includes(path)).length).toBeGreaterThanOrEqual(3);
    expect(new Set(scripts).size).toBe(scripts.length);
    expectQuiet(owner);
  });

  test("the lists of keys and avatars, opened by an address: read in parallel with the session", async () => {
    for (const [path, list] of [
      ["/keys?filter=web&status=expired&environment=test", "api-keys"],
      ["/avatars?filter=1&since=2026-01-01", "avatars"],
    ] as const) {
      // The session is answered only after the list was requested.
      const lists: string[] = [];
      const isAsked = Promise.withResolvers<void>();
      const note = (request: { url(): string }) => {
        if (!request.url().includes(`/api/v1/${list}?`)) return;
        lists.push(request.url());
        isAsked.resolve();
      };
      page.on("request", note);
      await page.route("**/user-sessions/current", async (route) => {
        await isAsked.promise;
        await route.continue();
      });
      await owner.open(path);
      await page
        .getByText(/^No (key|avatar) matches/)
        .first()
        .waitFor({ timeout: 15_000 });
      // The page has read the same list, and no other.
      expect(lists).toHaveLength(1);
      page.off("request", note);
      isAsked.resolve();
      await page.unroute("**/user-sessions/current");
    }
    expectQuiet(owner);
  });

  test("a failed request: the text of the problem and its request id", async () => {
    await page.setViewportSize(DESKTOP);
    const detail = "The words of the service.";
    const requestId = await failRequests(page, "**/api/v1/api-keys?*", detail);
    await owner.open("/keys");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect(await alert.textContent()).toContain(detail);
    expect(await alert.textContent()).toContain(requestId);
    await expectAccessible(page, "failure");
    await picture(page, "failure");
    await page.unroute("**/api/v1/api-keys?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Website", exact: true }).waitFor();
    expect(await alert.count()).toBe(0);
    expectQuiet(owner, [/status of 500/]);
  });

  test("a device, offline and online again: a message; the page continues", async () => {
    const { page, context } = owner;
    await context.setOffline(true);
    await page.getByText("This device is offline").waitFor();
    await picture(page, "offline");
    // A list that is not read again for other reasons.
    await page.getByRole("link", { name: "People" }).click();
    await page.getByText("The page is read again when the connection is back.").first().waitFor();
    await context.setOffline(false);
    await page.getByText("This device is offline").first().waitFor({ state: "detached" });
    await page.getByRole("list", { name: "Your passkeys" }).getByText("First passkey").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);

    // An action is not repeated automatically, because it may have been executed.
    await page.getByRole("button", { name: "Invite a colleague" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail address").fill("grace@example.com");
    await context.setOffline(true);
    await dialog.getByRole("button", { name: "Create the link" }).click();
    await dialog.getByText("Try again when the connection is back.").waitFor();
    await context.setOffline(false);
    await dialog.getByText("The service did not respond. Try again.").waitFor();
    await dialog.getByRole("button", { name: "Create the link" }).click();
    await page.getByText("Send this link to").waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    expectQuiet(owner, [/ERR_INTERNET_DISCONNECTED/]);
  });

  test("an error, in a long dialog on a phone: scrolled into view", async () => {
    await page.setViewportSize(PHONE);
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByRole("button", { name: "Create a live key" }).click();
    const dialog = page.getByRole("dialog");
    // The service refuses the value; the browser does not.
    await dialog.getByLabel("Name").fill("   ");
    await dialog.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await dialog.getByRole("button", { name: "Create the live key" }).click();
    await expectErrorsOnce(dialog);
    const [alert, frame] = await Promise.all([dialog.getByRole("alert").boundingBox(), dialog.boundingBox()]);
    expect((alert?.y ?? 0) >= (frame?.y ?? 0)).toBe(true);
    await page.keyboard.press("Escape");
    await page.setViewportSize(DESKTOP);
    expectQuiet(owner, [/status of 422/]);
  });

  test("only the keyboard: reaches everything; a dialog returns the focus", async () => {
    await owner.open("/keys");
    await settled(page);
    const focused = () =>
      page.evaluate(
        "document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent || ''",
      ) as Promise<string>;
    const reached: string[] = [];
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press("Tab");
      const name = await focused();
      if (reached.length > 0 && name === reached[0]) break;
      reached.push(name);
    }
    for (const name of ["Skip to the page", "Keys", "People", "Create a live key", "Website", "Actions for Website"]) {
      expect(reached).toContain(name);
    }
    await page.getByRole("button", { name: "Actions for Website" }).focus();
    await page.keyboard.press("Enter");
    // The menu: Escape closes it and returns the focus.
    await page.getByRole("button", { name: "Revoke Website" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await focused()).toBe("Actions for Website");
    await page.keyboard.press("Enter");
    for (let action = 0; action < 3; action++) await page.keyboard.press("Tab");
    expect(await focused()).toBe("Revoke Website");
    expect(await page.evaluate("document.activeElement.className")).toContain("text-bad");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await focused()).toBe("Keep it");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused()).toBe("Actions for Website");
    expectQuiet(owner);
  });

  test("a file, dropped outside a field: the page stays", async () => {
    const isKept = await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["x"], "photo.jpg", { type: "image/jpeg" }));
      const dropped = (type) => new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer });
      // False: what the browser would do by itself, to show the file in place of the page, is prevented.
      return ["dragover", "drop"].map((type) => document.querySelector("main").dispatchEvent(dropped(type)));
    })()`);
    expect(isKept).toEqual([false, false]);
    expect(await page.getByRole("dialog").count()).toBe(0);
    expectQuiet(owner);
  });

  test("an empty tenant, on each page: the next step", async () => {
    await page.setViewportSize(DESKTOP);
    await page.route(/\/api\/v1\/(api-keys|avatars|videos|audit-events|webhook-endpoints)/, (route) =>
      route.fulfill({ json: { data: [], nextCursor: null } }),
    );
    await owner.open("/keys");
    for (const [path, link, words] of [
      ["keys", "Keys", "No active live keys"],
      ["avatars", "Avatars", "Create your first avatar"],
      ["videos", "Videos", "No live videos yet"],
      ["webhooks", "Webhooks", "Add your first endpoint"],
      ["audit", "Audit", "Create a key or an avatar"],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByText(words).waitFor();
      await picture(page, `${path}-empty`);
      await expectAccessible(page, `${path} empty`);
    }
    await page.unrouteAll();
    expectQuiet(owner);
  });

  test("the environment, switched: visible, and part of the address", async () => {
    await owner.open("/keys");
    await settled(page);
    for (const viewport of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      const place = () => page.getByText("Test", { exact: true }).boundingBox();
      const before = await place();
      await page.getByText("Test", { exact: true }).click();
      await page.getByText("Test environment: separate from live calls").waitFor();
      // The switch keeps its place under the pointer.
      expect(await place()).toEqual(before);
      await page.getByText("Live", { exact: true }).click();
      await page.getByText("Live environment: calls spend live credits").waitFor();
    }
    await page.getByText("Test", { exact: true }).click();
    await page.getByText("Test environment").waitFor();
    expect(page.url()).toContain("environment=test");
    await page.getByRole("link", { name: "Usage", exact: true }).click();
    await page.getByRole("heading", { name: "Usage and credits" }).waitFor();
    expect(page.url()).toContain("environment=test");
    await settled(page);
    await expectAccessible(page, "test environment");
    await page.reload();
    await page.getByText("Test environment").waitFor();
    await page.getByText("Live", { exact: true }).click();
    await page.getByText("Test environment").waitFor({ state: "detached" });
    expectQuiet(owner);
  });
});
