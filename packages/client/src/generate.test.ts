import { expect, test } from "bun:test";
import { generateTypes, TYPES_FILE } from "./generate.ts";

const types = await generateTypes();

test("the file of an upload, in the generated types: a Blob", () => {
  expect(/UploadAsset: \{.*?\bfile: (\w+);/s.exec(types)?.[1]).toBe("Blob");
});

test("api.ts, compared with docs/openapi.json: up to date", async () => {
  const squeezed = (text: string): string => text.replace(/[\s;|"]+/g, "");
  expect(squeezed(await Bun.file(TYPES_FILE).text())).toBe(squeezed(types));
});
