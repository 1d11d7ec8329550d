import { expect, test } from "bun:test";
import { generateTypes, TYPES_FILE } from "./generate.ts";

test("api.ts is up to date with docs/openapi.json", async () => {
  const squeezed = (text: string): string => text.replace(/[\s;|"]+/g, "");
  expect(squeezed(await Bun.file(TYPES_FILE).text())).toBe(squeezed(await generateTypes()));
});
