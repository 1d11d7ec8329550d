import { expect, test } from "bun:test";
import openapiTS, { astToString } from "openapi-typescript";
import { DOCUMENT, generateTypes, TYPES_FILE } from "./generate.ts";

const types = await generateTypes();

test("the file of an upload, in the generated types: a Blob, and for the plain generator not a string", async () => {
  const fileOf = (types: string): string | undefined => /UploadAsset: \{.*?\bfile: (\w+);/s.exec(types)?.[1];
  expect(fileOf(types)).toBe("Blob");
  expect(fileOf(astToString(await openapiTS(await Bun.file(DOCUMENT).json())))).toBe("unknown");
});

test("api.ts, compared with docs/openapi.json: up to date", async () => {
  const squeezed = (text: string): string => text.replace(/[\s;|"]+/g, "");
  expect(squeezed(await Bun.file(TYPES_FILE).text())).toBe(squeezed(types));
});
