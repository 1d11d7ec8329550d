import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, rowCounts, startApi } from "../../test/support/api.ts";
import { assetCalls } from "../../test/support/assets.ts";
import { createFile, encodeForm, filePart, formType, md5Base64, PNG, sha256Hex } from "../../test/support/forms.ts";
import { MAX_FORM_BYTES } from "./receive-file.ts";

const api = await startApi();
const key = await api.key();
const { upload, call, stored, trail, put } = assetCalls(api, key);
const outcome = ({ status, body }: Answer) => [status, body?.code, body?.errors?.[0]?.pointer, body?.errors?.[0]?.code];
const spooled = () => readdir(`${api.files.folder}/uploads`).catch(() => []);

describe("an upload by a form", () => {
  test("an uploaded form, valid: an asset, its file and its job", async () => {
    const answer = await upload(PNG, { kind: "image", filename: "../ada.png" });
    expect(answer.status).toBe(201);
    const { id, tenantId, publicUrl } = answer.body;
    expect(answer.body).toMatchObject({
      ...{ environment: "live", kind: "image", status: "uploaded", contentType: "image/png", sizeBytes: PNG.length },
      ...{ sha256: sha256Hex(PNG), error: null, originalFilename: "../ada.png", metadata: {} },
    });
    expect(publicUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/public\/assets\/[A-Za-z0-9_-]{43}$/);
    expect([answer.headers.get("location"), answer.headers.get("etag")]).toEqual([`/api/v1/assets/${id}`, '"1"']);
    expect((await call("GET", `/${id}`)).text).toBe(answer.text);
    expect(await stored(`originals/${tenantId}/${id}`)).toHaveLength(1);
    const file = await api.files.storage.open(`originals/${tenantId}/${id}`);
    expect(Buffer.from(await new Response(file?.stream).arrayBuffer())).toEqual(PNG);
    expect(await spooled()).toEqual([]);
    const jobs = await api.database.db.client`select kind, generation, attempts from jobs where target_id = ${id}`;
    expect([...jobs]).toEqual([{ kind: "process_asset", generation: 1, attempts: 0 }]);
    expect((await trail(id)).map(({ action }) => action)).toEqual(["asset.created"]);
  });

  test.each(["image", "audio"] as const)(
    "an uploaded form, too large for its kind, %s: 413, no file remains",
    async (kind) => {
      const before = [await rowCounts(api.database), await stored()];
      const { maxBytes } = ASSET_LIMITS[kind];
      const answer = await upload(createFile(kind, maxBytes + 1));
      expect(outcome(answer).slice(0, 2)).toEqual([413, "body_too_large"]);
      expect(answer.body.detail).toContain(`${maxBytes / 1024 / 1024} MiB`);
      expect([await rowCounts(api.database), await stored()]).toEqual(before);
      expect(await spooled()).toEqual([]);
    },
  );

  test.each([
    ["application/json", ""],
    ["multipart/form-data2; boundary=x", ""],
    ["multipart/mixed; boundary=x", ""],
    ["", ""],
    [formType(), "gzip"],
    [formType(), "identity"],
  ])("an uploaded form, of type %j and encoding %j: 415", async (type, encoding) => {
    const headers = { "content-type": type, ...(encoding && { "content-encoding": encoding }) };
    for (const body of ["x", encodeForm([filePart(PNG)])]) {
      const answer = await api.call("POST", "/api/v1/assets", { key, body, headers });
      expect(outcome(answer).slice(0, 2)).toEqual([415, "unsupported_media_type"]);
    }
  });

  test("an uploaded form, declared larger than any file: 413 before it is read", async () => {
    const { hostname, port } = new URL(api.url);
    const length = MAX_FORM_BYTES + 1;
    const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=b`;
    const socket = connect(Number(port), hostname);
    socket.write(`POST /api/v1/assets HTTP/1.1\r\n${headers}\r\nContent-Length: ${length}\r\n\r\n`);
    const [chunk] = await once(socket, "data");
    socket.destroy();
    expect(String(chunk)).toStartWith("HTTP/1.1 413 ");
    expect(String(chunk)).toContain("image 16 MiB, video 200 MiB, audio 32 MiB");
  });

  test("an upload whose client disconnects: no file remains", async () => {
    const before = [await rowCounts(api.database), await stored()];
    const { hostname, port } = new URL(api.url);
    const form = encodeForm([filePart(createFile("image", 1_000_000))]);
    for (const length of [`Content-Length: ${form.length}`, "Transfer-Encoding: chunked"]) {
      const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${formType()}\r\n${length}`;
      const socket = connect(Number(port), hostname);
      socket.write(`POST /api/v1/assets HTTP/1.1\r\n${headers}\r\n\r\n`);
      const start = form.subarray(0, 300_000);
      socket.write(length.startsWith("T") ? Buffer.concat([Buffer.from("493e0\r\n"), start]) : start);
      await until(async () => (await spooled()).length > 0, { pollMs: 5 });
      socket.destroy();
      await until(async () => (await spooled()).length === 0, { pollMs: 5 });
    }
    expect([await rowCounts(api.database), await stored()]).toEqual(before);
  });

  test("an uploaded form, not supported or of another kind: 422, no file remains", async () => {
    const before = [await rowCounts(api.database), await stored()];
    expect(outcome(await upload("hello"))).toEqual([422, "validation_failed", "#/file", "unsupported_file"]);
    expect(outcome(await upload(PNG, { kind: "audio" }))).toEqual([
      422,
      "validation_failed",
      "#/kind",
      "asset_kind_mismatch",
    ]);
    expect([await rowCounts(api.database), await stored()]).toEqual(before);
    expect(await spooled()).toEqual([]);
  });

  test("an uploaded form, repeated with its Idempotency-Key: one asset, even with another boundary", async () => {
    const headers = { "idempotency-key": "upload-1" };
    const first = await upload(PNG, { kind: "image", headers });
    const before = [await rowCounts(api.database), await stored()];
    const second = await upload(PNG, { kind: "image", headers, boundary: "another", filename: "other.png" });
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    const others = [
      await upload(Buffer.concat([PNG, Buffer.from("x")]), { kind: "image", headers }),
      // Without the kind, the form is another request.
      await upload(PNG, { headers }),
    ];
    for (const other of others) expect(outcome(other).slice(0, 2)).toEqual([422, "idempotency_key_reused"]);
    expect([await rowCounts(api.database), await stored()]).toEqual(before);
  });

  test("an uploaded form, four times at once with one Idempotency-Key: one asset", async () => {
    const before = (await stored()).length;
    const headers = { "idempotency-key": "upload-2" };
    const answers = await Promise.all(Array.from({ length: 4 }, () => upload(PNG, { headers })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await stored()).length).toBe(before + 1);
  });
});

describe("an upload by a signed PUT", () => {
  const request = (file: Uint8Array, more = {}) => ({
    ...{ kind: "image", contentType: "image/png", sizeBytes: file.byteLength, md5: md5Base64(file) },
    ...more,
  });
  const send = async (
    { url, headers }: { url: string; headers: Record<string, string> },
    file: Uint8Array,
    more = {},
  ) => fetch(url, { method: "PUT", headers: { ...headers, ...more }, body: file });

  test("a signed upload, sent and completed twice: one asset and one job", async () => {
    const created = await call("POST", "/uploads", request(PNG, { originalFilename: "a.png", metadata: { a: 1 } }));
    expect(created.status).toBe(201);
    const { id, tenantId, upload: target } = created.body;
    expect(created.body).toMatchObject({
      ...{ status: "pending_upload", contentType: null, sizeBytes: null, sha256: null, metadata: { a: 1 } },
      upload: { method: "PUT" },
    });
    expect(Date.parse(target.expiresAt) - Date.now()).toBeGreaterThan(14 * 60_000);
    expect(outcome(await call("POST", `/${id}/complete`)).slice(0, 2)).toEqual([409, "invalid_transition"]);
    expect((await send(target, PNG)).status).toBe(200);
    expect(await stored("uploads/")).toEqual([`uploads/${tenantId}/${id}`]);
    const headers = { "idempotency-key": "complete-1" };
    const completed = await call("POST", `/${id}/complete`, {}, headers);
    expect([completed.status, completed.body]).toMatchObject([
      200,
      { id, status: "uploaded", contentType: "image/png", sizeBytes: PNG.length, originalFilename: "a.png" },
    ]);
    expect(completed.headers.get("etag")).toBe('"2"');
    expect((await call("GET", `/${id}`)).text).toBe(completed.text);
    expect(await stored("uploads/")).toEqual([]);
    expect(await stored(`originals/${tenantId}/${id}`)).toHaveLength(1);
    for (const answer of [await call("POST", `/${id}/complete`, {}, headers), await call("POST", `/${id}/complete`)]) {
      expect([answer.status, answer.text]).toEqual([200, completed.text]);
    }
    await put(id, "deleted");
    expect((await call("POST", `/${id}/complete`, {}, headers)).text).toBe(completed.text);
    expect(outcome(await call("POST", `/${id}/complete`)).slice(0, 2)).toEqual([409, "invalid_transition"]);
    const [jobs] = await api.database.db.client`select count(*)::integer as number from jobs where target_id = ${id}`;
    expect(jobs?.["number"]).toBe(1);
  });

  test("a signed upload, completed four times at once: one change", async () => {
    const { id, upload: target } = (await call("POST", "/uploads", request(PNG))).body;
    await send(target, PNG);
    const answers = await Promise.all(Array.from({ length: 4 }, () => call("POST", `/${id}/complete`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await trail(id)).filter(({ action }) => action !== "asset.created")).toHaveLength(1);
    expect(await stored(`originals/${answers[0]?.body.tenantId}/${id}`)).toHaveLength(1);
  });

  test("a signed upload, other bytes, size, type or MD5: refused", async () => {
    const { id, tenantId, upload: target } = (await call("POST", "/uploads", request(PNG))).body;
    const other = Buffer.from(PNG);
    other[60] = 255 - (other[60] ?? 0);
    const altered = (from: string, to: string) => ({ ...target, url: target.url.replace(from, to) });
    const [, claims = ""] = /uploads\/([^.]+)\./.exec(target.url) ?? [];
    const forged = Buffer.from(claims, "base64url").toString().replace("uploads/", "originals/");
    const refusals: [Response, number][] = [
      [await send(target, other), 422],
      [await send(target, Buffer.concat([PNG, PNG])), 422],
      [await send(target, PNG.subarray(1)), 422],
      [await send(target, PNG, { "Content-Type": "text/html" }), 422],
      [await send(target, PNG, { "Content-MD5": md5Base64(other) }), 422],
      [await send(altered(claims, Buffer.from(forged).toString("base64url")), PNG), 404],
      [await send(altered(".", "."), PNG, { "Content-MD5": "" }), 422],
      [await send({ ...target, url: `${target.url}x` }, PNG), 404],
      [
        await send({ ...target, url: target.url.replace(/.$/, (last: string) => (last === "A" ? "Q" : "A")) }, PNG),
        404,
      ],
    ];
    expect(refusals.map(([{ status }]) => status)).toEqual(refusals.map(([, expected]) => expected));
    expect(await stored(`uploads/${tenantId}/${id}`)).toEqual([]);
    expect((await send(target, PNG)).status).toBe(200);
  });

  // `upload.test.ts` of the domain has more cases.
  test("a signed upload, a type and a size that its kind does not allow: 422 before it is sent", async () => {
    const large = { contentType: "audio/wav", sizeBytes: ASSET_LIMITS.image.maxBytes + 1 };
    const { status, body } = await call("POST", "/uploads", request(PNG, large));
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([
      422,
      ["#/contentType", "#/sizeBytes"],
    ]);
  });

  test("a signed upload with bytes of another type or kind: 422; afterwards the asset can only be deleted", async () => {
    const text = Buffer.from("hello, world");
    const wav = createFile("audio", 1000);
    for (const [file, code] of [
      [text, "unsupported_file"],
      [wav, "asset_kind_mismatch"],
    ] as const) {
      const { id, tenantId, upload: target } = (await call("POST", "/uploads", request(file))).body;
      expect((await send(target, file)).status).toBe(200);
      const refused = await call("POST", `/${id}/complete`);
      expect(outcome(refused)).toEqual([422, "validation_failed", "#", code]);
      expect(refused.body.errors[0].detail).toStartWith(file === text ? "This is a text. Accepted: JPEG" : "The file");
      expect(await stored(`originals/${tenantId}/${id}`)).toEqual([]);
      expect((await call("DELETE", `/${id}`)).body.status).toBe("deleted");
      expect(await stored(`uploads/${tenantId}/${id}`)).toEqual([]);
    }
  });
});
