/** The page of a recorded call: its recordings play, from the start or from a sentence; an owner deletes them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TranscriptSegment, transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { recordingKey } from "@realtime-avatar/domain/recordings/files";
import { webhookSealingKey } from "@realtime-avatar/domain/webhooks/secret";
import { openStorage } from "@realtime-avatar/storage/open";
import { Secret } from "@realtime-avatar/storage/secret";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { until } from "@realtime-avatar/testing/until";
import { AAC_FORMAT, AAC_FRAME_SAMPLES, createAacEncoder } from "@realtime-avatar/video/aac/encoder";
import { createMp4 } from "@realtime-avatar/video/mp4/file";
import { expectAccessible } from "./support/axe.ts";
import { makeCall, seedCaller } from "./support/calls.ts";
import { DESKTOP, expectQuiet, PHONE, signIn } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const SECRET = "the-secret-that-seals-transcripts-in-tests";
const SCREENSHOTS = process.env["SCREENSHOTS"];
const SECONDS = 30;
const data = await fileFolder();
const { service, owner, page, openPerson } = await fileWorld({ WEBHOOK_SECRET_KEY: SECRET, DATA_DIR: data });

/** An MP4 of sound. */
const soundFile = async (): Promise<string> => {
  const path = join(data, "sound.mp4");
  let bytes = Buffer.alloc(0);
  const write = (part: Uint8Array, position: number): void => {
    const before = Buffer.concat([bytes, Buffer.alloc(Math.max(0, position + part.length - bytes.length))]);
    before.set(part, position);
    bytes = before;
  };
  const file = createMp4({ sound: AAC_FORMAT, pictureTimescale: 1000, write });
  const encoder = createAacEncoder();
  const pcm = Int16Array.from({ length: AAC_FRAME_SAMPLES }, (_, at) => 3000 * Math.sin(at / 20));
  for (let frame = 0; frame < SECONDS * 47; frame++) file.addFrame(encoder.encode(pcm));
  file.finish(null);
  await writeFile(path, bytes);
  return path;
};

const segmentsFrom = (startsAt: number): TranscriptSegment[] => [
  { role: "assistant", text: "Good morning. This call is recorded.", ts: startsAt + 1000 },
  {
    role: "user",
    text: "When do you open?",
    ts: startsAt + 12_000,
    input_provenance: { version: 1, observed_source: "server_stt", observed_by: "worker", ingress: "room_audio_stt" },
  },
];

describe.skipIf(!BROWSER)("the recordings of a call in Chromium", () => {
  let call = "";
  const player = page?.locator("video");
  const position = (): Promise<number> => player.evaluate((media) => (media as HTMLMediaElement).currentTime);
  const isPaused = (): Promise<boolean> => player.evaluate((media) => (media as HTMLMediaElement).paused);

  beforeAll(async () => {
    const { client } = service.database.db;
    call = await makeCall(
      await seedCaller(service, { name: "Website", environment: "live", scopes: ["*", "usage:write"] }),
      SECONDS,
    );
    const startsAt = Date.now() - 1000 * SECONDS;
    await client`update usage_sessions set started_at = ${new Date(startsAt)} where id = ${call}`;
    await client`
      insert into call_transcripts (tenant_id, session_id, is_kept, is_complete, ended_at)
      values (${service.tenantId}, ${call}, true, true, now())`;
    const { sealSegment } = transcriptSeals(webhookSealingKey(new Secret(SECRET)), call as SessionId);
    for (const [n, segment] of segmentsFrom(startsAt).entries()) {
      await client`insert into call_segments values (${service.tenantId}, ${call}, 1, ${n}, ${sealSegment(segment, random)})`;
    }
    const id = newId("rec", new Date(), random);
    const key = recordingKey({ tenantId: service.tenantId, sessionId: call as SessionId }, id, 1);
    const storage = await openStorage(
      { kind: "disk", directory: join(data, "assets"), signingSecret: null },
      { origin: () => service.url },
    );
    const path = await soundFile();
    await storage.put(key, { path }, "audio/mp4");
    await storage.close();
    await client`
      insert into recordings (tenant_id, id, environment, session_id, mode, status, key, size_bytes, duration_ms, media_started_at,
        media_ended_at, created_at, ended_at, retained_until)
      values (${service.tenantId}, ${id}, 'live', ${call}, 'audio', 'ready', ${key}, ${Bun.file(path).size}, ${1000 * SECONDS},
        ${new Date(startsAt)}, now(), now(), now(), now() + interval '30 days')`;
  });

  test("a sentence of the transcript, played: the recording goes to it; at both widths, light and dark", async () => {
    await owner.open(`/usage?call=${call}`);
    await page.getByRole("heading", { name: "Recording", exact: true }).waitFor();
    await page.getByText(/^30 s, .* Will be deleted on /).waitFor();
    expect(await player.count()).toBe(0);
    await page.getByRole("button", { name: "Play from 0:12" }).click();
    await until(async () => (await player.count()) === 1 && (await position()) > 11.2, { state: position });
    expect(await isPaused()).toBe(false);
    await page.getByRole("button", { name: "Play from 0:01" }).click();
    await until(async () => (await position()) < 9);
    for (const [width, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width);
        await expectAccessible(page, `recording-${width}-${colorScheme}`);
        const path = join(SCREENSHOTS ?? "", `recording-${width}-${colorScheme}.png`);
        if (SCREENSHOTS) await page.screenshot({ path, fullPage: true });
      }
    }
    await page.setViewportSize(DESKTOP);
    expectQuiet(owner);
  });

  test("a viewer: plays the recording, and cannot delete it", async () => {
    const viewer = await openPerson();
    await signIn(viewer, service, "viewer", "Vera");
    await viewer.open(`/usage?call=${call}`);
    await viewer.page.getByRole("button", { name: "Play: The whole call" }).click();
    await viewer.page.getByRole("link", { name: "Download" }).waitFor();
    expect(await viewer.page.getByRole("button", { name: "Delete: The whole call" }).count()).toBe(0);
    expectQuiet(viewer);
  });

  test("a file that the store has lost: the page says so, and offers to try again", async () => {
    await page.route("**/public/recordings/*", (route) => route.fulfill({ status: 404 }));
    await owner.open(`/usage?call=${call}`);
    await page.getByRole("button", { name: "Play: The whole call" }).click();
    await page.getByText("The recording cannot be played.").waitFor();
    await page.unroute("**/public/recordings/*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The recording cannot be played.").waitFor({ state: "detached" });
    await until(async () => (await position()) > 0.1, { state: position });
    expectQuiet(owner, [/404/]);
  });

  test("an owner, deleting the recording: it is gone from the page, and in the audit trail; the call and its transcript stay", async () => {
    const { client } = service.database.db;
    const session = () => client`select * from usage_sessions where id = ${call}`;
    const segments = () => client`select * from call_segments where session_id = ${call} order by 1, 2, 3`;
    const before = [await session(), await segments()];
    expect(before.map(({ length }) => length > 0)).toEqual([true, true]);
    await owner.open(`/usage?call=${call}`);
    await page.getByRole("button", { name: "Delete: The whole call" }).click();
    await page.getByRole("button", { name: "Delete it for good" }).click();
    await page.getByRole("heading", { name: "Recording", exact: true }).waitFor({ state: "detached" });
    expect([await session(), await segments()]).toEqual(before);
    expect(await page.getByRole("button", { name: "Play from 0:12" }).count()).toBe(0);
    await owner.open("/audit");
    await page.getByRole("listitem").filter({ hasText: "Recording deleted" }).first().waitFor();
    expectQuiet(owner);
  });
});
