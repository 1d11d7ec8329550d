/** Videos: an avatar says a typed sentence, which is seen and heard, and listed on the page of videos. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { expectAccessible } from "./support/axe.ts";
import { type Caller, createCaller } from "./support/calls.ts";
import { DESKTOP, expectQuiet, PHONE, signIn } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const READY_MS = 120_000;
const SENTENCE = "Hello, and welcome to our shop.";

/** A folder for screenshots of the page. */
const SCREENSHOTS = process.env["SCREENSHOTS"];

const { service, owner, page, openPerson } = await fileWorld({ WORKER: "true" });

const picture = async (name: string): Promise<void> => {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
};

/** Checks at both widths and in both colour schemes that no content is cut off, and that axe finds no violations. */
const expectFits = async (name: string): Promise<void> => {
  for (const [viewport, colorScheme] of [
    [PHONE, "dark"],
    [DESKTOP, "light"],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await picture(`${name}-${viewport.width}-${colorScheme}`);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width);
    await expectAccessible(page, `${name} ${viewport.width}`);
  }
  await page.setViewportSize(DESKTOP);
};

describe.skipIf(!BROWSER)("videos in Chromium", () => {
  const dialog = page?.getByRole("dialog", { name: "Ada" });
  const videos = page?.getByRole("list", { name: "Videos" });
  const cards = videos?.locator("> li");
  const secrets: string[] = [];
  let call: Caller;
  let avatar = "";

  beforeAll(async () => {
    const request = { name: "Website", environment: "live" as const, scopes: ["*" as const] };
    const { secret } = await seedKey(service.database.db, service.tenantId, request);
    call = createCaller(service, secret.reveal());
    const form = new FormData();
    form.append("file", new Blob([await Bun.file(portraitPath()).bytes()]), "ada.jpg");
    const headers = { authorization: `Bearer ${secret.reveal()}` };
    const uploaded = await fetch(`${service.url}/api/v1/assets`, { method: "POST", headers, body: form });
    const { id: sourceAssetId } = (await uploaded.json()) as { id: string };
    const made = await call("POST", "/avatars", { displayName: "Ada", sourceKind: "image", sourceAssetId });
    avatar = String(made["id"]);
    await until(async () => (await call("GET", `/avatars/${avatar}`))["status"] === "ready", { limitMs: READY_MS });
    owner.context.on("response", async (response) => {
      if (response.status() !== 201 || !response.url().endsWith("/api/v1/api-keys")) return;
      secrets.push(((await response.json()) as { apiKey: string }).apiKey);
    });
  }, READY_MS);

  test("a sentence, typed on an avatar by the keyboard: its cost is shown before; the video is seen and heard", async () => {
    await owner.open(`/avatars?avatar=${avatar}`);
    const create = dialog.getByRole("button", { name: "Create video" });
    await create.waitFor();
    expect(await create.isDisabled()).toBe(true);
    await dialog.getByLabel("What it says").focus();
    await page.keyboard.type(SENTENCE);
    await dialog.getByText("At most 4 seconds: 4 credits.").waitFor();
    await dialog.getByLabel("Voice of the video").selectOption("flite-rms");
    await dialog.getByLabel("What it says").scrollIntoViewIfNeeded();
    await expectFits("say");
    await create.focus();
    await page.keyboard.press("Enter");
    const video = dialog.locator("video");
    await video.waitFor({ timeout: READY_MS });
    // It plays by itself to its end, with picture and sound.
    const playing = `(() => {
      const { currentTime, duration, videoWidth, webkitAudioDecodedByteCount: bytes } = document.querySelector("dialog video");
      return currentTime > 0.5 * duration && videoWidth === 512 && bytes > 0;
    })()`;
    await until(async () => (await page.evaluate(playing)) === true);
    await dialog.getByText(/^It cost \d credits?\.$/).waitFor();
    await video.scrollIntoViewIfNeeded();
    await expectFits("said");
    const [row] = await service.database.db.client`
      select v.voice_id, v.status, k.name, k.scopes from videos v join api_keys k on k.id = v.api_key_id`;
    expect(row).toMatchObject({
      voice_id: "flite-rms",
      status: "ready",
      name: "Create a video",
      scopes: ["realtime:write"],
    });
    // The secret is in no address, storage or text.
    const secret = secrets.at(-1) ?? "";
    expect(secret).toStartWith("rta_live_");
    const kept = `JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])`;
    expect(await page.evaluate(kept)).not.toContain(secret.slice(-30));
    expect(await findCreditDrift(service.database.db, service.tenantId, 10)).toEqual([]);
    expectQuiet(owner);
  });

  test("a text without words: the service's error at the field, no charge; the key is revoked", async () => {
    await dialog.getByLabel("What it says").fill("🎉🎉");
    await dialog.getByRole("button", { name: "Create video" }).click();
    await dialog.getByText("Nothing of the text can be spoken.").waitFor();
    await expectAccessible(page, "refused text");
    await until(async () => {
      const keys = await service.database.db.client`
        select 1 from api_keys where name = 'Create a video' and revoked_at is null`;
      return keys.length === 1;
    });
    expectQuiet(owner, [/status of 422/]);
  });

  test("the page of videos: status, text, voice, length and cost; a video is played, and filtered", async () => {
    await dialog.getByRole("link", { name: "All videos of this avatar" }).click();
    await page.getByRole("heading", { name: "Videos", level: 1 }).waitFor();
    await cards.first().waitFor();
    const text = await cards.first().textContent();
    for (const words of ["Ada", "ready", SENTENCE, "Flite rms", "s long", "credits"]) expect(text).toContain(words);
    await expectFits("videos");
    // The picture of the avatar is loaded.
    await until(async () => Number(await page.evaluate("document.querySelector('main li img').naturalWidth")) > 0);
    const other = await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" });
    await owner.open("/videos");
    await page.getByLabel("Avatar").selectOption("Grace");
    await page.getByText("No video matches").waitFor();
    expect(page.url()).toContain(`avatar=${other["id"]}`);
    await page.getByLabel("Avatar").selectOption("Ada");
    const download = cards.first().getByRole("link", { name: `Download: ${SENTENCE}` });
    const file = await fetch((await download.getAttribute("href")) ?? "");
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    await page.getByRole("button", { name: `Play: ${SENTENCE}` }).click();
    const shown = page.getByRole("dialog", { name: "Video" });
    await shown.locator("video").waitFor();
    // One click suffices.
    const position = `document.querySelector("dialog video").currentTime`;
    await until(async () => Number(await page.evaluate(position)) > 0);
    expect(page.url()).toContain("video=vid_");
    await expectFits("video");
    await page.keyboard.press("Escape");
    await shown.waitFor({ state: "detached" });
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText("No video matches").waitFor();
    await page.getByLabel("Status").selectOption("");
    await cards.first().waitFor();
    await page.getByText("1 video", { exact: true }).waitFor();
    await page.getByLabel("Avatar").selectOption("Any avatar");
    await cards.first().waitFor();
    expect(new URL(page.url()).search).toBe("");
    expectQuiet(owner);
  });

  test("the credits of a video: not among the calls; in the ledger, with a link to the video", async () => {
    await owner.open("/usage?tab=calls");
    await page.getByText("No calls in 30 days").waitFor();
    await page.getByRole("link", { name: "Ledger", exact: true }).click();
    await page.getByRole("link", { name: "Session" }).first().click();
    const session = page.getByRole("dialog", { name: "Credits of a video" });
    await session.getByRole("link", { name: "A video", exact: true }).waitFor();
    await expectFits("session");
    await session.getByRole("link", { name: "A video", exact: true }).click();
    await page.getByRole("dialog", { name: "Video" }).getByText(SENTENCE).waitFor();
    await owner.open("/videos");
    expectQuiet(owner);
  });

  test("an unfinished video: its progress is shown; it is canceled after a confirmation, at no charge", async () => {
    const { client } = service.database.db;
    await client`update job_slots set leased_until = now() + interval '1 hour'`;
    const { id } = await call("POST", "/videos", { avatarId: avatar, text: "This one waits." });
    const card = cards.filter({ hasText: "This one waits." });
    await card.getByText("The video waits for a worker.").waitFor();
    await client`update videos set status = 'rendering', progress = 0.4 where id = ${String(id)}`;
    await card.getByRole("progressbar", { name: "The video is being rendered." }).waitFor();
    expect(await card.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("40");
    await card.getByText("holds 2 credits").waitFor();
    await expectFits("rendering");
    await card.getByRole("button", { name: "Cancel: This one waits." }).click();
    const question = page.getByRole("dialog", { name: "Cancel the video" });
    await question.waitFor();
    await expectAccessible(page, "cancel");
    await question.getByRole("button", { name: "Let it go on" }).click();
    await card.getByRole("button", { name: "Cancel: This one waits." }).click();
    await question.getByRole("button", { name: "Cancel it" }).click();
    await page.getByText("The video is canceled.").waitFor();
    await card.getByText("canceled").waitFor();
    await card.getByText("not charged").waitFor();
    await client`update job_slots set leased_until = now()`;
    expectQuiet(owner);
  });

  test("a video, deleted after a confirmation: gone from the list and from its address", async () => {
    const card = cards.filter({ hasText: SENTENCE });
    const address = (await card.getByRole("link", { name: "Download" }).getAttribute("href")) ?? "";
    await card.getByRole("button", { name: `Delete: ${SENTENCE}` }).click();
    const question = page.getByRole("dialog", { name: "Delete the video" });
    await question.getByRole("button", { name: "Delete it for good" }).click();
    await card.waitFor({ state: "detached" });
    expect((await fetch(address)).status).toBe(404);
    expectQuiet(owner);
  });

  test("an unfinished video: no other video can be created until it is canceled", async () => {
    const { client } = service.database.db;
    await client`update job_slots set leased_until = now() + interval '1 hour'`;
    await owner.open(`/avatars?avatar=${avatar}`);
    const create = dialog.getByRole("button", { name: "Create video" });
    await dialog.getByLabel("What it says").fill("Only once.");
    await create.click();
    await dialog.getByText("You can create another video when this one is finished.").waitFor();
    expect(await create.getAttribute("aria-disabled")).toBe("true");
    await expectAccessible(page, "waiting");
    await create.click({ force: true });
    await create.press("Enter");
    const [row] = await client`select id from videos where text = 'Only once.'`;
    await call("DELETE", `/videos/${row?.["id"]}`);
    await dialog.getByText("The video was canceled.").waitFor();
    await dialog.getByText("At most 2 seconds: 2 credits.").waitFor();
    expect(await create.getAttribute("aria-disabled")).toBeNull();
    expect(await client`select status from videos where text = 'Only once.'`).toMatchObject([{ status: "canceled" }]);
    await client`update job_slots set leased_until = now()`;
    expectQuiet(owner);
  });

  test("a viewer: sees the videos, but cannot create or end one", async () => {
    const viewer = await openPerson();
    await signIn(viewer, service, "viewer", "Grace Hopper");
    await viewer.open("/videos");
    const shown = viewer.page.getByRole("list", { name: "Videos" });
    await shown.getByText("This one waits.").waitFor();
    expect(await shown.getByRole("button", { name: /Delete|Cancel/ }).count()).toBe(0);
    await viewer.open(`/avatars?avatar=${avatar}`);
    await viewer.page.getByRole("dialog", { name: "Ada" }).getByText("Calls need LiveKit").waitFor();
    expect(await viewer.page.getByRole("button", { name: "Create video" }).count()).toBe(0);
    expectQuiet(viewer);
  });
});
