/**
 * Use of a signed-in person's cookie by pages: pages of other origins cannot use it, and the API reference creates a
 * test key with it. `localhost` with another port is the same site.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TEST_ASSETS } from "@realtime-avatar/domain/avatars/test-assets";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { until } from "@realtime-avatar/testing/until";
import { expectQuiet } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const { service, owner, page } = await fileWorld({ WORKER: "true" });

describe.skipIf(!BROWSER)("forged requests in Chromium", () => {
  let attacker: ReturnType<typeof Bun.serve>;
  beforeAll(async () => {
    attacker = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<!doctype html><title>Attack</title>", { headers: { "content-type": "text/html" } }),
    });
  });
  afterAll(() => attacker.stop(true));

  /** The data that a request could change. */
  const state = async (): Promise<unknown> => {
    const { client } = service.database.db;
    const rows = await client`select (select count(*) from api_keys) as keys, (select count(*) from users) as users,
      (select count(*) from user_sessions) as sessions, (select count(*) from invitations) as invitations`;
    return rows[0];
  };

  test("a page of another origin, sending requests: nothing changes", async () => {
    const { context } = owner;
    const { url } = service;
    const before = await state();
    for (const host of ["localhost", "127.0.0.1"]) {
      const page = await context.newPage();
      await page.goto(`http://${host}:${attacker.port}/`);
      const outcomes = await page.evaluate(async (api) => {
        const body = JSON.stringify({ name: "Forged", environment: "live", scopes: ["*"] });
        const headers = { "realtime-avatar-environment": "live", "content-type": "application/json" };
        const outcome = (path: string, init: RequestInit): Promise<string> =>
          fetch(`${api}/api/v1${path}`, { credentials: "include", ...init }).then(
            ({ type, status }) => `${type} ${status}`,
            () => "failed",
          );
        return Promise.all([
          outcome("/api-keys", { method: "POST", body, mode: "no-cors" }),
          outcome("/api-keys", { method: "POST", body, headers }),
          outcome("/user-sessions/current", { method: "DELETE", headers }),
          outcome("/user-sessions/current", { headers }),
          outcome("/user-sessions/current", {}),
          outcome("/users", { mode: "no-cors" }),
        ]);
      }, url);
      // The page may send the requests that every page may send, and can read no response.
      expect(outcomes).toEqual(["opaque 0", "failed", "failed", "failed", "failed", "opaque 0"]);
      for (const [path, encoding] of [
        ["/api-keys", "text/plain"],
        ["/invitations", "application/x-www-form-urlencoded"],
        ["/assets", "multipart/form-data"],
      ]) {
        // The previous form has navigated away from the attacker's page.
        await page.goto(`http://${host}:${attacker.port}/`);
        const response = page.waitForResponse((each) => each.url().startsWith(url));
        await page.evaluate(
          ([action = "", enctype = ""]) => {
            const form = Object.assign(document.createElement("form"), { action, enctype, method: "post" });
            const input = Object.assign(document.createElement("input"), {
              name: '{"name":"',
              value: 'x","role":"owner"}',
            });
            form.append(input);
            document.body.append(form);
            form.submit();
          },
          [`${url}/api/v1${path}`, encoding],
        );
        expect([host, path, (await response).status()]).toEqual([host, path, 401]);
        await page.waitForURL(`${url}/api/v1${path}`);
      }
      await page.close();
    }
    expect(await state()).toEqual(before);
    await owner.open("/people");
    await page.getByRole("heading", { name: "People" }).waitFor();
  });

  test("an API address, opened as a page: 401", async () => {
    const page = await owner.context.newPage();
    // A navigation sends the cookie, but no header of the service.
    const response = await page.goto(`${service.url}/api/v1/users`);
    expect(response?.status()).toBe(401);
    await page.close();
  });

  test("a copied cookie, after the sign-out: 401", async () => {
    const [cookie] = await owner.context.cookies();
    const headers = {
      cookie: `${cookie?.name}=${cookie?.value}`,
      "sec-fetch-site": "same-origin",
      "realtime-avatar-environment": "live",
    };
    const read = () => fetch(`${service.url}/api/v1/user-sessions/current`, { headers });
    expect((await read()).status).toBe(200);
    await owner.open("/people");
    await page.getByRole("button", { name: "Ada Lovelace", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect((await read()).status).toBe(401);
  });

  test("a planted session, at the sign-in: replaced", async () => {
    const { page, context } = owner;
    const name = `realtime-avatar-session-${new URL(service.url).port}`;
    await context.addCookies([{ name, value: "planted", url: service.url, httpOnly: true, sameSite: "Strict" }]);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const cookies = await context.cookies();
    expect(cookies).toHaveLength(1);
    expect(cookies[0]?.value).not.toBe("planted");
  });
});

describe.skipIf(!BROWSER)("the API reference in Chromium", () => {
  const keys = () => service.database.db.client`
    select environment, scopes, spend_limit_credit_micros as cap, extract(epoch from expires_at - created_at) as seconds
    from api_keys where name = 'API reference'`;
  const say = (words: string) => page.locator("#key-status").filter({ hasText: words }).waitFor();
  // Found by id, because finding a role and a name in the whole page takes seconds.
  const createKey = () => page.locator("#key-create").click();

  test("the test assets, each tried with a test key: their outcomes", async () => {
    owner.complaints.splice(0);
    await page.goto(`${service.url}/docs`);
    await createKey();
    await say("The examples and the trials use the key.");
    const [key] = await keys();
    expect(key).toMatchObject({ environment: "test", cap: "600000000" });
    expect(key?.["scopes"]).not.toContain("*");
    // `Date` has no fractions of a second, and a busy machine adds some seconds.
    expect(Math.abs(key?.["seconds"] - 1800)).toBeLessThan(60);
    for (const id of Object.keys(TEST_ASSETS)) await page.locator(`[data-outcome=${id}]`).click();
    for (const [id, { kind }] of Object.entries(TEST_ASSETS)) {
      const status = kind === "ready" ? "ready" : "failed";
      const badge = page.locator(`li:has([data-outcome=${id}]) .badge`);
      // The page waits for 30 seconds. On a busy machine, a failed attempt is repeated later than that.
      for (await badge.waitFor(); (await badge.textContent()) === "preprocessing"; await badge.waitFor()) {
        await page.locator(`[data-outcome=${id}]`).click();
      }
      expect([id, await badge.textContent()]).toEqual([id, status]);
    }
    await page.locator("li:has([data-outcome=ast_test_no_face]) .output").getByText("No face was found").waitFor();
    expectQuiet(owner);
  }, 180_000);

  test("a list as a file, tried: its rows, as text", async () => {
    const name = "<img src=x onerror=alert(1)>";
    await service.database.db.client`update api_keys set name = ${name} where environment = 'test'`;
    await page.locator("#exportAuditEvents > summary").click();
    await page.locator("[data-operation=exportAuditEvents]").click();
    await page.locator("#exportAuditEvents form button").click();
    await page.locator("#exportAuditEvents .output pre").getByText(name).waitFor();
    await service.database.db.client`update api_keys set name = 'API reference' where environment = 'test'`;
    expectQuiet(owner);
  });

  test("a page with a test key that is left: the key is revoked, and not stored anywhere", async () => {
    const secret = (await page.locator("#createAvatar var").first().textContent()) ?? "";
    expect(secret).toMatch(/^rta_test_/);
    const headers = { authorization: `Bearer ${secret}` };
    const read = () => fetch(`${service.url}/api/v1/api-keys/self`, { headers });
    expect((await read()).status).toBe(200);
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])");
    expect(kept).not.toContain(secret);
    await owner.open("/people");
    await until(async () => (await read()).status !== 200);
    await page.goBack();
    await page.locator("#key-create").waitFor();
    expect(await page.content()).not.toContain(secret);
  });

  test("a test key, for a viewer or without a sign-in: refused with the reason", async () => {
    const { client } = service.database.db;
    await client`update users set role = 'viewer'`;
    await createKey();
    await say("Your role is viewer");
    await client`update users set role = 'owner'`;
    await owner.context.clearCookies();
    await createKey();
    await say("You are not signed in.");
    expect(await keys()).toHaveLength(1);
    expectQuiet(owner, [/status of 401/]);
  });
});
