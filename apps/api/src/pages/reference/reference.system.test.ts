/** The pages for people, in a real browser. Skipped without a browser; .ci/run installs one where it can. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { BROWSER, type BrowserContext, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { PUBLIC_URL, startApi } from "../../../test/support/api.ts";
import { describedOperations, type OpenApi } from "../../../test/support/openapi/openapi.ts";
import { describeApi } from "../../openapi/write-file.ts";
import type { ApiDocument } from "./document.ts";

/** Minified, because the browser compiles it for each page. */
const AXE = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();
const api = await startApi();
const key = await api.key({ environment: "test", scopes: ["*"] });
const described = describeApi() as OpenApi & ApiDocument;

/** A page with its requests and the errors of the browser. */
type Watched = { page: Page; requests: string[]; complaints: string[] };

describe.skipIf(!BROWSER)("the pages in Chromium", () => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await (await sharedBrowser()).newContext();
  });
  afterAll(() => context.close());

  const open = async (path: string): Promise<Watched> => {
    const page = await context.newPage();
    const watched: Watched = { page, requests: [], complaints: [] };
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") watched.complaints.push(message.text());
    });
    page.on("pageerror", (error) => watched.complaints.push(error.message));
    page.on("request", (request) => watched.requests.push(request.url()));
    await page.goto(api.url + path);
    return watched;
  };

  const expectQuiet = ({ requests, complaints }: Watched): void => {
    expect(complaints).toEqual([]);
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.filter((url) => !url.startsWith(`${api.url}/`) && !url.startsWith("data:"))).toEqual([]);
  };

  test("the page /docs, in a browser: shows every operation, and a trial call gets 201", async () => {
    const watched = await open("/docs");
    const { page } = watched;
    const shown = await page
      .locator("section summary h3:has(span)")
      .evaluateAll((heads) => heads.map(({ textContent }) => textContent));
    const known = describedOperations(described).map(({ method, path }) => `${method} ${path}`);
    expect(shown.sort()).toEqual([...known, ...Object.keys(described.webhooks).map((type) => `EVENT ${type}`)].sort());

    // Only keys of the test environment are accepted, and trials need one.
    const field = page.locator("#key");
    const status = page.locator("#key-status");
    await field.fill(await api.key());
    await status.filter({ hasText: "This is a live key" }).waitFor();
    await page.locator("[data-outcome=ast_test_ready]").click();
    await status.filter({ hasText: "A trial needs a test key." }).waitFor();
    await page.locator("#key-create").click();
    await status.filter({ hasText: `Open ${PUBLIC_URL}/docs` }).waitFor();
    await field.fill(key);
    // The focus is back at the trial that needed the key.
    expect(await page.evaluate("document.activeElement.dataset.outcome")).toBe("ast_test_ready");

    await page.locator("nav [href='#createAvatar']").click();
    const block = page.locator("#createAvatar");
    const example = async (language: string) => {
      await page.locator("fieldset label", { hasText: language }).click();
      expect(await block.locator("figure[data-in] pre:visible").count()).toBe(1);
      return block.locator("figure[data-in] pre:visible").textContent();
    };
    expect(await example("TypeScript")).toContain(`apiKey: "${key}"`);
    expect(await example("Python")).toContain(`headers={"Authorization": "Bearer ${key}"}`);
    expect(await example("curl")).toContain(`-H "Authorization: Bearer ${key}"`);
    await block.getByRole("button", { name: "Try it" }).click();
    await block.getByLabel("Body").fill('{"displayName": "From the page", "sourceKind": "image"}');
    await block.getByRole("button", { name: "Send" }).click();
    await block.getByRole("status").filter({ hasText: "201" }).waitFor();
    const { body } = await api.call("GET", "/api/v1/avatars?limit=1", { key });
    expect(body.data[0].displayName).toBe("From the page");

    // A parameter of the path, which has the id of the previous response, and one of the query.
    for (const [id, parameter, value, words] of [
      ["getAvatar", "id (path)", null, "From the page"],
      ["listAvatars", "limit (query)", "1", "nextCursor"],
    ] as const) {
      await page.evaluate(`location.hash = "${id}"`);
      await page.locator(`#${id}`).getByRole("button", { name: "Try it" }).click();
      if (value !== null) await page.locator(`#${id}`).getByLabel(parameter).fill(value);
      await page.locator(`#${id}`).getByRole("button", { name: "Send" }).click();
      await page.locator(`#${id}`).getByRole("status").filter({ hasText: words }).waitFor();
    }

    expectQuiet(watched);
    // The key is gone: from the examples, and from storage that the next page could read.
    await page.locator("#key-forget").click();
    expect(await example("curl")).toContain('-H "Authorization: Bearer $API_KEY"');
    expect(await page.content()).not.toContain(key);
    const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(stored).toBe('[{},{},""]');
    await page.close();
  });

  test("the page /docs, with the keyboard on a phone: an operation and an event are found", async () => {
    const { page } = await open("/docs");
    await page.setViewportSize({ width: 360, height: 740 });
    await page.keyboard.press("/");
    await page.keyboard.type("preparation failed");
    const shown = page.locator("main details:visible");
    expect(await shown.evaluateAll((blocks) => blocks.map(({ id }) => id))).toEqual(["onAvatarPreparationFailed"]);
    await page.locator("#find").fill("post avatars prepare");
    await page.locator("nav [href='#prepareAvatar']").focus();
    await page.keyboard.press("Enter");
    await page.locator("#prepareAvatar[open]").waitFor();
    expect(await page.locator("#contents").isVisible()).toBe(false);
    await page.close();
  });

  test("/docs with open sections, a guide, and /problems/<code>, in light and dark: no violations of axe", async () => {
    for (const path of ["/docs", "/docs/guides/troubleshooting", "/problems/validation_failed"]) {
      const { page } = await open(path);
      // Opens operations with each form of body and kind of caller. Checking all operations takes half a minute, so a
      // section keeps only one further, closed operation, and the contents only their first entries.
      for (const id of ["createApiKey", "uploadAsset", "listUsers", "schema-Avatar", "onAvatarPrepared"]) {
        await page.evaluate(`document.getElementById("${id}")?.setAttribute("open", "")`);
      }
      const hidden = "details:not([open]) ~ details:not([open]), details:not([open]) > :not(summary)";
      const repeated = "nav > ul > li:nth-child(n + 6), nav li li:nth-child(n + 3)";
      await page.evaluate(`document.querySelectorAll("${hidden}, ${repeated}").forEach((one) => one.remove())`);
      if (path === "/docs") {
        await page.locator("#key").fill(key);
        const block = page.locator("#createApiKey");
        await block.getByRole("button", { name: "Try it" }).click();
        await block.getByRole("button", { name: "Send" }).click();
        await block.getByRole("status").filter({ hasText: "201" }).waitFor();
      }
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      }
      // The policy of the page forbids its scripts, but not scripts of the debugger.
      await page.evaluate(AXE);
      // In the dark, only the colours differ.
      for (const [colorScheme, only] of [
        ["light", ""],
        ["dark", ', runOnly: ["color-contrast"]'],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        const found =
          await page.evaluate(`axe.run(document, { resultTypes: ["violations"]${only} }).then(({ violations }) =>
            violations.map(({ id, nodes }) => id + " " + nodes[0].html))`);
        expect([path, colorScheme, found]).toEqual([path, colorScheme, []]);
      }
      await page.close();
    }
  });

  test("the page of each problem, in a browser: explains it", async () => {
    const watched = await open("/problems/not_found");
    for (const [code, { title, status }] of Object.entries(PROBLEMS)) {
      // The browser parses the page without loading it, because loading all pages takes ten times as long.
      const { headers, text } = await api.call("GET", `/problems/${code}`, { headers: { accept: "text/html" } });
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      const shown = (await watched.page.evaluate(
        `(({ body }) => [body.querySelector("h1").textContent, body.textContent])(
          new DOMParser().parseFromString(${JSON.stringify(text)}, "text/html"))`,
      )) as [heading: string, text: string];
      expect(shown[0]).toBe(title);
      expect(shown[1]).toContain(`${code}, status ${status}`);
    }
    expectQuiet(watched);
    await watched.page.close();
  });
});

describe("the pages", () => {
  test("the policy of a page: no other origins, no framing", async () => {
    for (const path of ["/docs", "/problems/not_found"]) {
      const { status, headers, text } = await api.call("GET", path, { headers: { accept: "text/html" } });
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(/<html lang="en">.*<link rel="icon" href="data:.*<main[ >].*<h1>/s.test(text)).toBe(true);
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]) {
        expect(policy).toContain(part);
      }
      expect(policy).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    }
  });

  test("the colours of a page, compared with those of the dashboard: equal", async () => {
    const colorsOf = (css: string): string[][] =>
      [...css.matchAll(/--(?:color-)?([\w-]+): ?(light-dark\([^)]+\))/g)]
        .map(([, name = "", value = ""]) => [name, value.replaceAll(" ", "").replaceAll("#fff,", "#ffffff,")])
        .sort();
    const own = new Map(colorsOf((await api.call("GET", "/docs")).text) as [string, string][]);
    const dashboard = colorsOf(await Bun.file(join(REPOSITORY, "apps/dashboard/src/style.css")).text());
    expect(own.size).toBeGreaterThan(10);
    expect([...own]).toEqual(dashboard.filter(([name = ""]) => own.has(name)) as [string, string][]);
  });

  test("a page, at another path or method: 404, or 405", async () => {
    expect((await api.call("GET", "/docs/render.js")).status).toBe(404);
    expect((await api.call("GET", "/docs/..%2fpackage.json")).status).toBe(404);
    expect((await api.call("POST", "/docs")).headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("/problems/<code>", () => {
  test("a problem, requested by a program: the same facts as the page", async () => {
    for (const [code, { title, status, meaning, remedy }] of Object.entries(PROBLEMS)) {
      for (const accept of ["*/*", "application/json", "application/problem+json, text/html;q=0.1"]) {
        const { body, headers } = await api.call("GET", `/problems/${code}`, { headers: { accept } });
        expect(body).toEqual({ type: `/problems/${code}`, code, status, title, meaning, remedy });
        expect(headers.get("vary")).toBe("Accept");
      }
      const { headers, text } = await api.call("GET", `/problems/${code}`, {
        headers: { accept: "text/html,*/*;q=0.8" },
      });
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(text).toContain(`<title>${code}</title>`);
      expect(text).not.toMatch(/`|undefined/);
    }
  });

  test("a problem, an unknown code: 404", async () => {
    for (const code of ["none", "__proto__", "constructor", "<script>", "not_found%00"]) {
      const { body, status } = await api.call("GET", `/problems/${code}`, { headers: { accept: "text/html" } });
      expect([status, body.code]).toEqual([404, "not_found"]);
    }
  });
});
