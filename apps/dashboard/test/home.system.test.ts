/** The home page, and navigation by the address, the palette and the keyboard. */
import { describe, expect, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { expectAccessible } from "./support/axe.ts";
import { type Caller, makeCall, seedCaller } from "./support/calls.ts";
import { DESKTOP, expectQuiet, PHONE } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const NO_CALLS = "Calls need LiveKit, which this service does not have.";
const { service, owner, page } = await fileWorld();

describe.skipIf(!BROWSER)("the home page in Chromium", () => {
  const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
  const dialog = (name: string) => page.getByRole("dialog", { name });
  const search = page?.getByRole("combobox", { name: "Page, action, name or id" });
  let call: Caller;

  test("a newcomer, on the home page: steps from a key to an avatar, a video, and the first call", async () => {
    await page.goto(service.url);
    await heading("Home");
    expect(new URL(page.url()).pathname).toBe("/dashboard");
    await page.getByText("0 of 4 done").waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await expectAccessible(page, "home of a newcomer");
    await page.getByRole("link", { name: "Create a live key" }).click();
    await dialog("Create an API key").getByLabel("Name").fill("Website");
    // A reload would not open the dialog again: the parameter is removed from the address.
    expect(new URL(page.url()).search).toBe("");
    await page.getByRole("button", { name: "Create the live key" }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Home" }).click();
    await page.getByRole("link", { name: "Website" }).waitFor();
    await page.getByText("1 of 4 done").waitFor();

    // The worker and an application do the other steps. The page follows.
    call = await seedCaller(service, { name: "Engine", environment: "live", scopes: ["*", "usage:write"] });
    const { id } = await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" });
    const { client } = service.database.db;
    await client`update avatars set status = 'ready'`;
    await page.getByText("2 of 4 done").waitFor();
    // Newer drafts do not undo the step. Trial keys of pages do not count as the key of an application.
    const drafts = Array.from({ length: 7 }, (_, at) => ({ displayName: `Draft ${at}`, sourceKind: "image" }));
    await Promise.all(drafts.map((draft) => call("POST", "/avatars", draft)));
    await client`update api_keys set scopes = '{credits:read}' where name in ('Website', 'Engine')`;
    await owner.open("");
    await page.getByText("2 of 4 done").waitFor();
    await page.getByText("with which a program starts calls").waitFor();
    await client`update api_keys set scopes = '{realtime:write}' where name = 'Website'`;
    await client`update api_keys set scopes = '{*,usage:write}' where name = 'Engine'`;
    await owner.open("");
    await page.getByText("start a call, and end it").click();
    await page.getByText("API_KEY is the secret of Engine").waitFor();
    await page.getByText(`"avatar_id": "${id}"`).waitFor();
    // A video is not a call, so the guide stays.
    await page.getByRole("link", { name: "Type a sentence" }).waitFor();
    const video = await call("POST", "/videos", { avatarId: id, text: "Hello." });
    await page.getByText("is being rendered. It usually takes a few seconds.").waitFor();
    await call("DELETE", `/videos/${video["id"]}`);
    await page.getByRole("link", { name: "Type a sentence" }).waitFor();
    // This service has no LiveKit.
    await page.getByText(NO_CALLS).waitFor();
    const tryCall = page.getByRole("button", { name: "Try a call" });
    expect(await tryCall.getAttribute("aria-disabled")).toBe("true");
    await owner.open(`/call?avatar=${id}`);
    await page.getByText(NO_CALLS).waitFor();
    expect(await page.getByRole("button", { name: "Start the call" }).count()).toBe(0);
    await page.getByRole("link", { name: "Back to the avatars" }).click();
    await dialog("Grace").getByText(NO_CALLS).waitFor();
    await expectAccessible(page, "an avatar without calls");
    await makeCall(call, 125);
    await owner.open("");
    await page.getByText("Credits available").waitFor();
    expect(await page.getByText("Get started").count()).toBe(0);
    expectQuiet(owner);
  });

  test("the home page, after the first call: the balance, the calls of today, and the concerns", async () => {
    await page.getByText("No credits run low").waitFor();
    const tile = (name: string) => page.locator("dl > div").filter({ hasText: name }).locator("dd");
    expect(await tile("Credits available").textContent()).toBe("3,4750 held by open calls and videos");
    // The canceled video cost nothing.
    expect(await tile("Calls and videos today").textContent()).toMatch(/^2\d+ s, 125 credits$/);

    const expiresAt = new Date(Date.now() + 3 * 86_400_000 + 60_000).toISOString();
    await call("POST", "/api-keys", { name: "Kiosk", environment: "live", scopes: ["realtime:write"], expiresAt });
    await call("POST", "/webhook-endpoints", { url: "https://shop.example.com/hooks" });
    await call("POST", "/avatars", { displayName: "<b>Ada</b>", sourceKind: "image" });
    const { client } = service.database.db;
    await client`update webhook_endpoints set failing_since = now() - interval '5 hours 1 minute'`;
    await client`update avatars set status = 'failed', error = 'There is no face.' where display_name = '<b>Ada</b>'`;
    const { sessionId } = await call("POST", "/usage/sessions", { maxSessionSeconds: 60 });
    await client`update usage_sessions set status = 'failed', ended_at = now() where id = ${String(sessionId)}`;
    // A call that its own program has ended, as a release leaves it, is not a failure.
    const { sessionId: ended } = await call("POST", "/usage/sessions", { maxSessionSeconds: 60 });
    await call("POST", `/usage/sessions/${ended}/release`, {});
    await client`update usage_sessions set status = 'failed' where id = ${String(ended)}`;
    expect(await call("GET", `/usage/sessions/${ended}`)).toMatchObject({ status: "failed", endReason: "released" });
    const requests: string[] = [];
    const note = (request: { url(): string }) => requests.push(request.url());
    page.on("request", note);
    await owner.open("");
    const concerns = page.getByRole("list", { name: "Needs attention" }).getByRole("listitem");
    await concerns.first().waitFor();
    page.off("request", note);
    // Requests: the session, the balance, two for today's calls, keys, avatars and endpoints, each once.
    expect(requests.filter((url) => url.includes("/api/v1/")).length).toBe(7);
    expect(await concerns.allTextContents()).toEqual([
      "Endpointshop.example.comNo delivery succeeds. The first failure was 5 hours ago.",
      "KeyKioskExpires in 3 days.",
      "Calls1 call failed todayIt could not begin, and cost nothing.",
      "Avatar<b>Ada</b>There is no face.",
    ]);
    await page.setViewportSize(PHONE);
    await expectAccessible(page, "home with concerns");
    await page.setViewportSize(DESKTOP);
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("link", { name: "1 call failed today" }).click();
    await heading("Usage and credits");
    expect(await page.getByRole("combobox").filter({ hasText: "Never began" }).inputValue()).toBe("failed");
    await page.goBack();
    await concerns.getByRole("link", { name: "shop.example.com" }).click();
    await heading("shop.example.com");
    expect(await page.getByRole("navigation", { name: "Breadcrumb" }).textContent()).toBe(
      "Home/Webhooks/shop.example.com",
    );
    expectQuiet(owner);
  });

  test("an unknown address, opened: a page with status 404 and links to others", async () => {
    const response = await page.goto(`${service.url}/dashboard/key/none`);
    expect(response?.status()).toBe(404);
    await heading("Page not found");
    expect(await page.title()).toBe("Page not found · Realtime Avatar");
    await expectAccessible(page, "not found");
    await page.getByRole("main").getByRole("link", { name: "Keys" }).click();
    await heading("API keys");
    expectQuiet(owner, [/status of 404/]);
  });

  test("the palette, by the keyboard: opens a page, a dialog, an object and the other environment", async () => {
    await page.keyboard.press("Control+k");
    await search.waitFor();
    await dialog("Go to, in live").waitFor();
    await expectAccessible(page, "palette");
    await page.keyboard.type("usa");
    await page.keyboard.press("Enter");
    await heading("Usage and credits");
    expect(await page.evaluate("document.activeElement?.id")).toBe("page");

    // On a page that creates nothing, `c` opens the palette with the actions that create objects.
    await page.keyboard.press("c");
    await search.waitFor();
    expect(await search.inputValue()).toBe("Create");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await dialog("Create a live avatar").waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Go to a page, a key or an avatar" }).click();
    const { data } = (await call("GET", "/api-keys")) as { data: { id: string; name: string }[] };
    const kiosk = data.find(({ name }) => name === "Kiosk")?.id ?? "";
    await search.fill(` ${kiosk.toUpperCase()} `);
    await page.getByRole("option", { name: `Open the key ${kiosk}` }).click();
    await dialog("Kiosk").waitFor();
    await page.keyboard.press("Escape");

    // Found by a part of a name: objects of both kinds, and only matching ones.
    await page.keyboard.press("Control+k");
    await search.fill(" KIO ");
    await page.getByRole("option", { name: "Kiosk" }).waitFor();
    await page.keyboard.press("Enter");
    await dialog("Kiosk").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    for (const [text, found] of [
      ["b>ada<", ["<b>Ada</b>Avatar"]],
      ["%_%", []],
    ] as const) {
      await search.fill(text);
      await page
        .getByText(found.length === 0 ? "Nothing in the live environment has this name or id." : "1 found in the live")
        .waitFor();
      expect(await dialog("Go to, in live").getByRole("option").allTextContents()).toEqual([...found]);
    }
    await search.fill("test env");
    await page.keyboard.press("Enter");
    await page.getByText("Test environment: separate").waitFor();
    await page.keyboard.press("Control+k");
    await search.fill("nothing of this name");
    await page.getByText("Nothing in the test environment has this name or id.").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    expectQuiet(owner);
  });

  test("the keys /, c and ?, on a page: search, create and help; no effect in a field or a dialog", async () => {
    await owner.open("/keys?filter=k");
    const filter = page.getByRole("searchbox");
    await filter.waitFor();
    await page.keyboard.press("/");
    expect(await filter.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.type("?c/");
    expect(await filter.inputValue()).toBe("?c/");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await filter.blur();
    await page.keyboard.press("c");
    await dialog("Create an API key").waitFor();
    await dialog("Create an API key").getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("?");
    await page.keyboard.press("Control+k");
    expect(await page.getByRole("dialog").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await dialog("Keyboard shortcuts").waitFor();
    await expectAccessible(page, "shortcuts");
    expectQuiet(owner);
  });

  test("the keys, turned off: no effect, also after a reload; Ctrl-K and the menu work", async () => {
    await page.getByLabel("Shortcuts of one key").uncheck();
    await page.keyboard.press("Escape");
    await page.reload();
    await heading("API keys");
    const create = page.getByRole("button", { name: "Create a live key" });
    expect(await create.getAttribute("aria-keyshortcuts")).toBeNull();
    for (const key of ["c", "?", "/"]) await page.keyboard.press(key);
    await page.keyboard.press("Control+k");
    await search.waitFor();
    expect(await page.getByRole("dialog").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Ada Lovelace", exact: true }).click();
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.getByLabel("Shortcuts of one key").check();
    await page.keyboard.press("Escape");
    expect(await create.getAttribute("aria-keyshortcuts")).toBe("c");
    expectQuiet(owner);
  });
});
