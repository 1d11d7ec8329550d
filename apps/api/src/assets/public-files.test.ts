import { describe, expect, test } from "bun:test";
import type { Asset } from "@realtime-avatar/domain/assets/schemas";
import type { Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { readAnswer, startApi } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { avatarCalls, preparationCalls } from "../../test/support/avatars.ts";
import { bare, expectProblem } from "../../test/support/routes.ts";

const api = await startApi();
const key = await api.key();
const { make, call } = assetCalls(api, key);

const avatars = avatarCalls(api, key);
const preparations = preparationCalls(api);

const IMAGE = Buffer.from("the re-encoded image, which is text in this test");

/** A ready asset with a public file, as the worker leaves it. */
const ready = async (file: Uint8Array = IMAGE): Promise<Asset> => {
  const asset = await make();
  const stored = `public/${asset.tenantId}/${asset.id}`;
  const stream = new Blob([file]).stream();
  await api.files.storage.put(stored, { stream, sizeBytes: file.byteLength }, "image/webp");
  await api.database.db.client`
    update assets set status = 'ready', public_type = 'image/webp', version = 3 where id = ${asset.id}`;
  return asset;
};
/** A ready avatar with a preview. */
const prepared = async (preview = IMAGE.toString()): Promise<Avatar> => {
  const { id } = await avatars.make({ sourceAssetId: (await ready()).id });
  await preparations.ready(id, preview);
  return (await avatars.get(id)).body;
};
const SHA256 = new Bun.CryptoHasher("sha256").update(IMAGE).digest("hex");
/**
 * An avatar whose manifest names a picture: `normalized`, from which its preview was cut, or the moving preview.
 * Returns the address of that picture, and the keys of both files in the store.
 */
const drawn = async (name: "normalized" | "animated" = "normalized") => {
  const preview = IMAGE.toString().toUpperCase();
  const { id, tenantId, previewUrl } = await prepared(preview);
  const file = `1/${SHA256}-webp`;
  const manifest = Buffer.from(JSON.stringify({ pictures: { [name]: { file } } }));
  const folder = `prepared/${tenantId}/${id}`;
  const previewHash = new Bun.CryptoHasher("sha256").update(preview).digest("hex");
  const keys = { picture: `${folder}/${file}`, manifest: `${folder}/1/${previewHash}-json` };
  const put = (key: string, bytes: Buffer, type: string) =>
    api.files.storage.put(key, { stream: new Blob([bytes]).stream(), sizeBytes: bytes.length }, type);
  await put(keys.picture, IMAGE, "image/webp");
  await put(keys.manifest, manifest, "application/json");
  return { id, url: `${previewUrl}/${name === "animated" ? name : "picture"}`, previewUrl, preview, keys };
};
type Drawn = Awaited<ReturnType<typeof drawn>>;
/** The public files: the address of a new file, its entity tag, and another tag. */
const FILES = [
  ["an asset", async () => (await ready()).publicUrl, '"3"', '"2"'],
  ["a whole picture", async () => (await drawn()).url, `"${SHA256}"`, `"${SHA256.slice(1)}"`],
  ["a moving preview", async () => (await drawn("animated")).url, `"${SHA256}"`, `"${SHA256.slice(1)}"`],
  ["a preview", async () => (await prepared()).previewUrl ?? "", `"${SHA256}"`, `"${SHA256.slice(1)}"`],
] as const;

const get = async (url: string, headers: Record<string, string> = {}, method = "GET") =>
  readAnswer(await fetch(url, { method, headers }));

describe.each(FILES)("%s", (_, fileUrl, tag, otherTag) => {
  test("a public file, requested by its address: served as an image only", async () => {
    const publicUrl = await fileUrl();
    const answer = await get(publicUrl);
    expect([answer.status, answer.text]).toEqual([200, IMAGE.toString()]);
    const head = await get(publicUrl, {}, "HEAD");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(String(IMAGE.length));
    for (const { headers } of [answer, head]) {
      expect(Object.fromEntries(headers)).toMatchObject({
        "content-type": "image/webp",
        "accept-ranges": "bytes",
        "cache-control": "public, max-age=60",
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
        etag: tag,
      });
    }
    for (const tags of [tag, `W/${tag}`, "*", `"1", ${tag}`]) {
      const known = await get(publicUrl, { "if-none-match": tags });
      expect([known.status, known.text, known.headers.get("etag")]).toEqual([304, "", tag]);
    }
    expect((await get(publicUrl, { "if-none-match": otherTag })).status).toBe(200);
  });

  describe("ranges", () => {
    const size = IMAGE.length;
    test.each([
      ["bytes=0-3", 0, 3],
      ["bytes=4-", 4, size - 1],
      ["bytes=-5", size - 5, size - 1],
      [`bytes=-${size + 5}`, 0, size - 1],
      [`bytes=${size - 1}-9999`, size - 1, size - 1],
    ])("a range, %s: 206 with that part", async (range, start, end) => {
      const publicUrl = await fileUrl();
      for (const headers of [{ range }, { range, "if-range": tag }]) {
        const answer = await get(publicUrl, headers);
        expect([answer.status, answer.text]).toEqual([206, IMAGE.toString().slice(start, end + 1)]);
        expect(answer.headers.get("content-range")).toBe(`bytes ${start}-${end}/${size}`);
        const head = await get(publicUrl, headers, "HEAD");
        // RFC 9110 §14.2 defines `Range` for GET alone.
        expect([head.status, head.headers.get("content-length")]).toEqual([200, String(size)]);
      }
    });

    test.each(["bytes=5-4", "bytes=-", "bytes=a-b", "lines=0-1", "bytes=0-1,3-4", "bytes=0-1000000000000000000"])(
      "a range, %s: ignored",
      async (range) => expect((await get(await fileUrl(), { range })).status).toBe(200),
    );

    test.each([`bytes=${size}-`, "bytes=-0", "bytes=99999-999999"])("a range, %s: 416", async (range) => {
      const answer = await get(await fileUrl(), { range });
      expect([answer.status, answer.text]).toEqual([416, ""]);
      expect(answer.headers.get("content-range")).toBe(`bytes */${size}`);
    });

    test("a range, of another version: the whole file", async () => {
      const publicUrl = await fileUrl();
      expect((await get(publicUrl, { range: "bytes=0-3", "if-range": otherTag })).status).toBe(200);
    });
  });
});

test("an unknown or unready public file, requested: 404 in the same bytes", async () => {
  const asset = await ready();
  const { origin } = new URL(asset.publicUrl);
  const unknown = `${origin}/public/assets/${"A".repeat(43)}`;
  const missing = bare(await get(unknown));
  expect([missing.status, missing.body.code]).toEqual([404, "not_found"]);
  const withoutFile = await make();
  await api.database.db.client`
    update assets set status = 'ready', public_type = 'image/webp' where id = ${withoutFile.id}`;
  const urls = [
    (await make()).publicUrl,
    withoutFile.publicUrl,
    ...["x", asset.id, "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}!`].map(
      (token) => `${origin}/public/assets/${token}`,
    ),
  ];
  // Paths without an operation. Their 404 gives that reason.
  for (const path of ["%00", "..%2f", `${asset.publicUrl.slice(-43)}/x`]) {
    expectProblem(await get(`${origin}/public/assets/${path}`), "not_found");
  }
  for (const url of urls) expect(bare(await get(url))).toEqual(missing);
  for (const status of ["pending_upload", "uploaded", "processing", "failed"]) {
    await api.database.db.client`
      update assets set status = ${status},
        error_code = case when ${status} = 'failed' then 'x' end, error_detail = case when ${status} = 'failed' then 'x' end
      where id = ${asset.id}`.catch(() => {});
    const [row] = await api.database.db.client`select status from assets where id = ${asset.id}`;
    if (row?.["status"] !== "ready") expect(bare(await get(asset.publicUrl))).toEqual(missing);
  }
  expect((await get(unknown, {}, "POST")).status).toBe(405);
});

test("a deleted image, requested: 404, its files gone", async () => {
  const asset = await ready();
  expect((await get(asset.publicUrl)).status).toBe(200);
  expect((await call("DELETE", `/${asset.id}`)).status).toBe(200);
  expect((await get(asset.publicUrl)).status).toBe(404);
  const files = await Array.fromAsync(api.files.storage.list(""));
  expect(files.filter(({ key: stored }) => stored.includes(asset.id))).toEqual([]);
});

test("an unknown or unready preview, requested: 404 in the same bytes", async () => {
  const { id, tenantId, previewUrl } = await prepared();
  const unknown = `${api.url}/public/avatars/${"A".repeat(43)}`;
  const missing = bare(await get(unknown));
  expect([missing.status, missing.body.code]).toEqual([404, "not_found"]);
  const asset = await ready();
  const others = ["x", id, "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}!`, asset.publicUrl.slice(-43)];
  for (const token of others) expect(bare(await get(`${api.url}/public/avatars/${token}`))).toEqual(missing);
  // A preview is not an asset.
  expect(bare(await get(`${api.url}/public/assets/${previewUrl?.slice(-43)}`))).toEqual(missing);
  expect((await get(unknown, {}, "POST")).status).toBe(405);
  expect((await get(previewUrl ?? "")).status).toBe(200);
  await api.files.storage.delete(`prepared/${tenantId}/${id}/1/${SHA256}-webp`);
  expect(bare(await get(previewUrl ?? ""))).toEqual(missing);
  // An avatar without a manifest, an avatar without the named file, and a deleted avatar.
  expect(bare(await get(`${(await prepared()).previewUrl}/picture`))).toEqual(missing);
  expect(bare(await get(`${unknown}/picture`))).toEqual(missing);
  expect(bare(await get(`${unknown}/animated`))).toEqual(missing);
  for (const end of [
    ({ keys }: Drawn) => api.files.storage.delete(keys.picture),
    ({ keys }: Drawn) => api.files.storage.delete(keys.manifest),
    ({ id: of }: Drawn) => avatars.put(of, "deleted"),
  ]) {
    const whole = await drawn();
    expect((await get(whole.url)).text).toBe(IMAGE.toString());
    await end(whole);
    expect(bare(await get(whole.url))).toEqual(missing);
  }
});

test("the moving preview of an avatar that an earlier release has prepared: its still preview", async () => {
  const { previewUrl, preview } = await drawn("normalized");
  const answer = await get(`${previewUrl}/animated`);
  expect([answer.status, answer.text, answer.headers.get("content-type")]).toEqual([200, preview, "image/webp"]);
});
