/** A conversation on the page of calls: its state and its captions, with LiveKit, an avatar worker and a scripted language model. */
import { beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { fixture } from "@realtime-avatar/testing/fixture";
import { expectAccessible } from "./support/axe.ts";
import { callPages } from "./support/call-page.ts";
import { type CallWorld, callWorld, missing } from "./support/call-world.ts";
import { seedCaller } from "./support/calls.ts";
import { DESKTOP, PHONE } from "./support/person.ts";

const skipped = missing === null ? "" : ` (skipped: ${missing})`;
/** The limit of each wait, far below the timeout of a test, so that a failed wait reports what the page shows. */
const WAIT_MS = 50_000;
setDefaultTimeout(120_000);

/** A folder for screenshots of the page. */
const SCREENSHOTS = process.env["SCREENSHOTS"];

const ANSWER = "Good morning. I am glad that you are here.";
/** Long enough to observe that the avatar thinks. */
const THINK_MS = 3000;
/**
 * A language model with one answer. No recognizer is configured, so the sounds of the browser's microphone, which are
 * not words, are ignored.
 */
const model = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async ({ url }) => {
    if (!url.endsWith("/chat/completions")) return Response.json({ data: [] });
    await Bun.sleep(THINK_MS);
    const event = JSON.stringify({ choices: [{ delta: { content: ANSWER }, finish_reason: "stop" }] });
    return new Response(`data: ${event}\n\ndata: [DONE]\n\n`);
  },
});
await fixture({ close: () => model.stop(true) });
const variables = { LLM_URL: `${model.url.origin}/v1`, LLM_MODEL: "model" };
const world = missing === null ? await callWorld({}, variables) : ({} as CallWorld);
const { service } = world;

describe.skipIf(missing !== null)(`a conversation on the page of calls in Chromium${skipped}`, () => {
  const { openPage, test } = callPages(world, WAIT_MS);
  let avatar = "";
  beforeAll(async () => {
    const call = await seedCaller(service, { name: "Website", environment: "live", scopes: ["*"] });
    ({ id: avatar } = (await call("POST", "/avatars", { displayName: "Grace", sourceKind: "image" })) as {
      id: string;
    });
    await service.database.db.client`update avatars set status = 'ready'`;
  });

  test("a written turn: the avatar thinks and answers, and both are in the captions, also after the call", async () => {
    const page = await openPage();
    await page.setViewportSize(DESKTOP);
    const picture = async (name: string): Promise<void> => {
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
    };
    await page.goto(`${service.url}/dashboard/call?avatar=${avatar}`);
    await page.getByRole("button", { name: "Try the microphone" }).click();
    await page.getByRole("button", { name: "Start the call" }).click();
    await page.getByText("Grace answers what you write. It cannot hear you").waitFor();
    await page.getByText("Grace listens.").waitFor();
    await page.getByLabel("Write to Grace").fill("Good morning!");
    await page.keyboard.press("Enter");
    await page.getByText("Grace thinks.").waitFor();
    await picture("conversation-thinking");
    await page.getByText("Grace speaks.").waitFor();
    const captions = page.getByLabel("What was said");
    await captions.getByText(`Grace: ${ANSWER}`).waitFor();
    expect(await captions.locator("p").allInnerTexts()).toEqual(["You: Good morning!", `Grace: ${ANSWER}`]);
    expect(await page.getByLabel("Write to Grace").inputValue()).toBe("");
    await picture("conversation-speaking");
    await page.getByText("Grace listens.").waitFor();
    await page.setViewportSize(PHONE);
    await expectAccessible(page, "in a conversation");
    await picture("conversation-phone");
    await page.getByRole("button", { name: "Hang up" }).click();
    await page.getByText("You hung up.").waitFor();
    expect(await captions.locator("p").count()).toBe(2);
    expect(await page.getByLabel("Write to Grace").count()).toBe(0);
  });
});
