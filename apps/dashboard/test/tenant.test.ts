/** Which tenant the sign-in page remembers, when a link of a stranger names another one. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { startWorld, type World } from "./support/world.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(120_000);

describe.skipIf(!BROWSER)("the remembered tenant in Chromium", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({
      OIDC_ISSUER: "http://localhost:1",
      OIDC_CLIENT_ID: "realtime-avatar",
      OIDC_CLIENT_SECRET: "secret",
      OIDC_NAME: "Example Login",
    });
  });
  afterAll(() => world?.close());

  test("a stranger's link, naming another tenant: the remembered tenant stays", async () => {
    const { owner, service } = world;
    const foreign = "ten_01h455vb4pex5vsknk084sn02q";
    const button = owner.page.getByRole("button", { name: "Sign in with Example Login" });
    await owner.open(`/sign-in?tenant=${service.tenantId}`);
    await button.click();
    // The provider is not there.
    await owner.page.getByRole("alert").waitFor();
    // The person follows the link, and signs in nowhere.
    await owner.open(`/sign-in?tenant=${foreign}`);
    await button.waitFor();
    await owner.open("/sign-in");
    const request = owner.page.waitForRequest(/oidc\/sign-in/);
    await button.click();
    expect((await request).postDataJSON()).toEqual({ tenantId: service.tenantId });
  });
});
