/** docs/assets.md: its limits equal the table in the code. */
import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ASSET_ERROR_CODES } from "@realtime-avatar/domain/assets/errors";
import { ASSET_KINDS, ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { Asset } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { UPLOADS_PER_TENANT } from "../../src/assets/upload-slots.ts";
import { readConfig } from "../../src/config.ts";

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
});
