/** Uploads to other stores: an S3, and a disk without free space. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DRIVERS } from "@realtime-avatar/storage/testing";
import { canMountDisk, mountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { createSpool } from "../../src/assets/spool.ts";
import { rowCounts, startApi, testStorage } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { createFile, md5Base64, PNG } from "../support/forms.ts";

const S3 = DRIVERS.filter(({ name }) => name !== "disk");

for (const driver of S3) {
  const title = `the service with its files in ${driver.name}`;
  if (driver.missing.length > 0) {
    test.skip(title, () => {});
    continue;
  }
  const store = await driver.open();
  afterAll(() => store.close());
  const api = await startApi(async (origin) => ({ ...(await testStorage(origin)), storage: store.storage }));
  const key = await api.key();
  describe(title, () => {
    const { upload, call, stored } = assetCalls(api, key);
    const bytesAt = async (name: string) => {
      const file = await store.storage.open(name);
      return Buffer.from(await new Response(file?.stream).arrayBuffer());
    };

    test("a form, uploaded to this store: its file is kept", async () => {
      const { status, body } = await upload(PNG);
      expect(status).toBe(201);
      expect(await bytesAt(`originals/${body.tenantId}/${body.id}`)).toEqual(PNG);
    });

    test("a signed upload, sent straight to this store and completed: kept, other bytes refused", async () => {
      const request = { kind: "image", contentType: "image/png", sizeBytes: PNG.byteLength, md5: md5Base64(PNG) };
      const { body } = await call("POST", "/uploads", request);
      expect(new URL(body.upload.url).origin).not.toBe(new URL(api.url).origin);
      const other = await fetch(body.upload.url, {
        method: "PUT",
        headers: body.upload.headers,
        body: PNG.subarray(1),
      });
      expect(other.status).toBeGreaterThanOrEqual(400);
      expect((await call("POST", `/${body.id}/complete`)).status).toBe(409);
      const put = await fetch(body.upload.url, { method: "PUT", headers: body.upload.headers, body: PNG });
      expect(put.status).toBe(200);
      const completed = await call("POST", `/${body.id}/complete`);
      expect([completed.status, completed.body.status]).toEqual([200, "uploaded"]);
      expect(await stored(`uploads/${body.tenantId}/${body.id}`)).toEqual([]);
      expect(await bytesAt(`originals/${body.tenantId}/${body.id}`)).toEqual(PNG);
    });

    test("a public image, in this store: served with its ranges, 404 after deletion", async () => {
      const { body } = await upload(PNG);
      const image = Buffer.from("the re-encoded image");
      const stream = new Blob([image]).stream();
      const name = `public/${body.tenantId}/${body.id}`;
      await store.storage.put(name, { stream, sizeBytes: image.byteLength }, "image/webp");
      await api.database.db.client`
        update assets set status = 'ready', public_type = 'image/webp' where id = ${body.id}`;
      expect(await (await fetch(body.publicUrl)).text()).toBe("the re-encoded image");
      const part = await fetch(body.publicUrl, { headers: { range: "bytes=4-13" } });
      expect([part.status, await part.text()]).toEqual([206, "re-encoded"]);
      expect((await call("DELETE", `/${body.id}`)).status).toBe(200);
      expect((await fetch(body.publicUrl)).status).toBe(404);
    });
  });
}

let unmount = (): void => {};
const api = await startApi(async (origin) => {
  const files = await testStorage(origin);
  if (!canMountDisk) return files;
  unmount = await mountDisk(join(files.folder, "small"), "1m");
  return { ...files, spool: createSpool(join(files.folder, "small/uploads")) };
});
afterAll(() => unmount());
const { upload, stored } = assetCalls(api, await api.key());

describe.skipIf(!canMountDisk)("a disk without free space (as root, to mount a small file system)", () => {
  test("a file, larger than the free space: 503, no file remains, the next file is accepted", async () => {
    const before = [await rowCounts(api.database), await stored()];
    const headers = { "idempotency-key": "no-room" };
    const refused = await upload(createFile("image", 3_000_000), { headers });
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { code: "unavailable", retryable: true, detail: "The server has no room for the file at present." },
    ]);
    expect(refused.headers.has("retry-after")).toBe(true);
    expect([await rowCounts(api.database), await stored()]).toEqual(before);
    expect(await readdir(join(api.files.folder, "small/uploads"))).toEqual([]);
    expect((await upload(PNG, { headers })).status).toBe(201);
  });

  test("a file, no room for its name: 503; with room again: 201", async () => {
    const ballast = join(api.files.folder, "small/ballast");
    await Bun.write(ballast, new Uint8Array(1024 * 1024)).catch(() => {});
    const refused = await upload(PNG);
    expect([refused.status, refused.body.code]).toEqual([503, "unavailable"]);
    await rm(ballast);
    expect((await upload(PNG)).status).toBe(201);
  });
});
