import { expect, test } from "bun:test";
import { securityDocuments } from "./security.ts";

test("docs/security/*.md, compared with their data: current; otherwise run `bun run security`", async () => {
  for (const { file, text } of await securityDocuments()) expect(await Bun.file(file).text()).toBe(text);
});
