/** The page of calls: a person talks to an avatar, with LiveKit and an avatar worker. */
import { beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { LEVEL, LOOK } from "@realtime-avatar/testing/browser";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expectAccessible } from "./support/axe.ts";
import { callPages, drawnAvatar, RECORD_MICROPHONES, untilSeconds } from "./support/call-page.ts";
import { type CallWorld, callWorld, missing, SLOTS } from "./support/call-world.ts";
import { seedCaller } from "./support/calls.ts";
import { DESKTOP, expectQuiet, PHONE } from "./support/person.ts";

const skipped = missing === null ? "" : ` (skipped: ${missing})`;
/**
 * The file for the picture of docs/dashboard.md: `CALL_PICTURE=docs/images/call-page.png bun test
 * apps/dashboard/test/call.system.test.ts`.
 */
const CALL_PICTURE = process.env["CALL_PICTURE"];
const LONG = process.env["LONG"] === "1";
/** Number of pages that are opened at once. */
const PAGES = LONG ? 50 : 3;
/** On a busy machine, fifty pages load for a long time. */
const PAGES_MS = 600_000;
/** The limit of each wait, far below the timeout of a test, so that a failed wait reports what the pages show. */
const WAIT_MS = LONG ? 300_000 : 50_000;
setDefaultTimeout(120_000);

/** A folder for screenshots of the page. */
const SCREENSHOTS = process.env["SCREENSHOTS"];
const picture = async (page: Page, name: string): Promise<void> => {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
};

const SHOWN = `!document.querySelector("video").classList.contains("invisible")`;

const world = missing === null ? await callWorld(CALL_PICTURE ? { WORKER: "true" } : {}) : ({} as CallWorld);
const { service, owner, stopCalls } = world;

describe.skipIf(missing !== null)(`a call on its page in Chromium${skipped}`, () => {
  const { openPage, activeKeys, openCalls, isOver, test } = callPages(world, WAIT_MS);
  let avatar = "";
  let page: Page;
  const secrets: string[] = [];

  beforeAll(async () => {
    const call = await seedCaller(service, { name: "Website", environment: "live", scopes: ["*"] });
    ({ id: avatar } = (await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" })) as {
      id: string;
    });
    await service.database.db.client`update avatars set status = 'ready'`;
    owner.context.on("response", async (response) => {
      if (response.status() !== 201 || !response.url().endsWith("/api/v1/api-keys")) return;
      secrets.push(((await response.json()) as { apiKey: string }).apiKey);
    });
  });

  beforeEach(async () => {
    page = await openPage();
  });

  const button = (name: string, at = page) => at.getByRole("button", { name, exact: true });
  const openPath = (path: string) => page.goto(`${service.url}/dashboard${path}`);
  const open = (at = page) => at.goto(`${service.url}/dashboard/call?avatar=${avatar}`);
  const figure = (name: string) => page.locator("dl > div").filter({ hasText: name }).locator("dd");
  /** `waitForFunction` would evaluate a string in the page, which the policy of the page forbids. */
  const untilTrue = (at: Page, expression: string) => until(async () => (await at.evaluate(expression)) === true);
  const startButton = (at = page) => button("Start the call", at);
  /** Opens the microphone, and then starts the call. */
  const start = async (at = page): Promise<void> => {
    await button("Try the microphone", at).click();
    await startButton(at).click();
  };
  test("the person, from the avatar to the bill: sees it move, hears the echo, and finds the call", async () => {
    await openPath(`/avatars?avatar=${avatar}`);
    await page.getByRole("link", { name: "Try a call" }).click();
    await page.getByRole("heading", { name: "Try a call with Grace" }).waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize(PHONE);
    await expectAccessible(page, "before the call");
    await picture(page, "call-before-phone-dark");
    // With the keyboard only: first the microphone, whose level is shown before credits are held.
    await button("Try the microphone").focus();
    await page.keyboard.press("Enter");
    await untilTrue(page, `Number.parseInt(document.querySelector("[data-level]")?.getAttribute("width")) > 0`);
    expect([await activeKeys(), await openCalls()]).toEqual([0, 0]);
    await expectAccessible(page, "with the microphone");
    await picture(page, "call-ready-phone-dark");
    await startButton().focus();
    await page.keyboard.press("Enter");
    await untilTrue(page, `${SHOWN} && ${LOOK} > 0`);
    const pictures = new Set<unknown>();
    await until(async () => pictures.add(await page.evaluate(LOOK)).size >= 4, { pollMs: 100 });
    await untilTrue(page, `${LEVEL} > 0.02`);
    await untilSeconds(page, (seconds) => seconds >= 2);
    // After the first minute, the figure still starts from the service's count.
    let used = 112;
    const report = () =>
      service.database.db.client`update usage_sessions set used = ${used * 1_000_000} where ended_at is null`;
    await report();
    const first = await untilSeconds(page, (seconds) => seconds >= used);
    await untilSeconds(page, async (seconds) => {
      expect(seconds).toBeGreaterThanOrEqual(first);
      // The page counts at most ten seconds ahead. It may have done so before a slow machine checks.
      if (seconds >= used + 10) {
        used = seconds + 1;
        await report();
      }
      return seconds > first;
    });
    await expectAccessible(page, "in the call");
    await picture(page, "call-open-phone-dark");
    await button("Mute the microphone").click();
    await button("Turn the microphone on").waitFor();
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(DESKTOP);
    await picture(page, "call-open-desktop-light");
    await button("Hang up").click();
    await page.getByText("You hung up.").waitFor();
    await figure("Charged")
      .filter({ hasText: /^\d+ credits$/ })
      .waitFor();
    await expectAccessible(page, "after the call");
    await picture(page, "call-over-desktop-light");
    await until(async () => (await activeKeys()) === 0);
    await page.getByRole("link", { name: "See the call" }).click();
    await page.getByRole("dialog").getByText("Try a call").first().waitFor();
    await page.getByRole("dialog").getByText("Hung up", { exact: true }).first().waitFor();
    // The library checks its connections every four seconds, also while the room is deleted.
    expectQuiet(owner, [
      /^request to http:\/\/127\.0\.0\.1/,
      /^warning: detected connection state mismatch .*numFailures: 1}$/,
    ]);
  });

  test("the key of the page: one scope, a cap and an expiry; its secret is in no address, storage or text", async () => {
    await open();
    await button("Try the microphone").click();
    await startButton().dblclick();
    await button("Mute the microphone").waitFor();
    const [key] = await service.database.db.client`
      select * from api_keys where name = 'Try a call' order by created_at desc limit 1`;
    expect(key).toMatchObject({ scopes: ["realtime:write"], environment: "live", max_concurrent_sessions: "1" });
    expect(Number(key?.["spend_limit_credit_micros"])).toBe(600_000_000);
    expect(Number(key?.["expires_at"]) - Number(key?.["created_at"])).toBeLessThanOrEqual(30 * 60_000 + 1000);
    const secret = secrets.at(-1) ?? "";
    expect(secret).toStartWith("rta_live_");
    const kept = `JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}, document.cookie, document.documentElement.outerHTML])`;
    expect(await page.evaluate(kept)).not.toContain(secret.slice(-30));
    expect(service.log()).not.toContain(secret.slice(-30));
    // Another page of this browser cannot have a second call.
    const second = await owner.context.newPage();
    await open(second);
    await start(second);
    await second.getByText("Another page of this browser has a call.").waitFor();
    // The second page had no call, so it offers to try again.
    await button("Try again", second).waitFor();
    expect(await activeKeys()).toBe(1);
    await second.close();
    // The list shows it only in a search, because each trial creates a key.
    await openPath("/keys?all=true");
    await page.getByText(/^\d+ keys?$/).waitFor();
    expect(await page.getByRole("button", { name: "Try a call" }).count()).toBe(0);
    await openPath("/keys?all=true&filter=try+a");
    await page.getByRole("button", { name: "Try a call" }).first().waitFor();
  });

  test("the page, closed during the call: its key is revoked; the call ends", async () => {
    const closing = await owner.context.newPage();
    await open(closing);
    await start(closing);
    await button("Mute the microphone", closing).waitFor();
    expect([await activeKeys(), await openCalls()]).toEqual([1, 1]);
    await closing.close({ runBeforeUnload: true });
    await until(isOver);
  });

  describe("opened many times at once", () => {
    type Pages = readonly Page[];
    const openIn = async (contexts: readonly BrowserContext[]): Promise<Pages> => {
      // Fifty pages take longer than a verification is valid.
      await service.database.db.client`update user_sessions set verified_until = now() + interval '1 hour'`;
      const pages = await Promise.all(contexts.map((context) => context.newPage()));
      for (const one of pages) one.setDefaultTimeout(PAGES_MS);
      await Promise.all(pages.map(open));
      return pages;
    };
    const startAll = (pages: Pages): Promise<unknown> =>
      Promise.all(
        pages.map(async (one) =>
          (await button("Try again", one).isVisible()) ? button("Try again", one).click() : start(one),
        ),
      );
    /** The pages with a call, with a place in the queue, and with a refusal. */
    const sort = async (pages: Pages) => {
      const found = { inCall: [] as Page[], waiting: [] as Page[], refused: [] as Page[] };
      for (const one of pages) {
        if (await button("Mute the microphone", one).isVisible()) found.inCall.push(one);
        if (await one.getByText("Your place in the queue is").isVisible()) found.waiting.push(one);
        if (await button("Try again", one).isVisible()) found.refused.push(one);
      }
      return found;
    };
    const untilSorted = async (pages: Pages, inCall: number, waiting: number) => {
      const expected = [inCall, waiting, pages.length - inCall - waiting].join();
      let counts = "";
      const find = async () => {
        const found = await sort(pages);
        counts = [found.inCall.length, found.waiting.length, found.refused.length].join();
        return counts === expected && found;
      };
      return until(find, { limitMs: WAIT_MS, pollMs: 200, state: () => `${counts}, not ${expected}` });
    };
    const closeAll = (pages: Pages): Promise<unknown> =>
      Promise.all(pages.map((one) => one.close({ runBeforeUnload: true })));
    /** Expects no holds, no used slots, and right counts. */
    const expectNothingLeft = async (): Promise<void> => {
      await until(isOver);
      const { db } = service.database;
      expect(await db.client`select from fleet.avatar_slots where session_id is not null`).toHaveLength(0);
      expect(await findCreditDrift(db, service.tenantId, 10)).toEqual([]);
    };

    test(
      "in tabs of one browser: one tab has a key and a call, the others a message; closed: no hold or slot is left",
      async () => {
        const tabs = await openIn(Array(PAGES).fill(owner.context));
        await startAll(tabs);
        await untilSorted(tabs, 1, 0);
        expect([await activeKeys(), await openCalls()]).toEqual([1, 1]);
        await closeAll(tabs);
        await expectNothingLeft();
      },
      PAGES_MS,
    );

    test.skipIf(!LONG)(
      "in many browsers: calls up to the limit and the slots, others are refused or wait; closed: no hold or slot is left",
      async () => {
        const { client } = service.database.db;
        const setLimit = (limit: number) =>
          client`update credit_accounts set max_concurrent_sessions = ${limit} where tenant_id = ${service.tenantId}`;
        const browser = owner.context.browser() as Browser;
        const storageState = await owner.context.storageState();
        const contexts = await Promise.all(Array.from({ length: PAGES }, () => browser.newContext({ storageState })));
        const pages = await openIn(contexts);
        // The service responds to other requests all the time.
        const statuses = new Set<number>();
        const ask = () => fetch(`${service.url}/readyz`).then(({ status }) => statuses.add(status));
        const asking = setInterval(() => void ask().catch(() => statuses.add(0)), 200);
        await setLimit(1);
        await startAll(pages);
        const { refused } = await untilSorted(pages, 1, 0);
        expect([await activeKeys(), await openCalls()]).toEqual([1, 1]);
        await setLimit(10);
        await startAll(refused);
        const { inCall, waiting } = await untilSorted(pages, SLOTS, PAGES - SLOTS);
        expect([await activeKeys(), await openCalls()]).toEqual([PAGES, SLOTS]);
        await closeAll(inCall);
        await untilSorted(waiting, SLOTS, PAGES - 2 * SLOTS);
        expect([await activeKeys(), await openCalls()]).toEqual([PAGES - SLOTS, SLOTS]);
        await closeAll(waiting);
        await expectNothingLeft();
        clearInterval(asking);
        expect([...statuses]).toEqual([200]);
        await Promise.all(contexts.map((context) => context.close()));
      },
      PAGES_MS,
    );
  });

  test("no microphone: the avatar is seen; the page shows why it hears nothing", async () => {
    const silent = await owner.context.newPage();
    await silent.addInitScript(
      `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", "NotAllowedError"))`,
    );
    await open(silent);
    await button("Try the microphone", silent).click();
    await silent.getByText("does not let this page use the microphone").waitFor();
    // The person decides before credits are held.
    expect(await openCalls()).toBe(0);
    await button("Start without a microphone", silent).click();
    await untilTrue(silent, `${SHOWN} && ${LOOK} > 0`);
    await button("Turn the microphone on", silent).waitFor();
    await picture(silent, "call-no-microphone");
    // Another program ends the call. The page shows the reason.
    await service.database.db.client`update api_keys set revoked_at = now() where name = 'Try a call'`;
    await silent.getByText("The call is over.").waitFor();
    await silent.getByText("Its key ended").waitFor();
    await silent.close();
  });

  for (const [end, act, text] of [
    ["a hang-up", () => button("Hang up").click(), "You hung up."],
    [
      "the end of its key",
      () => service.database.db.client`update api_keys set revoked_at = now() where name = 'Try a call'`,
      "The call is over.",
    ],
  ] as const)
    test(`the microphone, after ${end}: closed`, async () => {
      await page.addInitScript(RECORD_MICROPHONES);
      await open();
      await start();
      await button("Mute the microphone").waitFor();
      const states = (): Promise<string[]> => page.evaluate("microphones.map(({ readyState }) => readyState)");
      expect(await states()).toEqual(["live"]);
      await act();
      await page.getByText(text).waitFor();
      await until(async () => (await states()).join() === "ended", { state: states });
    });

  test("an avatar whose process stops: shown as lost without counting, and shown again when it is back", async () => {
    const at = await owner.context.newPage();
    await open(at);
    await start(at);
    await at.getByText("says what you say").waitFor();
    await stopCalls("SIGSTOP");
    try {
      await at.getByText("The avatar is lost. Reconnecting").waitFor();
      await picture(at, "call-lost");
    } finally {
      await stopCalls("SIGCONT");
    }
    await at.getByText("says what you say").waitFor();
    await button("Hang up", at).click();
    await at.getByText("You hung up.").waitFor();
    await at.close();
  });

  test("the lines for a program, copied from the dialog of the avatar: start a call and end it, without a failure", async () => {
    const { secret } = await seedKey(service.database.db, service.tenantId, {
      environment: "live",
      scopes: ["realtime:write"],
    });
    await openPath(`/avatars?avatar=${avatar}`);
    await page.getByText("start a call, and end it").click();
    const lines = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
    const { stdout } = await runToEnd(["bash", "-c", lines], { API_KEY: secret.reveal() });
    const session = /ses_[0-9a-z]*/.exec(stdout)?.[0] ?? stdout;
    const call = await seedCaller(service, { name: "Reader", environment: "live", scopes: ["*"] });
    expect(await call("GET", `/usage/sessions/${session}`)).toMatchObject({
      status: "failed",
      endReason: "released",
      billedCreditMicros: 0,
    });
    await openPath("");
    const tile = page.locator("dl > div").filter({ hasText: "Failed today" });
    expect(await tile.locator("dd").textContent()).toBe("0calls that could not begin");
  });

  test.skipIf(!CALL_PICTURE)("the picture of the README: written with CALL_PICTURE", async () => {
    const drawn = await drawnAvatar(world);
    await page.setViewportSize({ width: 1000, height: 580 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(`${service.url}/dashboard/call?avatar=${drawn}`);
    await start();
    await untilTrue(page, `${SHOWN} && ${LOOK} > 0`);
    await until(async () => (await figure("Length").textContent()) === "12 s");
    await page.screenshot({ path: CALL_PICTURE as string });
  });

  test("a refusal for lack of credits: the needed and the available credits, and what to do", async () => {
    const { client } = service.database.db;
    await client`update credit_accounts set granted = settled + reserved + forfeited + 30000000`;
    await open();
    await start();
    await page.getByText("The call needs 60 credits to start").waitFor();
    await page.getByText("Available now: 30 credits.").waitFor();
    await button("Try again").waitFor();
    await client`update credit_accounts set granted = settled + reserved + forfeited + 3600000000`;
    await until(async () => (await activeKeys()) === 0);
  });

  test("a refusal of a viewer, or for a disabled avatar: the reason, without a key", async () => {
    const { client } = service.database.db;
    await client`update avatars set status = 'disabled'`;
    await open();
    await page.getByText("The avatar is disabled. It can be called when it is ready.").waitFor();
    await client`update avatars set status = 'ready'`;
    await client`update users set role = 'viewer'`;
    await open();
    await page.getByText("Your role is viewer, which cannot create keys.").waitFor();
    expect(await button("Try the microphone").count()).toBe(0);
    await client`update users set role = 'owner'`;
    await owner.context.clearCookies();
    await open();
    await page.getByRole("link", { name: "Sign in" }).waitFor();
    expect(await activeKeys()).toBe(0);
  });
});
