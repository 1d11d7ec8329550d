/** The page of a call: an owner turns the keeping of transcripts on, and reads and deletes one. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type TranscriptSegment, transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import type { SessionId } from "@realtime-avatar/domain/id";
import { webhookSealingKey } from "@realtime-avatar/domain/webhooks/secret";
import { Secret } from "@realtime-avatar/storage/secret";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { random } from "@realtime-avatar/testing/random-bytes";
import { expectAccessible } from "./support/axe.ts";
import { makeCall, seedCaller } from "./support/calls.ts";
import { DESKTOP, expectQuiet, PHONE, signIn } from "./support/person.ts";
import { fileWorld } from "./support/world.ts";

const SECRET = "the-secret-that-seals-transcripts-in-tests";
const SCREENSHOTS = process.env["SCREENSHOTS"];
const { service, owner, page, openPerson } = await fileWorld({ WEBHOOK_SECRET_KEY: SECRET });

/** The segments of a call that began at `startsAt`. */
const segmentsFrom = (startsAt: number): TranscriptSegment[] => [
  { role: "assistant", text: "Good morning. How can I help you?", ts: startsAt + 1000 },
  {
    role: "user",
    text: "When do you open?",
    ts: startsAt + 5200,
    input_provenance: { version: 1, observed_source: "server_stt", observed_by: "worker", ingress: "room_audio_stt" },
  },
  {
    role: "assistant",
    text: "At nine, from Monday to Friday. On Saturdays we open at ten, and on Sundays we are <b>closed</b>.",
    ts: startsAt + 7100,
    interrupted: true,
    timings: { end_of_speech: 40, end_of_turn: 352, text: 0, first_token: 210, first_sound: 130, heard: 240 },
  },
  {
    role: "user",
    text: "Thanks.",
    ts: startsAt + 66_000,
    input_provenance: { version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" },
  },
];

describe.skipIf(!BROWSER)("the page of a call in Chromium", () => {
  let [kept, plain] = ["", ""];
  beforeAll(async () => {
    const { client } = service.database.db;
    const call = await seedCaller(service, { name: "Website", environment: "live", scopes: ["*", "usage:write"] });
    [kept, plain] = [await makeCall(call, 125), await makeCall(call, 10)];
    const startsAt = Date.now() - 125_000;
    await client`update usage_sessions set started_at = ${new Date(startsAt)} where id = ${kept}`;
    await client`
      insert into call_transcripts (tenant_id, session_id, is_kept, is_complete, ended_at)
      values (${service.tenantId}, ${kept}, true, true, now())`;
    const { sealSegment } = transcriptSeals(webhookSealingKey(new Secret(SECRET)), kept as SessionId);
    for (const [n, segment] of segmentsFrom(startsAt).entries()) {
      await client`
        insert into call_segments values (${service.tenantId}, ${kept}, 1, ${n}, ${sealSegment(segment, random)})`;
    }
  });

  test("transcripts, turned on and off by an owner: a warning before, and events in the audit trail", async () => {
    await owner.open("/usage?tab=calls");
    await page.getByText("Transcripts of calls are not kept.").waitFor();
    await page.getByRole("button", { name: "Keep them" }).click();
    const dialog = page.getByRole("dialog", { name: "Keep transcripts" });
    await dialog.getByText("Tell the people who call.").waitFor();
    await expectAccessible(page, "keep-transcripts");
    await dialog.getByRole("button", { name: "Keep them" }).click();
    await page.getByText("Transcripts of calls are kept.").waitFor();
    const [row] = await service.database.db.client`select environment, keeps_transcripts from tenant_settings`;
    expect({ ...row }).toEqual({ environment: "live", keeps_transcripts: true });
    await owner.open("/audit");
    await page.getByRole("listitem").filter({ hasText: "Settings changed" }).first().waitFor();
    expectQuiet(owner);
  });

  test("a call, opened from its row: its words, their times, and the timings of answers; at both widths, light and dark", async () => {
    await owner.open("/usage?tab=calls");
    await page.getByRole("row").filter({ hasText: "2 min" }).getByRole("button", { expanded: false }).click();
    await page.getByRole("link", { name: "Transcript and details" }).click();
    await page.getByRole("heading", { name: "Call", level: 1 }).waitFor();
    const said = page.getByRole("list", { name: "What was said" }).getByRole("listitem");
    await said.first().waitFor();
    expect(await said.locator("p:last-of-type").allTextContents()).toEqual([
      "Good morning. How can I help you?",
      "When do you open?",
      "At nine, from Monday to Friday. On Saturdays we open at ten, and on Sundays we are <b>closed</b>.",
      "Thanks.",
    ]);
    expect(await said.nth(2).textContent()).toStartWith("0:07Avatarinterrupted");
    expect(await said.nth(3).textContent()).toStartWith("1:06Personwritten");
    await page.getByText("Answered in 1.0 s").click();
    await page.getByText("silence, until the turn is over").waitFor();
    await page.getByText(/^Will be deleted on /).waitFor();
    for (const [width, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width);
        await expectAccessible(page, `call-${width}-${colorScheme}`);
        const path = join(SCREENSHOTS ?? "", `call-${width}-${colorScheme}.png`);
        if (SCREENSHOTS) await page.screenshot({ path, fullPage: true });
      }
    }
    await page.setViewportSize(DESKTOP);
    expectQuiet(owner);
  });

  test("a call without a transcript: the reason", async () => {
    await owner.open(`/usage?call=${plain}`);
    await page.getByText("No transcript of this call is kept.").waitFor();
    expect(await page.getByRole("button", { name: "Delete it" }).count()).toBe(0);
  });

  test("a viewer: reads the transcript, but cannot delete it or change the setting", async () => {
    const viewer = await openPerson();
    await signIn(viewer, service, "viewer", "Vera");
    await viewer.open(`/usage?call=${kept}`);
    await viewer.page.getByText("When do you open?").waitFor();
    expect(await viewer.page.getByRole("button", { name: "Delete it" }).count()).toBe(0);
    await viewer.open("/usage?tab=calls");
    await viewer.page.getByText("Transcripts of calls are kept.").waitFor();
    expect(await viewer.page.getByRole("button", { name: "Stop keeping" }).count()).toBe(0);
  });

  test("the transcript, deleted: gone from the page and the database; the call stays", async () => {
    const session = () => service.database.db.client`select * from usage_sessions where id = ${kept}`;
    const before = await session();
    expect(before).toHaveLength(1);
    await owner.open(`/usage?call=${kept}`);
    await page.getByRole("button", { name: "Delete it" }).click();
    await page.getByRole("button", { name: "Delete it for good" }).click();
    await page.getByText("No transcript of this call is kept.").waitFor();
    const [left] = await service.database.db.client`select count(*)::integer as count from call_segments`;
    expect(left?.["count"]).toBe(0);
    expect(await session()).toEqual(before);
  });
});
