/** The files that the pictures of docs/architecture.md name. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const REPOSITORY = join(import.meta.dir, "..");
const PATH = /(?:apps|packages)\/[\w/-]+\.(?:ts|sql)/g;

test("the pictures of docs/architecture.md: show a request, a call and a video, and name existing files", async () => {
  const text = await Bun.file(join(REPOSITORY, "docs/architecture.md")).text();
  const sections = text.split(/^## /m).filter((section) => section.includes("```text\n"));
  expect(sections.map((section) => section.split("\n")[0])).toEqual(["A request", "A call", "A video"]);
  const files = sections.flatMap((section) => section.split("```")[1]?.match(PATH) ?? []);
  expect(files.length).toBeGreaterThan(15);
  const missing = [];
  for (const file of files) if (!(await Bun.file(join(REPOSITORY, file)).exists())) missing.push(file);
  expect(missing).toEqual([]);
});
