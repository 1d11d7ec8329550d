/** Avatars: a photo or a video is checked in the browser, and becomes a ready avatar, or shows the failed check. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { PHOTOS, type Photo, photoName, photoPath } from "@realtime-avatar/testing/photos";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { expectAccessible } from "./support/axe.ts";
import { clipboard, DESKTOP, expectBar, expectErrorsOnce, expectQuiet, failRequests, PHONE } from "./support/person.ts";
import { chooser, DAMAGED_PNG, FFMPEG, HOLD, makeVideos, naturalWidth, released } from "./support/sources.ts";
import { fileWorld } from "./support/world.ts";

const READY_MS = 120_000;

/** The path of a test photograph. */
const photo = (name: string): string => photoPath(PHOTOS.find((each) => photoName(each) === name) as Photo);
const FRONT = photo("soft-ui-dashboard/kal-visuals-square.jpg");
const OTHER_FRONT = photo("soft-ui-dashboard/team-1.jpg");
const TURNED = photo("soft-ui-dashboard/team-4.jpg");
/** 400 × 400 pixels. */
const SMALL = photo("material-kit/faces/marc.jpg");

const { service, owner, page } = await fileWorld({ WORKER: "true" });

describe.skipIf(!BROWSER)("the avatars page in Chromium", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await temporaryFolder();
    await owner.open("/avatars");
  });

  test("a wrong file, chosen: refused by the browser before an upload", async () => {
    const uploads: string[] = [];
    page.on("request", (request) => request.url().endsWith("/assets") && uploads.push(request.method()));
    await page.getByRole("button", { name: "Create an avatar" }).click();
    const dialog = page.getByRole("dialog");
    const checks = dialog.getByRole("list", { name: "Checks of the file" });
    const damaged = join(folder, "damaged.png");
    const text = join(folder, "notes.txt");
    const heic = join(folder, "photo.jpg");
    await Bun.write(heic, "\0\0\0\x18ftypheic\0\0\0\0mif1heic");
    await Bun.write(damaged, DAMAGED_PNG);
    await Bun.write(text, "This is no picture.");
    for (const [file, words] of [
      [SMALL, "400 × 400 pixels; each side at least 512. Use a photo of a higher resolution."],
      [damaged, "The file is damaged or incomplete."],
      [text, "This is a text. Accepted: image (JPEG, PNG or WebP), video (MP4, MOV or WebM)."],
      [heic, "This is a HEIC photo. Export it as JPEG."],
    ] as const) {
      await chooser(page).setInputFiles(file);
      await checks.getByText(words).waitFor();
      expect(await dialog.getByRole("button", { name: "Create the avatar" }).isDisabled()).toBe(true);
      // A refused file does not set the name.
      expect(await dialog.getByLabel("Name").inputValue()).toBe("");
    }
    await expectAccessible(page, "refused file");
    await page.keyboard.press("Escape");
    expect(uploads).toEqual([]);
    expectQuiet(owner);
  });

  test("a name, typed while a photo is measured: kept, and the last photo counts", async () => {
    await page.evaluate(HOLD);
    await page.getByRole("button", { name: "Create an avatar" }).click();
    const dialog = page.getByRole("dialog");
    await chooser(page).setInputFiles(SMALL);
    await released(page);
    await page.evaluate("window.createImageBitmap = window.decode");
    await chooser(page).setInputFiles(FRONT);
    await dialog.getByText("800 × 800 pixels").waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("kal visuals square");
    await page.evaluate("window.release()");
    await page.evaluate("window.createImageBitmap(new Blob([])).catch(() => {})");
    expect(await dialog.getByText("800 × 800 pixels").count()).toBe(1);
    // While another file is measured, the previous one can no longer be uploaded.
    const submit = dialog.getByRole("button", { name: "Create the avatar" });
    expect(await submit.isEnabled()).toBe(true);
    await page.evaluate(HOLD);
    await chooser(page).setInputFiles(OTHER_FRONT);
    await dialog.getByText("Reading the file…").waitFor();
    expect(await submit.isDisabled()).toBe(true);
    await released(page);
    await page.evaluate("window.release(); window.createImageBitmap = window.decode;");
    await dialog.getByText("800 × 800 pixels").waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("team 1");
    await page.keyboard.press("Escape");

    await page.evaluate(HOLD);
    await page.getByRole("button", { name: "Create an avatar" }).click();
    await chooser(page).setInputFiles(FRONT);
    await released(page);
    await dialog.getByLabel("Name").fill("Ada");
    await page.evaluate("window.release(); window.createImageBitmap = window.decode;");
    await dialog.getByText("800 × 800 pixels").waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Ada");
    await page.keyboard.press("Escape");
    expectQuiet(owner);
  });

  test("a photo, dropped: a ready avatar with its checks", async () => {
    const dialog = page.getByRole("dialog");
    const bytes = Buffer.from(await Bun.file(FRONT).bytes()).toString("base64");
    const transfer = await page.evaluateHandle(`(() => {
      const bytes = Uint8Array.from(atob("${bytes}"), (character) => character.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "grace-hopper.jpg", { type: "image/jpeg" }));
      return transfer;
    })()`);
    // Files can be dropped anywhere on the page.
    await page.locator("main").dispatchEvent("drop", { dataTransfer: transfer });
    await dialog.getByText("800 × 800 pixels").waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("grace hopper");
    // The browser accepts this name. The service refuses it.
    await dialog.getByLabel("Name").fill("   ");
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await expectErrorsOnce(dialog);
    await dialog.getByLabel("Name").fill("Grace");
    const details = page.getByRole("dialog", { name: "Grace" });
    const places = () =>
      Promise.all([details.boundingBox(), details.getByRole("button", { name: "Another photo" }).boundingBox()]);
    // The worker waits with the preparation until the page has shown that it waits.
    const { client } = service.database.db;
    await page.route("**/api/v1/avatars", async (route) => {
      await client`update job_slots set leased_until = now() + interval '1 hour'`;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await details.getByText("It usually takes a few seconds.").waitFor();
    const before = await places();
    await expectBar(details.getByRole("progressbar"));
    // The seconds are counted, so that the page does not look stuck.
    await details.getByText(/^[1-9]\d* s$/).waitFor();
    await page.unrouteAll();
    await client`update job_slots set leased_until = null`;
    await details.getByText("ready", { exact: true }).waitFor({ timeout: READY_MS });
    await details.getByText("Calls need LiveKit").waitFor();
    // The dialog and its buttons keep their places. The text fits without scrolling.
    const after = await places();
    expect([after[0], after[1]?.y]).toEqual([before[0], before[1]?.y]);
    expect(await details.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThanOrEqual(0);
    await details.getByText(/checks passed$/).click();
    expect(await details.getByRole("list", { name: "Passed checks" }).getByText("passed").count()).toBeGreaterThan(5);
    const picture = details.locator("img");
    await picture.waitFor();
    expect(await naturalWidth(picture)).toBeGreaterThan(100);
    await expectAccessible(page, "ready avatar");
    await page.setViewportSize(PHONE);
    await expectAccessible(page, "ready avatar on a phone");
    await details.getByRole("button", { name: /^Copy the id/ }).click();
    expect(await clipboard(page)).toMatch(/^ava_/);
    await page.setViewportSize(DESKTOP);
    expectQuiet(owner, [/status of 422/]);
  });

  test("a ready avatar: moves under the pointer, for people who allow motion", async () => {
    await page.keyboard.press("Escape");
    const card = page.getByRole("listitem").filter({ has: page.getByRole("button", { name: "Grace" }) });
    const moving = card.locator("img[data-moving]");
    await card.hover();
    expect(await moving.count()).toBe(0);
    await page.mouse.move(0, 0);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await card.hover();
    await moving.waitFor();
    expect(await naturalWidth(moving)).toBe(256);
    const picture = async () => Bun.hash(await card.locator("img").first().screenshot());
    const pictures = new Set<number | bigint>();
    await until(async () => pictures.add(await picture()).size > 4, { pollMs: 50, state: () => pictures.size });
    await page.mouse.move(0, 0);
    expect(await moving.count()).toBe(0);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await card.getByRole("button", { name: "Grace", exact: true }).click();
    await page.getByRole("dialog", { name: "Grace" }).getByText("ready", { exact: true }).waitFor();
    expectQuiet(owner);
  });

  test("an avatar, renamed, disabled, enabled and deleted: changed; a double click does not delete it", async () => {
    const details = page.getByRole("dialog", { name: "Grace" });
    await details.getByRole("button", { name: "Disable" }).click();
    await details.getByText("disabled", { exact: true }).waitFor();
    await details.getByRole("button", { name: "Enable" }).click();
    await details.getByText("ready", { exact: true }).waitFor();
    await details.getByRole("button", { name: "Delete", exact: true }).dblclick();
    await page.getByRole("dialog", { name: "Delete Grace" }).getByRole("button", { name: "Keep it" }).click();
    await details.getByRole("button", { name: "Rename" }).click();
    const rename = page.getByRole("dialog", { name: "Rename the avatar" });
    await rename.getByLabel("Name").fill("Grace Hopper");
    await rename.getByRole("button", { name: "Save the name" }).click();
    await page.getByRole("dialog", { name: "Grace Hopper" }).getByText("ready", { exact: true }).waitFor();
    await details.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog", { name: "Delete Grace Hopper" }).getByRole("button", { name: "Delete it" }).click();
    await page.getByText("No live avatars yet").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("Grace Hopper is deleted.").waitFor();
    expect(await page.evaluate("document.activeElement?.id")).toBe("page");
    expectQuiet(owner);
  });

  test("a failed creation, tried again: the file is uploaded once", async () => {
    const uploads: string[] = [];
    page.on("request", (request) => request.url().endsWith("/api/v1/assets") && uploads.push(request.method()));
    await failRequests(page, "**/api/v1/avatars", "Once.");
    await page.getByRole("button", { name: "Create an avatar" }).click();
    const dialog = page.getByRole("dialog");
    await chooser(page).setInputFiles(TURNED);
    await dialog.getByText("800 × 800 pixels").waitFor();
    await dialog.getByLabel("Name").fill("Alan");
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await dialog.getByText("Once.").waitFor();
    await page.unrouteAll();
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await page.getByRole("dialog", { name: "Alan" }).waitFor();
    expect(uploads).toEqual(["POST"]);
    expectQuiet(owner, [/status of 500/]);
  });

  test("a photo that fails a check: the check and the measured value; another photo: ready", async () => {
    // The avatar of the previous test.
    const details = page.getByRole("dialog", { name: "Alan" });
    const checks = details.getByRole("list", { name: "Checks" }).getByRole("listitem");
    await checks.first().waitFor({ timeout: READY_MS });
    // The failed check comes first.
    expect(await checks.first().textContent()).toMatch(/failedThe face is turned [\d.]+° .*25° is required/);
    await details.getByText("failed", { exact: true }).first().waitFor();
    await expectAccessible(page, "failed avatar");
    // The same photo would fail again, so no retry is offered. The photo is shown, so that the text can be understood.
    expect(await details.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await details.getByRole("img", { name: "The refused source" }).waitFor();
    expect(await page.locator("[aria-label=Avatars] img[alt='The refused source']").count()).toBe(1);
    await details.getByRole("button", { name: "Another photo" }).click();
    const another = page.getByRole("dialog", { name: "Another photo for Alan" });
    await chooser(page).setInputFiles(OTHER_FRONT);
    await another.getByText("800 × 800 pixels").waitFor();
    await another.getByRole("button", { name: "Use this photo" }).click();
    await another.waitFor({ state: "detached" });
    await details.getByText("ready", { exact: true }).waitFor({ timeout: READY_MS });
    await page.keyboard.press("Escape");
    await details.waitFor({ state: "detached" });
    const cards = page.getByRole("list", { name: "Avatars" }).getByRole("listitem");
    // A list that was read before the end can arrive after it. The next list contains the end.
    await cards.filter({ hasText: "Alanready" }).waitFor();
    expect(await cards.allTextContents()).toEqual(["AlanreadyCopy id"]);
    expectQuiet(owner);
  });

  test("a preparation that failed for another reason: can be tried again", async () => {
    // A copy of the avatar in the test environment, with a source that is prepared without an examination.
    const changes = {
      ...{ id: "ava_01h455vb4pex5vsknk084sn02r", environment: "test", display_name: "Edsger", status: "failed" },
      ...{ error: "The worker could not prepare it.", checks: [], source_asset_id: "ast_test_ready" },
      ...{ preview_token: null, preview_file: null },
    };
    await service.database.db.client`
      with copy as materialized (
        select (jsonb_populate_record(avatars, ${JSON.stringify(changes)}::text::jsonb)).*
        from avatars where display_name = 'Alan'
      )
      insert into avatars select * from copy`;
    await owner.open("/avatars?environment=test");
    await page.getByRole("button", { name: "Edsger", exact: true }).click();
    const details = page.getByRole("dialog", { name: "Edsger" });
    await details.getByText("The worker could not prepare it.").waitFor();
    await details.getByRole("button", { name: "Try again" }).click();
    await details.getByText("ready", { exact: true }).waitFor({ timeout: READY_MS });
    await page.keyboard.press("Escape");
    await page.getByText("Live", { exact: true }).click();
    await page.getByRole("button", { name: "Alan", exact: true }).waitFor();
    expectQuiet(owner);
  });

  test("an upload, refused by a proxy: an error about the proxy; stopped: no avatar, then or later", async () => {
    const creates: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/avatars")) creates.push(request.url());
    });
    await page.route("**/api/v1/assets", () => {});
    const refusal = { status: 413, contentType: "text/html", body: "<html>413 Request Entity Too Large</html>" };
    await page.route("**/api/v1/assets", (route) => route.fulfill(refusal), { times: 1 });
    await page.getByRole("button", { name: "Create an avatar" }).click();
    const dialog = page.getByRole("dialog");
    await chooser(page).setInputFiles(FRONT);
    await dialog.getByText("800 × 800 pixels").waitFor();
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await dialog.getByText("Too large for the proxy").waitFor();
    const ended = page.waitForEvent("requestfailed");
    await dialog.getByRole("button", { name: "Create the avatar" }).click();
    await dialog.getByRole("progressbar").waitFor();
    await expectAccessible(page, "upload");
    // A file that is dropped meanwhile does not replace the file that is being uploaded.
    expect(await chooser(page).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Stop the upload" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await ended).url()).toEndWith("/api/v1/assets");
    await page.unrouteAll();
    await page.reload();
    await page.getByRole("button", { name: "Alan", exact: true }).waitFor();
    expect(await page.getByRole("list", { name: "Avatars" }).getByRole("listitem").count()).toBe(1);
    expect(creates).toEqual([]);
    expectQuiet(owner, [/ERR_ABORTED|ERR_FAILED|413/]);
  });

  describe.skipIf(!FFMPEG)("videos, with ffmpeg", () => {
    const path = (name: string) => join(folder, name);
    beforeAll(async () => {
      const h264 = "-c:v libx264 -preset ultrafast";
      await makeVideos(FRONT, {
        [path("ada.mp4")]: `-t 1 ${h264}`,
        [path("ada.mov")]: `-t 1 ${h264}`,
        [path("ada.webm")]: "-t 1 -c:v libvpx-vp9 -deadline realtime -cpu-used 8",
        [path("short.mp4")]: `-t 0.5 ${h264}`,
        [path("small.mp4")]: `-t 1 -vf scale=320:320 ${h264}`,
        // Incompressible noise makes some megabytes. The face can still be found in the first examined frame.
        [path("large.mp4")]: `-t 1.5 -vf scale=512:512,noise=alls=16:allf=t -crf 8 ${h264}`,
      });
    });

    test("a video, chosen: measured in the browser before the upload", async () => {
      const { page } = owner;
      await page.getByRole("button", { name: "Create an avatar" }).click();
      const dialog = page.getByRole("dialog");
      const checks = dialog.getByRole("list", { name: "Checks of the file" });
      for (const [name, words, isUsable] of [
        ["ada.mov", "Type: MOV", true],
        ["ada.webm", "Type: WebM", true],
        ["short.mp4", "Length: 0.5 s; at least 1 s.", false],
        ["small.mp4", "Dimensions: 320 × 320 pixels; each side at least 512.", false],
        ["ada.mp4", "Length: 1 s", true],
      ] as const) {
        await chooser(page).setInputFiles(path(name));
        await checks.getByText(words).waitFor();
        expect([name, await dialog.getByRole("button", { name: "Create the avatar" }).isEnabled()]).toEqual([
          name,
          isUsable,
        ]);
      }
      const preview = dialog.locator("video");
      expect(await preview.evaluate((video: HTMLVideoElement) => video.src)).toMatch(/^blob:/);
      await expectAccessible(page, "video");
      await page.keyboard.press("Escape");
      expectQuiet(owner);
    });

    test("a video, uploaded: progress, a ready avatar, replaceable by a video only", async () => {
      const { page, context } = owner;
      const devtools = await context.newCDPSession(page);
      const limits = { offline: false, latency: 0, downloadThroughput: -1 };
      await devtools.send("Network.enable");
      await devtools.send("Network.emulateNetworkConditions", { ...limits, uploadThroughput: 1024 * 1024 });
      await page.getByRole("button", { name: "Create an avatar" }).click();
      const dialog = page.getByRole("dialog");
      await chooser(page).setInputFiles(path("large.mp4"));
      await dialog.getByText("Length: 1.5 s").waitFor();
      await dialog.getByLabel("Name").fill("Ada");
      await dialog.getByRole("button", { name: "Create the avatar" }).click();
      await dialog.getByText(/^Uploading the video: [1-9]\d? %$/).waitFor();
      await devtools.send("Network.emulateNetworkConditions", { ...limits, uploadThroughput: -1 });
      const details = page.getByRole("dialog", { name: "Ada", exact: true });
      await details
        .getByText(/^(ready|failed)$/)
        .first()
        .waitFor({ timeout: READY_MS });
      await details.getByText("a video", { exact: true }).waitFor();
      await details.getByRole("button", { name: "Another video" }).click();
      const another = page.getByRole("dialog", { name: "Another video for Ada" });
      await chooser(page).setInputFiles(FRONT);
      await another.getByText("This is a JPEG image. Accepted: MP4, MOV or WebM.").waitFor();
      await chooser(page).setInputFiles(path("ada.mp4"));
      await another.getByText("Length: 1 s").waitFor();
      await another.getByRole("button", { name: "Use this video" }).click();
      await another.waitFor({ state: "detached" });
      await details.getByText("ready", { exact: true }).waitFor({ timeout: READY_MS });
      await page.keyboard.press("Escape");
      expectQuiet(owner);
    });
  });

  test("more than one page of avatars: few at first, and each found by a search", async () => {
    const ids = Array.from({ length: 205 }, (_, index) => `ava_01aaaa${String(index).padStart(20, "0")}`);
    await service.database.db.client`
      insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
        metadata, version, created_at, updated_at)
      select ${service.tenantId}, id, 'test', 'Avatar ' || place - 1, 'image', 'default', 'draft', 0, '{}', '{}', 1, now(), now()
      from unnest(${ids}::text[]) with ordinality as seeds (id, place)`;
    const items = page.getByRole("list", { name: "Avatars" }).getByRole("listitem");
    await owner.open("/avatars?environment=test");
    await items.getByText("Avatar 204", { exact: true }).waitFor();
    const search = page.getByRole("searchbox", { name: "Search by name or id" });
    await search.fill(ids[2] ?? "");
    await page.getByText("1 avatar", { exact: true }).waitFor();
    await items.getByText("Avatar 2", { exact: true }).waitFor();
    await search.fill("AVATAR 10");
    await page.getByText("11 avatars", { exact: true }).waitFor();
    expect(await items.locator("button:first-child").allTextContents()).toContain("Avatar 104");
    await expectAccessible(page, "avatars that were searched for");
    await page.getByLabel("Status").selectOption("Ready");
    await page.getByText("No avatar matches.").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    // The end of the list is rendered when it is near the visible part. A click while older items load has no effect.
    await until(async () => {
      await page.evaluate(`
        [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Load older ones")?.click();
        scrollTo(0, document.body.scrollHeight);
      `);
      return (await items.getByText("Avatar 0", { exact: true }).count()) > 0;
    });
    expect(await items.count()).toBeLessThan(150);
    // A deleted avatar is shown as such.
    await owner.open("/avatars?environment=test&avatar=ava_01h455vb4pex5vsknk084sn02q");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    expectQuiet(owner, [/status of 404/]);
  });
});
