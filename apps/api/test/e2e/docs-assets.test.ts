/** docs/assets.md: its limits equal the table in the code. */
import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ASSET_ERROR_CODES } from "@realtime-avatar/domain/assets/errors";
import { ASSET_KINDS, ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { Asset } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { openStorage } from "@realtime-avatar/storage/open";
import { Secret } from "@realtime-avatar/storage/secret";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { UPLOADS_PER_TENANT } from "../../src/assets/upload-slots.ts";
import { readConfig } from "../../src/config.ts";
import { md5Base64 } from "../support/forms.ts";

const text = (await readFile(join(REPOSITORY, "docs/assets.md"), "utf8")).replace(/ +\|/g, " |");
/** The cells of the row that begins with `first`. */
const rowOf = (first: string): string => text.split("\n").find((line) => line.startsWith(`| \`${first}\` |`)) ?? "";

describe("docs/assets.md", () => {
  test.each([...ASSET_KINDS])("the row of %s in docs/assets.md: the types and the size of the code", (kind) => {
    const { contentTypes, maxBytes } = ASSET_LIMITS[kind];
    expect(rowOf(kind)).toStartWith(
      `| \`${kind}\` | ${contentTypes.map((type) => `\`${type}\``).join(", ")} | ${maxBytes / 1024 ** 2} MiB |`,
    );
  });

  test("the checks of files in docs/assets.md: those of the code", () => {
    const { image, video, audio } = ASSET_LIMITS;
    expect(rowOf("image")).toContain(`at most ${image.maxPixels / 1e6} megapixels, one frame`);
    expect(image.maxFrames).toBe(1);
    expect(rowOf("video")).toContain(
      `${video.minSeconds} to ${video.maxSeconds} s, at most ${video.maxLongSide} × ${video.maxShortSide} pixels in either orientation, at most ${video.maxFramesPerSecond} frames per second, H.264 or VP9 |`,
    );
    expect(video.codecs).toEqual(["avc", "vp9"]);
    expect(rowOf("audio")).toContain(`longer than ${audio.minSecondsExclusive} s |`);
  });

  test("the codes of the `error` of an asset, compared with the code: equal, in the same order", () => {
    const section = text.split("## Codes of `error`")[1]?.split("## ")[0] ?? "";
    const rows = [...section.matchAll(/^\| .+? \| (`.+`) \|$/gm)];
    const groups = Object.values(ASSET_ERROR_CODES).map((codes) => codes.map((code) => `\`${code}\``).join(", "));
    expect(rows.map(([, cell]) => cell)).toEqual(groups);
    const [error] = Asset.properties.error.anyOf;
    expect(error.properties.code.description).toContain(Object.values(ASSET_ERROR_CODES).flat().join(", "));
  });

  test("the statuses, quotas and uploads in docs/assets.md: those of the code", () => {
    for (const status of ASSET_STATUSES) expect(rowOf(status)).not.toBe("");
    const { maxAssetsPerTenant, maxAssetBytesPerTenant } = readConfig({});
    const words = text.replace(/\s+/g, " ");
    expect(words).toContain(
      `at most ${maxAssetsPerTenant.toLocaleString("en")} assets, and ${maxAssetBytesPerTenant / 1024 ** 3} GiB of them`,
    );
    expect(words).toContain(`At most ${UPLOADS_PER_TENANT} uploads of a tenant`);
  });

  test("the rules of a bucket in docs/assets.md: allow a page the PUT, with the headers of a signed upload", async () => {
    const [, json = ""] = /### Pages that upload.*?```json\n(.*?)```/s.exec(text) ?? [];
    const { CORSRules } = JSON.parse(json);
    const secrets = { accessKeyId: "id", secretAccessKey: new Secret("secret"), sessionToken: null };
    const s3 = { kind: "s3", endpoint: "https://s3.example.com", region: "us-east-1", bucket: "files" } as const;
    const storage = await openStorage({ ...s3, prefix: "", ...secrets }, { origin: () => "" });
    const { headers } = await storage.signPut("uploads/1", {
      contentType: "image/png",
      sizeBytes: 5,
      md5: md5Base64(Buffer.from("bytes")),
      expiresAt: new Date(Date.now() + 60_000),
    });
    await storage.close();
    expect(CORSRules).toEqual([
      expect.objectContaining({ AllowedOrigins: [expect.stringMatching(/^https:/)], AllowedMethods: ["PUT"] }),
    ]);
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(["content-md5", "content-type"]);
    expect(CORSRules[0].AllowedHeaders).toEqual(expect.arrayContaining(names));
  });
});
