import { expect, test } from "bun:test";
import { DOCUMENT, generateTypes, isExample, TYPES_FILE } from "./generate.ts";

const types = await generateTypes();

test("the file of an upload, in the generated types: a Blob", () => {
  expect(/UploadAsset: \{.*?\bfile: (\w+);/s.exec(types)?.[1]).toBe("Blob");
});

test("the examples of the document, in the generated types: left out, and properties named example are left out too", async () => {
  expect(types).not.toContain("@example");
  const properties: string[] = [];
  JSON.parse(await Bun.file(DOCUMENT).text(), (key, value) => {
    if (key === "properties") properties.push(...Object.keys(value));
    return value;
  });
  expect(properties.filter(isExample)).toEqual([]);
});

test("api.ts, compared with docs/openapi.json: up to date", async () => {
  const squeezed = (text: string): string => text.replace(/[\s;|"]+/g, "");
  expect(squeezed(await Bun.file(TYPES_FILE).text())).toBe(squeezed(types));
});
