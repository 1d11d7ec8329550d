/** Support for tests of the page of calls. Each test has a page and leaves no call. Its error shows the pages. */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import type { Page } from "playwright-core";
import type { CallWorld } from "./call-world.ts";
import { createCaller } from "./calls.ts";
import { watch } from "./person.ts";

type Run = (title: string, work: () => Promise<unknown>, limitMs?: number) => void;

/** `waitMs`: the limit of each wait on a page. */
export const callPages = ({ service, owner }: CallWorld, waitMs: number) => {
  /** Number of unrevoked keys of the page. */
  const activeKeys = async (): Promise<number> => {
    const keys = await service.database.db.client`
      select revoked_at from api_keys where name = 'Try a call' and revoked_at is null`;
    return keys.length;
  };
  const openCalls = async (): Promise<number> =>
    (await service.database.db.client`select from usage_sessions where ended_at is null`).length;
  const isOver = async () => (await activeKeys()) === 0 && (await openCalls()) === 0;

  /** Opens a page for a test. Waits of a failed test end with its page. */
  const openPage = async (): Promise<Page> => {
    const page = await owner.context.newPage();
    page.setDefaultTimeout(waitMs);
    watch(page, service.url, owner.complaints);
    return page;
  };
  afterEach(async () => {
    const pages = owner.context.pages().filter((page) => page !== owner.page);
    await Promise.all(pages.map((page) => page.close({ runBeforeUnload: true })));
    // A page that failed may not have revoked its key.
    if (!(await until(isOver, { limitMs: 5000 }).catch(() => false)))
      await service.database.db.client`update api_keys set revoked_at = now() where name = 'Try a call'`;
    await until(isOver, { state: async () => [await activeKeys(), await openCalls()] });
  });

  const textOf = async (page: Page): Promise<string> => {
    const texts = await page.locator("main").allInnerTexts();
    return `${page.url()}:\n${texts.join("\n")}`;
  };
  /** Adds the text of the pages to the error of a test. */
  const showPages =
    (run: Run): Run =>
    (title, work, limitMs) => {
      const shown = async (error: Error): Promise<never> => {
        const open = owner.context.pages().filter((page) => page !== owner.page);
        const pages = await Promise.all(open.map((page) => textOf(page).catch(String)));
        error.message += `\nThe pages:\n${pages.join("\n")}`;
        throw error;
      };
      run(title, () => work().catch(shown), limitMs);
    };
  return {
    activeKeys,
    openCalls,
    isOver,
    openPage,
    test: Object.assign(showPages(test), { skipIf: (isSkipped: boolean) => showPages(test.skipIf(isSkipped)) }),
  };
};

/**
 * Waits until `isReached` is true for the displayed seconds of a call, and returns them. Checks that the page always
 * shows one credit for each second.
 */
export const untilSeconds = (page: Page, isReached: (seconds: number) => boolean | Promise<boolean>): Promise<number> =>
  until(
    async () => {
      // Both are read at the same moment.
      const [length = "", cost = ""] = await page.locator("dl > div dd").allTextContents();
      const [, minutes, seconds] = /^(?:(\d+) min ?)?(?:(\d+) s)?$/.exec(length) ?? [];
      const shown = 60 * Number(minutes ?? 0) + Number(seconds ?? 0);
      if (shown > 0) expect(Number.parseInt(cost, 10)).toBe(shown);
      return (await isReached(shown)) && shown;
    },
    { state: `is not reached: ${isReached}` },
  );

/** A script for a page: keeps the tracks of each microphone that it opens, in `microphones`. */
export const RECORD_MICROPHONES = `{
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  window.microphones = [];
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await open(wanted);
    window.microphones.push(...stream.getTracks());
    return stream;
  };
}`;

/** An avatar of a drawn person that passes the checks of photos. */
export const drawnAvatar = async ({ service, owner }: CallWorld): Promise<string> => {
  const { secret } = await seedKey(service.database.db, service.tenantId, { environment: "live", scopes: ["*"] });
  const authorization = `Bearer ${secret.reveal()}`;
  const at = await owner.context.newPage();
  await at.setViewportSize({ width: 800, height: 800 });
  const drawing = await Bun.file(join(import.meta.dir, "../../../api/test/support/documents/ada.svg")).text();
  await at.setContent(`<body style="margin:0">${drawing}</body>`);
  const form = new FormData();
  form.set(
    "file",
    new Blob([new Uint8Array(await at.screenshot({ type: "jpeg", quality: 92 }))], { type: "image/jpeg" }),
    "ada.jpg",
  );
  await at.close();
  const headers = { authorization };
  const uploaded = await fetch(`${service.url}/api/v1/assets`, { method: "POST", headers, body: form });
  const { id: sourceAssetId } = (await uploaded.json()) as { id: string };
  const call = createCaller(service, secret.reveal());
  const { id } = await call("POST", "/avatars", { displayName: "Ada", sourceKind: "image", sourceAssetId });
  await until(async () => (await call("GET", `/avatars/${id}`))["status"] === "ready");
  return String(id);
};
