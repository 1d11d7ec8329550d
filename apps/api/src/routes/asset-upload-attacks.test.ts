/** Attacks on uploads by a signed PUT. */
import { expect, test } from "bun:test";
import { startApi, TEST_CONFIG, testStorage } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { fileOf, md5Of } from "../../test/support/forms.ts";

const BYTES = 100_000;

/** Is called when a file has arrived, before the response. */
let onReceived = async (): Promise<void> => {};
const watchedStorage: typeof testStorage = async (origin) => {
  const files = await testStorage(origin);
  const { served } = files.storage;
  if (served === null) throw new Error("a disk serves its files");
  const receive: typeof served.receive = async (...parts) => {
    const received = await served.receive(...parts);
    await onReceived();
    return received;
  };
  return { ...files, storage: { ...files.storage, served: { ...served, receive } } };
};

const api = await startApi(watchedStorage, { config: { ...TEST_CONFIG, maxAssetBytesPerTenant: 2 * BYTES } });
const key = await api.key();
const { call, stored } = assetCalls(api, key);

const file = fileOf("image", BYTES);
const begin = async () => {
  const about = { kind: "image", contentType: "image/png", sizeBytes: BYTES, md5: md5Of(file) };
  const { status, body } = await call("POST", "/uploads", about);
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

test("a file, its asset deleted while it arrives: 404, and not kept", async () => {
  const { id, tenantId, upload } = await begin();
  onReceived = async () => void (await call("DELETE", `/${id}`));
  expect((await send(upload)).status).toBe(404);
  onReceived = async () => {};
  expect(await stored(`uploads/${tenantId}/${id}`)).toEqual([]);
});
