/** A page of another origin sends a file to a signed URL, in a real browser. */
import { expect, test } from "bun:test";
import { BROWSER, sharedBrowser } from "@realtime-avatar/testing/browser";
import { startApi, testStorage } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { createFile, md5Base64 } from "../support/forms.ts";

const api = await startApi(testStorage);
const key = await api.key();
const { call } = assetCalls(api, key);

test.skipIf(!BROWSER)(
  "a page of another origin, with a signed URL: its file is stored; with a key: no request",
  async () => {
    const bytes = createFile("image", 5000);
    const about = { kind: "image", contentType: "image/png", sizeBytes: bytes.length, md5: md5Base64(bytes) };
    const { body } = await call("POST", "/uploads", about);
    using server = Bun.serve({
      port: 0,
      fetch: () => new Response("<p>A page</p>", { headers: { "content-type": "text/html" } }),
    });
    const context = await (await sharedBrowser()).newContext();
    try {
      const page = await context.newPage();
      await page.goto(`http://localhost:${server.port}/`);
      const send = (url: string, headers: Record<string, string>, method: string, file: number[]) =>
        page.evaluate(
          async ([address, given, name, content]) => {
            const options = { method: name, headers: given, body: new Uint8Array(content) };
            const response = await fetch(address, options).catch(() => null);
            return response && { status: response.status, requestId: response.headers.get("x-request-id") };
          },
          [url, headers, method, file] as const,
        );
      const { url, headers } = body.upload;
      const { "content-length": _, ...own } = headers as Record<string, string>;
      // The page can also read a refusal.
      expect(await send(url, { ...own, "content-type": "image/jpeg" }, "PUT", [...bytes])).toMatchObject({
        status: 422,
      });
      expect(await send(url, own, "PUT", [...bytes])).toEqual({ status: 200, requestId: expect.any(String) } as never);
      expect((await call("POST", `/${body.id}/complete`)).status).toBe(200);
      // All other paths have no CORS headers, so the browser sends no request.
      const other = new URL("/api/v1/assets", url).href;
      expect(await send(other, { authorization: `Bearer ${key}` }, "POST", [1])).toBeNull();
    } finally {
      await context.close();
    }
  },
);
