/** Attacks on uploads with a signed PUT. */
import { expect, test } from "bun:test";
import { startApi, TEST_CONFIG, testStorage } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { createFile, md5Base64 } from "../../test/support/forms.ts";
import { readConfig } from "../config.ts";
import { readUploadOrigins } from "./upload-cors.ts";

const BYTES = 100_000;

/** Called before a file is stored, and again after it is stored, before the response. */
let onReceive = async (_: "before" | "after"): Promise<void> => {};
const watchedStorage: typeof testStorage = async (origin) => {
  const files = await testStorage(origin);
  const { served } = files.storage;
  if (served === null) throw new Error("a disk serves its files");
  const receive: typeof served.receive = async (...parts) => {
    await onReceive("before");
    const received = await served.receive(...parts);
    await onReceive("after");
    return received;
  };
  return { ...files, storage: { ...files.storage, served: { ...served, receive } } };
};

const api = await startApi(watchedStorage, { config: { ...TEST_CONFIG, maxAssetBytesPerTenant: 2 * BYTES } });
const key = await api.key();
const { call, stored } = assetCalls(api, key);

const file = createFile("image", BYTES);
const begin = async (assets: Pick<ReturnType<typeof assetCalls>, "call"> = { call }) => {
  const about = { kind: "image", contentType: "image/png", sizeBytes: BYTES, md5: md5Base64(file) };
  const { status, body } = await assets.call("POST", "/uploads", about);
  expect(status).toBe(201);
  return body;
};
const send = ({ url, headers }: { url: string; headers: Record<string, string> }) =>
  fetch(url, { method: "PUT", headers, body: file });

test("a file, sent after its asset was deleted: storage stays within the quota", async () => {
  for (let count = 0; count < 6; count += 1) {
    const { id, upload } = await begin();
    expect((await call("DELETE", `/${id}`)).status).toBe(200);
    await send(upload);
  }
  expect((await stored("uploads/")).length * BYTES).toBeLessThanOrEqual(2 * BYTES);
});

test("a file, sent again after its completion: not kept", async () => {
  const { id, tenantId, upload } = await begin();
  expect((await send(upload)).status).toBe(200);
  expect((await call("POST", `/${id}/complete`)).status).toBe(200);
  await send(upload);
  expect(await stored(`uploads/${tenantId}/${id}`)).toEqual([]);
});

test.each(["before", "after"])("a file whose asset is deleted %s it is stored: 404, and not kept", async (moment) => {
  const { id, tenantId, upload } = await begin();
  onReceive = async (now) => void (now === moment && (await call("DELETE", `/${id}`)));
  expect((await send(upload)).status).toBe(404);
  onReceive = async () => {};
  expect(await stored(`uploads/${tenantId}/${id}`)).toEqual([]);
});

test("a preflight of a signed URL: answered only there, without credentials", async () => {
  const { upload } = await begin();
  const origin = "https://app.example.com";
  const asked = { origin, "access-control-request-method": "PUT", "access-control-request-headers": "content-md5" };
  const preflight = (url: string) => fetch(url, { method: "OPTIONS", headers: asked });
  const { status, headers } = await preflight(upload.url);
  expect(status).toBe(204);
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("access-control-allow-methods")).toBe("PUT");
  expect(headers.get("access-control-allow-headers")).toBe("content-type, content-md5");
  expect(headers.has("access-control-allow-credentials")).toBe(false);
  for (const path of ["/api/v1/assets", "/api/v1/assets/uploads", "/api/v1/avatars", "/public/assets/x", "/healthz"]) {
    const other = await preflight(new URL(path, upload.url).href);
    expect([path, other.headers.has("access-control-allow-origin")]).toEqual([path, false]);
  }
});

const LISTED = "https://app.example.com";
const { uploadOrigins } = readConfig({ UPLOAD_ORIGINS: `${LISTED},http://localhost:5173` });
const withOrigins = await startApi(testStorage, { config: { ...TEST_CONFIG, uploadOrigins } });

test("an upload of a page, with UPLOAD_ORIGINS: preflight, PUT and error allow the listed origins alone", async () => {
  const { upload } = await begin(assetCalls(withOrigins, await withOrigins.key()));
  for (const [origin, allowed] of [
    ["https://evil.example", null],
    [LISTED, LISTED],
  ] as const) {
    const answer = async (method: string, end = "") => {
      const body = method === "PUT" ? file : null;
      const init = { method, headers: { ...upload.headers, origin }, body };
      const { status, headers } = await fetch(`${upload.url}${end}`, init);
      return [status, headers.get("access-control-allow-origin"), headers.get("vary")];
    };
    expect(await answer("OPTIONS")).toEqual([204, allowed, "Origin"]);
    expect(await answer("PUT", "x")).toEqual([404, allowed, "Origin"]);
    expect(await answer("PUT")).toEqual([200, allowed, "Origin"]);
  }
});

test.each([
  ["*", null],
  ["https://app.example.com, http://localhost:5173", ["https://app.example.com", "http://localhost:5173"]],
  ["https://app.example.com/", undefined],
  ["app.example.com", undefined],
  ["https://app.example.com,", undefined],
  ["file:///x", undefined],
  ["https://*.example.com", undefined],
])("the origins %p: read as %p", (text, expected) => {
  expect(readUploadOrigins(text)).toEqual(expected as never);
});
