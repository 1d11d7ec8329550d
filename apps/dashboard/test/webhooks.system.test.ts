/** The webhooks page: endpoints, secrets, deliveries, failures, and the view of a viewer. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { expectAccessible } from "./support/axe.ts";
import { type Caller, seedCaller } from "./support/calls.ts";
import { settle } from "./support/deliveries.ts";
import { clipboard, DESKTOP, expectErrorsOnce, expectQuiet, PHONE, signIn } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

/** A folder for screenshots of the page. */
const SCREENSHOTS = process.env["SCREENSHOTS"];

const { service, owner, page, openPerson } = await fileWorld();

describe.skipIf(!BROWSER)("the webhooks page in Chromium", () => {
  let call: Caller;
  let secret = "";
  const dialog = () => page.getByRole("dialog");
  const deliveries = () => page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
  const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();

  /** Checks the page on a phone in dark and on a desktop in light. Takes screenshots if `SCREENSHOTS` is set. */
  const look = async (name: string): Promise<void> => {
    for (const [width, viewport, colorScheme] of [
      ["phone", PHONE, "dark"],
      ["desktop", DESKTOP, "light"],
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      expect([name, width, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([
        name,
        width,
        viewport.width,
      ]);
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `webhooks-${name}-${width}.png`) });
    }
    await expectAccessible(page, name);
  };

  /** The content of the page, and the browser's storage. */
  const kept = () =>
    page.evaluate(
      "document.documentElement.outerHTML + JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])",
    );

  test("an endpoint, added with a choice of events: as chosen; its secret is shown once", async () => {
    call = await seedCaller(service, { environment: "live", scopes: ["*"] });
    // Opens another page first, so that the back button stays in the dashboard.
    await owner.open("/keys");
    await page.getByRole("link", { name: "Webhooks" }).click();
    await press("Add your first endpoint");
    await dialog().getByLabel("URL").fill("https://hooks.example.com/avatars");
    await dialog().getByLabel("Description").fill("Shop");
    await dialog().getByRole("checkbox", { name: "In order" }).check();
    await dialog().getByRole("radio", { name: "Only those that you choose" }).check();
    expect(await dialog().getByRole("button", { name: "Add the live endpoint" }).isDisabled()).toBe(true);
    await dialog().getByRole("checkbox", { name: "avatar.created" }).check();
    await dialog().getByRole("checkbox", { name: "avatar.*" }).check();
    expect(await dialog().getByRole("checkbox", { name: "avatar.created" }).isDisabled()).toBe(true);
    await dialog()
      .getByRole("checkbox", { name: /^credits\.low / })
      .check();
    await look("add");
    await press("Add the live endpoint");
    await page.getByText("This is the only time").waitFor();
    await page.keyboard.press("Escape");
    await page.evaluate("history.back()");
    await press("Copy: Signing secret");
    secret = await clipboard(page);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await kept()).toContain(secret);
    await press("I have stored it");
    await page.getByRole("heading", { name: "Shop", level: 1 }).waitFor();
    expect(await kept()).not.toContain(secret);
    const { data } = (await call("GET", "/webhook-endpoints")) as { data: object[] };
    const chosen = { url: "https://hooks.example.com/avatars", events: ["avatar.*", "credits.low"], ordered: true };
    expect(data).toEqual([expect.objectContaining(chosen)]);
    expectQuiet(owner);
  });

  test("a URL, refused by the service: the error is beside its field, and the changed URL is saved", async () => {
    await press("Change");
    await dialog().getByLabel("URL").fill("http://10.0.0.1/");
    await press("Save the changes");
    await expectErrorsOnce(dialog());
    expect(await dialog().getByLabel("URL").getAttribute("aria-invalid")).toBe("true");
    await dialog().getByLabel("URL").fill("https://hooks.example.com/all");
    await dialog().getByRole("radio", { name: "All, also" }).check();
    await press("Save the changes");
    await dialog().waitFor({ state: "detached" });
    await page.getByText("https://hooks.example.com/all").waitFor();
    await page.getByText("all events").waitFor();
    expectQuiet(owner, [/status of 422/]);
  });

  test("a test, sent: its status, its duration and the response of the receiver", async () => {
    await press("Send a test");
    await settle(service, "delivered", { status: 200, durationMs: 34, responseBody: "Thank you" });
    await dialog().getByText("200 in 34 ms").waitFor();
    await dialog().getByText("Thank you").waitFor();
    const body = dialog().getByRole("region", { name: "Body of the request" });
    expect(await body.textContent()).toContain('\n  "type": "webhook_endpoint.test"');
    await look("test");
    await press("Copy the body as it is sent");
    expect(JSON.parse(await clipboard(page))).toMatchObject({ type: "webhook_endpoint.test" });
    await page.keyboard.press("Escape");
    expectQuiet(owner);
  });

  test("an event while the page is open: shown without a reload; failed, filtered and sent again: all attempts are shown", async () => {
    const { id } = await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" });
    const created = deliveries().filter({ hasText: String(id) });
    await created.getByText("pending").waitFor();
    await settle(service, "retry", { error: "timed_out", durationMs: 15_000 });
    await settle(service, "failed", { status: 500 });
    await created.getByText("500 in 12 ms").waitFor();
    await page.getByText("No delivery succeeds.").waitFor();
    await look("deliveries");
    await page.getByLabel("Status").selectOption("failed");
    await page.getByLabel("Event type").selectOption("avatar.created");
    await page.getByLabel("Resource id").fill(String(id).slice(0, -1));
    await page.getByText("Enter the whole id.").waitFor();
    await page.getByLabel("Resource id").fill(String(id));
    await page.waitForURL(/status=failed.*target=ava_/);
    await page.reload();
    await deliveries().first().waitFor();
    await page.getByText("1 delivery", { exact: true }).waitFor();
    expect(await deliveries().count()).toBe(
      await deliveries()
        .filter({ hasText: String(id) })
        .count(),
    );
    // This part uses only the keyboard.
    await deliveries().getByRole("button").focus();
    await page.keyboard.press("Enter");
    const attempts = dialog().getByRole("list", { name: "Attempts" }).getByRole("listitem");
    await attempts.first().waitFor();
    expect((await attempts.allTextContents()).map((text) => text.split(" ms")[0])).toEqual([
      "500 in 12",
      "no response in time, after 15000",
    ]);
    await press("Send it again");
    await dialog().getByText("pending").waitFor();
    await settle(service, "delivered", { status: 204 });
    await dialog().getByText("204 in 12 ms").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("No delivery matches these filters.").waitFor();
    await page.getByText("No delivery succeeds.").waitFor({ state: "detached" });
    expectQuiet(owner);
  });

  test("an endpoint, disabled by 410: the reason; enabled: failed deliveries are offered and sent again", async () => {
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("link", { name: "Shop" }).click();
    await call("POST", "/avatars", { displayName: "Ada", sourceKind: "image" });
    await settle(service, "gone", { status: 410 });
    await page.getByRole("heading", { name: "This endpoint is disabled" }).waitFor();
    await page.getByText("It responded with 410 Gone").waitFor();
    expect(await page.getByRole("button", { name: "Send a test" }).count()).toBe(0);
    await look("disabled");
    await press("Enable it");
    await dialog().getByText("An hour before it began to fail").waitFor({ state: "attached" });
    await press("Send them again");
    await page.getByText("1 event will be sent again.").waitFor();
    await settle(service, "delivered", { status: 200 });
    await page.getByText("This endpoint is disabled").waitFor({ state: "detached" });
    expectQuiet(owner);
  });

  test("a secret, rotated: a new one, and a second rotation must wait; a viewer: reads all, cannot change", async () => {
    await press("Rotate the secret");
    await dialog().getByRole("button", { name: "Rotate the secret" }).click();
    await page.getByText("This is the only time").waitFor();
    await press("Copy: Signing secret");
    expect(await clipboard(page)).not.toBe(secret);
    await press("I have stored it");
    await page.getByText(/signs too, ends/).waitFor();
    await press("Rotate the secret");
    await dialog().getByText("It was rotated a short time ago").waitFor();
    expect(await dialog().getByRole("button", { name: "Rotate the secret" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");

    const viewer = await openPerson();
    await signIn(viewer, service, "viewer", "Grace Hopper");
    await viewer.page.goto(page.url());
    const rows = viewer.page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    await rows.getByRole("button", { name: "webhook_endpoint.test" }).click();
    await viewer.page.getByRole("dialog").getByText("Thank you").waitFor();
    const changing = /^(Add|Change|Rotate|Disable|Enable|Delete|Recover|Send)/;
    expect(await viewer.page.getByRole("button", { name: changing }).count()).toBe(0);
    expectQuiet(viewer);
    expectQuiet(owner);
  });

  test("an endpoint, deleted after a confirmation: gone", async () => {
    await press("Delete");
    await dialog().getByText("It cannot be brought back.").waitFor();
    expect(await page.evaluate("document.activeElement?.textContent")).toBe("Keep it");
    await press("Delete it for good");
    await page.getByText("No live endpoints yet").waitFor();
    expect(page.url()).not.toContain("endpoint=");
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("listitem").getByText("Endpoint disabled").waitFor();
    expectQuiet(owner);
  });
});
