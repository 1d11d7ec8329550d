/** The page of keys with more keys than are visible at once. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { until } from "@realtime-avatar/testing/until";
import { expectAccessible } from "./support/axe.ts";
import { DESKTOP, expectQuiet, PHONE } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

/** A folder for screenshots of the page with many keys. */
const SCREENSHOTS = process.env["SCREENSHOTS"];

const { service, owner, page } = await fileWorld();

describe.skipIf(!BROWSER)("many keys in Chromium", () => {
  const card = (name: string) => page.getByRole("listitem").filter({ hasText: name });

  test("a list, scrolled away and back while the page is busy: the visible part is shown", async () => {
    const { db } = service.database;
    await db.client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select ${service.tenantId}, 'key_01yyyy' || lpad(place::text, 20, '0'), 'yyyy' || lpad(place::text, 12, '0'), 'live',
        'Row ' || place, '{avatars:read}', '{}', 1, now()
      from generate_series(0, 59) as place`;
    const page = await owner.context.newPage();
    // Holds the entries of the browser's observer back and passes them on together, like for a page that was busy
    // meanwhile.
    await page.addInitScript(`
      const near = [];
      const passes = [];
      window.isNear = () => near[0];
      window.passEntries = () => passes.forEach((pass) => pass());
      window.IntersectionObserver = class extends IntersectionObserver {
        constructor(callback, options) {
          const held = [];
          const part = passes.length;
          const pass = () => held.length > 0 && callback(held.splice(0), this);
          super((entries) => {
            near[part] = entries.at(-1).isIntersecting;
            held.push(...entries);
            if (!window.isHeld) pass();
          }, options);
          passes.push(pass);
        }
      };`);
    await page.setViewportSize(PHONE);
    await page.goto(`${service.url}/dashboard/keys`);
    const row = (name: string) => page.getByRole("button", { name, exact: true });
    await row("Row 59").waitFor();
    await page.getByRole("button", { name: "Load older ones" }).waitFor();
    /**
     * Scrolls until the first part is, or is not, near the visible part. The policy of the page refuses
     * waitForFunction.
     */
    const scroll = async (place: string, isNear: boolean) => {
      await page.evaluate(`scrollTo(0, ${place})`);
      await until(async () => (await page.evaluate("isNear()")) === isNear);
    };
    // Both parts are rendered once, and so get their height.
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await row("Row 10").waitFor();
    await scroll("document.body.scrollHeight", false);
    await scroll("0", true);
    await row("Row 59").waitFor();
    await page.evaluate("window.isHeld = true");
    await scroll("document.body.scrollHeight", false);
    await scroll("0", true);
    await page.evaluate("passEntries()");
    // Waits until it is drawn.
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)))");
    expect(await row("Row 59").isVisible()).toBe(true);
    await page.close();
  });

  test("1,000 keys in nine levels, on desktop and phone: the first ones at once, few nodes, each found by a search", async () => {
    const { db } = service.database;
    const id = (time: string, index: number) => `key_01${time}${String(index).padStart(20, "0")}`;
    const add = (time: string, index: number, name: string, lineage: string[], environment = "live") => db.client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      values (${service.tenantId}, ${id(time, index)}, ${`${time}${String(index).padStart(12, "0")}`}, ${environment},
        ${name}, '{avatars:read}', ${lineage}, 1, now())`;
    // Keys that are older than all others, and keys that are newer.
    await db.client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select ${service.tenantId}, 'key_01aaaa' || lpad(place::text, 20, '0'), 'aaaa' || lpad(place::text, 12, '0'), 'live',
        'Old key ' || place, '{avatars:read}', '{}', 1, now()
      from generate_series(0, 999) as place`;
    const line = Array.from({ length: 9 }, (_, level) => id("zzzz", level));
    for (const [level] of line.entries())
      await add("zzzz", level, `Level ${level + 1} of a line`, line.slice(0, level));
    await add("zzzz", 10, "Child of an old key", [id("aaaa", 0)]);
    await add("zzzz", 11, "Child in test", [id("aaaa", 0)], "test");
    await add("zzzz", 12, "Lost key", []);
    await db.client`update api_keys set revoked_at = now() where id = ${id("zzzz", 12)}`;
    await db.client`
      insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
      select ${service.tenantId}, 'aud_' || right(id, 26), environment, ${id("aaaa", 0)}, 'aaaa', 'api_key.created', id, 'r', now()
      from api_keys where name in ('Child of an old key', 'Child in test')`;
    const requests: string[] = [];
    page.on("request", (request) => request.url().includes("/api-keys?") && requests.push(request.url()));
    await owner.open("/keys");
    for (const viewport of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      await card("Level 9 of a line").getByText("level 9", { exact: true }).waitFor({ state: "attached" });
      const width = await card("Level 9 of a line").getByRole("button", { name: "Level 9 of a line", exact: true });
      expect((await width.boundingBox())?.width).toBeGreaterThan(60);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width);
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `keys-many-${viewport.width}.png`) });
    }
    // The total of the list, of which only a part is loaded: 60 rows, 1,000 old keys, the line, a child, and the
    // owner's own key.
    const [{ count: keys }] = (await db.client`
      select count(*)::integer as count from api_keys
      where tenant_id = ${service.tenantId} and environment = 'live' and revoked_at is null`) as [{ count: number }];
    await page.getByText(`The newest 50 of ${keys.toLocaleString("en")} keys`, { exact: true }).waitFor();
    // The requests: for the first rows, the following ones, and the total. No others.
    const limits = requests.flatMap((url) => new URL(url).searchParams.get("limit") ?? []);
    expect(limits).toEqual(["20", "30", "1"]);
    // Its parent is not loaded.
    await card("Child of an old key").getByText("Created by Old key 0").waitFor();
    // All keys, with the oldest at the end. It is rendered when it is near the visible part. A click while older keys
    // load has no effect.
    await until(async () => {
      await page.evaluate(`
        [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Load older ones")?.click();
        scrollTo(0, document.body.scrollHeight);
      `);
      return (await page.getByText("Old key 1", { exact: true }).count()) > 0;
    });
    // While the page scrolls, it contains rows of several places.
    await until(async () => (await page.locator("*").count()) < 2500);
    await page.evaluate("scrollTo(0, 0)");
    await card("Level 9 of a line").waitFor();

    const search = page.getByRole("searchbox", { name: "Search by name or id" });
    const names = page.getByRole("list", { name: "API keys" }).getByRole("listitem");
    await search.fill("OLD KEY 0");
    await page.getByText("1 key", { exact: true }).waitFor();
    expect(await names.count()).toBe(1);
    await search.fill("Old key 99");
    await page.getByText("11 keys", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("11 keys", { exact: true }).waitFor();
    await search.fill(id("aaaa", 0));
    await page.getByText("1 key", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Old key 0", exact: true }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Child of an old key" }).click();
    await page.getByRole("dialog", { name: "Child of an old key" }).getByRole("link", { name: "Old key 0" }).waitFor();
    await page.keyboard.press("Escape");
    await search.fill("100%_");
    await page.getByText("No key matches.").waitFor();
    await expectAccessible(page, "a search that finds nothing");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("From").fill("2020-01-01");
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByText("No key matches.").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Status").selectOption("Revoked");
    await card("Lost key").first().getByText("revoked", { exact: true }).waitFor();
    await owner.open("/keys?environment=test");
    await card("Child in test").getByText("Created by a live key").waitFor();
    await page.getByRole("button", { name: "Child in test", exact: true }).click();
    await page.getByRole("dialog").getByText("A live key", { exact: true }).waitFor();
    expectQuiet(owner);
  });
});
