/** Uploads of the client against a running service, behind a gateway that injects failures. */
import { expect, test } from "bun:test";
import { ApiProblem } from "./index.ts";
import { serviceOfFile } from "./testing.ts";

const { gateway, client } = await serviceOfFile();

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("a file whose form is sent several times: uploaded once", async () => {
  gateway.outcomes = ["lost", { status: 502 }, "half", "pass"];
  const { data: asset, response } = await client.uploadAsset(new Blob([PNG]), { kind: "image", filename: "ada.png" });
  expect(response.headers.get("idempotent-replayed")).toBe("true");
  expect(asset).toMatchObject({
    kind: "image",
    status: "uploaded",
    sizeBytes: PNG.length,
    originalFilename: "ada.png",
  });
  expect(gateway.calls).toHaveLength(4);
  expect(new Set(gateway.calls.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(await Array.fromAsync(client.list("/api/v1/assets", { kind: "image" }))).toEqual([asset]);
});

test("a file, of another kind: thrown as an ApiProblem", async () => {
  const error = await client.uploadAsset(new Blob([PNG]), { kind: "audio" }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiProblem);
  expect(error).toMatchObject({
    code: "validation_failed",
    errors: [{ pointer: "#/kind", code: "asset_kind_mismatch" }],
  });
});

test("an import and a large upload, by a signed PUT: completed", async () => {
  const remote = { kind: "video", remoteUrl: "https://example.com/loop.mp4" } as const;
  const { data: imported } = await client.POST("/api/v1/assets/remote", { body: remote });
  expect(imported.status).toBe("pending_upload");
  const md5 = new Bun.CryptoHasher("md5").update(PNG).digest("base64");
  const about = { kind: "image", contentType: "image/png", sizeBytes: PNG.length, md5 } as const;
  const { data: created } = await client.POST("/api/v1/assets/uploads", { body: about });
  const { url, method, headers } = created.upload;
  const put = await fetch(url, { method, headers: headers as Record<string, string>, body: PNG });
  expect(put.status).toBe(200);
  const path = { id: created.id };
  const { data: completed } = await client.POST("/api/v1/assets/{id}/complete", { params: { path } });
  expect(completed).toMatchObject({ id: created.id, status: "uploaded", contentType: "image/png" });
});

test("the sample of a voice, cut off at first: the whole sound, as a Blob", async () => {
  gateway.outcomes = ["half"];
  gateway.calls = [];
  const { data } = await client.GET("/api/v1/voices/{id}/sample", { params: { path: { id: "flite-slt" } } });
  expect([data.type, await data.slice(0, 4).text(), gateway.calls.length]).toEqual(["audio/wav", "RIFF", 2]);
  expect(data.size).toBe(new DataView(await data.arrayBuffer()).getUint32(4, true) + 8);
});
