/** Usage and credits: the numbers match the calls. An entry links to its call and its key. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { sweepSessions } from "@realtime-avatar/db/credits/usage-sessions";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { expectAccessible } from "./support/axe.ts";
import { makeCall, seedCaller } from "./support/calls.ts";
import { expectQuiet } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const { service, owner, page } = await fileWorld();

/** Calls the API with a new key with `usage:write`. */
const engine = (name: string, environment: "live" | "test" = "live") =>
  seedCaller(service, { name, environment, scopes: ["*", "usage:write"] });

describe.skipIf(!BROWSER)("the usage page in Chromium", () => {
  let sessionId = "";
  beforeAll(async () => {
    const [website, phone] = [await engine("Website"), await engine("Phone app")];
    await makeCall(website, 100);
    await makeCall(website, 50);
    sessionId = await makeCall(phone, 1000);
    await phone("POST", "/usage/sessions", { maxSessionSeconds: 60 });
  });

  test("the balance and the charts, of a month of calls: add up", async () => {
    await owner.open("/usage?days=7");
    const tile = (name: string) => page.locator("dl > div").filter({ hasText: name }).locator("dd").textContent();
    await page.getByText("Available").waitFor();
    expect(await tile("Available")).toBe("2,390 credits");
    expect(await tile("Held by open calls and videos")).toBe("60 credits");
    expect(await tile("Added in all")).toBe("3,600 credits");
    expect(await tile("Charged in all")).toBe("1,150 credits");
    await page.getByText("A second of a call or a video costs 1 credit.").waitFor();
    await page.getByRole("img", { name: "1,150 credits in 7 days" }).waitFor();
    // The labels of the axes: the quantity, the amounts, and the days.
    const chart = page.getByRole("figure", { name: "Credits charged, by day" });
    expect(await chart.textContent()).toMatch(/^Credits charged, by day2K1K0.*(\d{1,2} [A-Z][a-z]{2}){4}/);
    const byKey = page.getByRole("list", { name: "Credits by key" }).getByRole("listitem");
    await byKey.getByText("Phone app").waitFor();
    expect(await byKey.allTextContents()).toEqual(["Phone app1,000", "Website150"]);
    const byAvatar = page.getByRole("list", { name: "Credits by avatar" }).getByRole("listitem");
    expect(await byAvatar.allTextContents()).toEqual(["No avatar1,150"]);
    await page.getByText("Show as a table").nth(1).click();
    expect(await page.getByRole("cell", { name: "1,000" }).count()).toBe(1);
    expectQuiet(owner);
  });

  test("conversations, by day: a table of their usage, missing before the first one", async () => {
    await owner.open("/usage?days=7");
    await page.getByRole("figure", { name: "Credits charged, by day" }).waitFor();
    expect(await page.getByText("Conversations by day").count()).toBe(0);
    await service.database.db.client`
      insert into conversation_usage
      select distinct tenant_id, 'live', (now() at time zone 'UTC')::date, 41200, 5300, 120, 380, 20400 from usage_sessions`;
    await page.reload();
    const row = page.getByRole("region", { name: "Conversations by day" }).getByRole("row").nth(1);
    await row.waitFor();
    expect((await row.getByRole("cell").allTextContents()).slice(1)).toEqual([
      ...["41,200", "5,300", "6 min 20 s", "20,400"],
    ]);
    await page.getByText("120 tokens of these days are estimated.").waitFor();
    expectQuiet(owner);
  });

  test("an entry: links to its call and to its key", async () => {
    await owner.open("/usage?tab=ledger");
    const entries = page.getByRole("list", { name: "History of the credits" }).getByRole("listitem");
    await entries.first().waitFor();
    await page.getByLabel("Kind of entry").selectOption({ label: "Charged from held credits" });
    await page.getByText("3 movements", { exact: true }).waitFor();
    await entries.filter({ hasText: "1,000" }).getByRole("link", { name: "Session" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(sessionId).first().waitFor();
    await dialog.getByText("1,000 of 1,000 credits that it held").waitFor();
    expect(await dialog.getByText("Price of a second").locator("..").textContent()).toBe("Price of a second1 credit");
    expect(page.url()).toContain(`session=${sessionId}`);
    await dialog.getByRole("link", { name: "Phone app" }).first().click();
    await page.getByRole("dialog", { name: "Phone app" }).waitFor();
    await page.getByRole("dialog").getByText("1,000 credits spent, no cap").waitFor();
    // Goes back to the call.
    await page.goBack();
    await page.getByRole("dialog", { name: "Call" }).waitFor();
    expectQuiet(owner);
  });

  test("the page, open during calls: shows them", async () => {
    await owner.open("/usage");
    const tile = page.locator("dl > div").filter({ hasText: "Charged in all" });
    await tile.getByText("1,150").waitFor();
    await makeCall(await engine("Kiosk"), 7);
    await tile.getByText("1,157").waitFor();
    await page.getByRole("img", { name: "1,157 credits in 30 days" }).waitFor();
    expectQuiet(owner);
  });

  test("calls, a row each: the end of each in words, and its entries by the keyboard", async () => {
    const { database, tenantId } = service;
    const [late, hostile] = [await engine("Never joined"), await engine("Says <b>why</b>")];
    const { sessionId: lost } = await late("POST", "/usage/sessions", { maxSessionSeconds: 60 });
    await database.db.client`update usage_sessions set expires_at = now() where id = ${String(lost)}`;
    await sweepSessions(database.db, tenantId, operatorOrigin());
    const { sessionId } = await hostile("POST", "/usage/sessions", {
      maxSessionSeconds: 9,
      metadata: { user_id: "=1" },
    });
    await hostile("POST", `/usage/sessions/${sessionId}/release`, { usedCreditMicros: 5_000_000, reason: "<b>bye" });
    await owner.open("/usage");
    await page.getByRole("link", { name: "Calls", exact: true }).click();
    const row = (key: string) => page.getByRole("row").filter({ hasText: key });
    await row("Says <b>why</b>").waitFor();
    expect(await row("Says <b>why</b>").getByRole("cell").allTextContents()).toEqual([
      "▶just nowNo avatarEnded by your program",
      "No avatar",
      "Says <b>why</b>",
      "not known",
      "5not known",
      "Ended by your program",
    ]);
    await row("Never joined").getByRole("cell", { name: "Nobody joined", exact: true }).waitFor();
    // One call of the phone app is still open; the others have ended.
    expect(await page.getByRole("row").count()).toBe(1 + 7);
    await page.getByText("7 calls", { exact: true }).waitFor();
    await row("Says <b>why</b>").getByRole("button", { expanded: false }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Your program ended it, and said: <b>bye.").waitFor();
    const entries = page.getByRole("list", { name: "Entries of this session" }).getByRole("listitem");
    await entries.first().waitFor();
    expect((await entries.allTextContents()).map((text) => text.replace(/ · .*:\d\d/, " "))).toEqual([
      "Held for a call or video −9 credits",
      "Charged from held credits −5 credits",
      "Given back at the end +4 credits",
    ]);
    await expectAccessible(page, "calls");
    await page.getByLabel("Status").selectOption({ label: "Never began" });
    await row("Says <b>why</b>").waitFor({ state: "detached" });
    await row("Never joined").getByRole("button", { expanded: false }).click();
    await page.getByText("so nothing is charged").waitFor();
    await page.getByRole("link", { name: "All calls of this key" }).click();
    await page.getByRole("button", { name: "Only Never joined" }).waitFor();
    expectQuiet(owner);
  });

  test("calls, the ledger and the audit trail, exported: files with the rows of the page", async () => {
    for (const [path, name, first, rows] of [
      ["/usage?tab=calls&status=failed", "usage-sessions", "sessionId,", 1],
      ["/usage?tab=ledger", "credit-entries", "id,", 20],
      ["/audit?action=api_key.created", "audit-events", "id,", 5],
    ] as const) {
      await owner.open(path);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export CSV" }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toMatch(new RegExp(`^${name}-live-20[-0-9]{8}\\.csv$`));
      const text = await readFile(await download.path(), "utf8");
      expect(text).toStartWith(`\ufeff${first}`);
      expect([path, text.split("\r\n").length - 2]).toEqual([path, rows]);
      await page.getByText("The file is downloaded.").waitFor();
    }
    expectQuiet(owner);
  });

  test("a threshold of low credits, set and removed: stored", async () => {
    await owner.open("/usage");
    const save = async (text: string): Promise<void> => {
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Credits").fill(text);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await page.getByText("No webhook endpoint is told").waitFor();
    await page.getByRole("button", { name: "Set a threshold" }).click();
    await save("600.5");
    await page.getByText("told when fewer than 600.5 credits are available").waitFor();
    expect(await (await engine("Reader"))("GET", "/credits/balance")).toMatchObject({
      lowThresholdCreditMicros: 600_500_000,
    });
    await page.getByRole("button", { name: "Change it" }).click();
    await save("");
    await page.getByText("No webhook endpoint is told").waitFor();
    expectQuiet(owner);
  });

  test("calls in the test environment, not charged yet: test credits, no empty chart", async () => {
    const call = await engine("Trial", "test");
    const open = () => owner.open("/usage?environment=test");
    await open();
    await page.getByText("costs 1 credit, unless the operator has set another price").waitFor();
    await page.getByText("No calls or videos in these days.").first().waitFor();
    await call("POST", "/usage/sessions", { maxSessionSeconds: 60 });
    await open();
    await page.getByText("1 session in these days, and nothing is charged yet.").first().waitFor();
    expect(await page.getByText("3,600").count()).toBeGreaterThan(0);
    expect(await page.getByRole("list", { name: /^Credits by/ }).count()).toBe(0);
    expectQuiet(owner);
  });
});
