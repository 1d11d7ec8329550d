/** The first start on the embedded database: from the printed link to a working key. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { BROWSER, sharedBrowser } from "@realtime-avatar/testing/browser";
import { release, startProcess } from "@realtime-avatar/testing/processes";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { clipboard, expectQuiet, newPerson, type Person, register } from "./support/person.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(180_000);

describe.skipIf(!BROWSER)("the first start in Chromium", () => {
  test("the printed link of a first start, opened: the person creates a working key", async () => {
    const folder = await temporaryFolder();
    removeAtEnd(folder);
    const browser = await sharedBrowser();
    const startedAt = performance.now();
    const running = startProcess(release(), { PORT: "0", DATA_DIR: join(folder, "data") });
    let person: Person | null = null;
    try {
      const [link = ""] = await running.waitFor(/http:\/\/localhost:\d+\/dashboard\/register#\S+/, 170_000);
      const printedAt = performance.now();
      person = await newPerson(browser, { url: new URL(link).origin });
      const { page } = person;
      await register(person, link, "Ada Lovelace");
      await page.getByRole("link", { name: "Keys", exact: true }).click();
      await page.getByRole("button", { name: "Create a live key" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("My first key");
      await page.getByRole("button", { name: "Create the live key" }).click();
      await page.getByRole("button", { name: "Copy: Try it" }).click();
      const line = await clipboard(page);
      const curl = Bun.spawn(["sh", "-c", line], { stdout: "pipe" });
      expect(JSON.parse(await new Response(curl.stdout).text()).name).toBe("My first key");
      const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);
      process.stdout.write(
        `first key: ${seconds(startedAt)} s after the start, ${seconds(printedAt)} s after the link\n`,
      );
      expectQuiet(person);
    } finally {
      await person?.context.close();
      running.kill("SIGTERM");
      await running.exited;
    }
  });
});
