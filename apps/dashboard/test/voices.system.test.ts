/** The voice of an avatar: shown, heard and changed. */
import { describe, expect, test } from "bun:test";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { expectAccessible } from "./support/axe.ts";
import { expectQuiet, signIn } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const { service, owner, page, openPerson } = await fileWorld();

/** Records the length of each sound that is played to its end. */
const LISTEN = `{
  window.heard = [];
  const play = HTMLMediaElement.prototype.play;
  HTMLMediaElement.prototype.play = function () {
    this.addEventListener("ended", () => window.heard.push(this.duration));
    return play.call(this);
  };
}`;

/** An avatar without a source, which has a voice as well. */
const createAvatar = async (): Promise<string> => {
  const { db } = service.database;
  const { secret } = await seedKey(db, service.tenantId, { environment: "live", scopes: ["*"] });
  const response = await fetch(`${service.url}/api/v1/avatars`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret.reveal()}`, "content-type": "application/json" },
    body: JSON.stringify({ displayName: "Grace", sourceKind: "image" }),
  });
  return ((await response.json()) as { id: string }).id;
};

describe.skipIf(!BROWSER)("the voice of an avatar in Chromium", () => {
  let id = "";
  const details = page?.getByRole("dialog", { name: "Grace" });
  const voice = details?.getByLabel("Voice");
  const chosen = () => voice.locator("option:checked").textContent();

  test("a voice, chosen and heard: stored; its sample is played to the end", async () => {
    id = await createAvatar();
    await owner.open(`/avatars?avatar=${id}`);
    await voice.waitFor();
    expect(await chosen()).toBe("Default: Flite slt (female, American), en-US");
    await page.evaluate(LISTEN);
    // The voice is effective at once, even if the avatar is read again late.
    const isHeard = Promise.withResolvers<void>();
    await page.route(`**/api/v1/avatars/${id}`, async (route) => {
      if (route.request().method() === "GET") await isHeard.promise;
      await route.fallback();
    });
    const changed = page.waitForResponse((response) => response.request().method() === "PATCH");
    await voice.selectOption("flite-rms");
    expect(await (await changed).json()).toMatchObject({ defaultVoiceId: "flite-rms" });
    const sample = page.waitForResponse(/\/voices\/flite-rms\/sample$/);
    await details.getByRole("button", { name: "Hear it" }).click();
    expect((await sample).status()).toBe(200);
    const heard = async () => (await page.evaluate<number[]>("window.heard"))[0] ?? 0;
    await until(async () => (await heard()) > 1, { limitMs: 30_000, state: heard });
    expect(await chosen()).toBe("Flite rms (male, American), en-US");
    isHeard.resolve();
    await page.unrouteAll({ behavior: "wait" });
    await expectAccessible(page, "voice of an avatar");
    expectQuiet(owner);
  });

  test("a removed voice: marked as unavailable, without a sample, and replaceable", async () => {
    await service.database.db.client`update avatars set default_voice_id = 'narrator-1' where id = ${id}`;
    await page.reload();
    await voice.waitFor();
    expect(await chosen()).toBe("narrator-1, not available");
    expect(await details.getByRole("button", { name: "Hear it" }).count()).toBe(0);
    await voice.selectOption("");
    await details.getByRole("button", { name: "Hear it" }).waitFor();
    const stored = () => service.database.db.client`select default_voice_id from avatars where id = ${id}`;
    await until(async () => (await stored())[0]?.["default_voice_id"] === null, { state: stored });
    expectQuiet(owner);
  });

  test("a viewer: sees and hears the voice, but cannot change it", async () => {
    const viewer = await openPerson();
    await signIn(viewer, service, "viewer", "Grace Hopper");
    await viewer.open(`/avatars?avatar=${id}`);
    const shown = viewer.page.getByRole("dialog", { name: "Grace" });
    await shown.getByText("Default: Flite slt (female, American), en-US").waitFor();
    expect(await shown.getByRole("combobox").count()).toBe(0);
    const sample = viewer.page.waitForResponse(/\/voices\/flite-slt\/sample$/);
    await shown.getByRole("button", { name: "Hear it" }).click();
    expect((await sample).status()).toBe(200);
    expectQuiet(viewer);
  });

  test("a sample that fails: an error beside the voice", async () => {
    await page.route("**/sample", (route) => route.fulfill({ status: 404, json: {} }));
    await details.getByRole("button", { name: "Hear it" }).click();
    await details.getByRole("alert").waitFor();
    await page.unrouteAll();
    expectQuiet(owner, [/status of 404/]);
  });
});
