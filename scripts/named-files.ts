/**
 * Checks that each file and folder that a document names in backticks exists, and that no line of a document is too long to
 * read. `bun run check` runs it.
 *
 * A name may leave out the beginning of its path, `apps/`, `packages/` and `src/`: `api/avatars/models.test.ts`.
 */
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const MAX_LINE_LENGTH = 400;
const NAME = /`([\w./-]+\.(?:tsx?|sql)|(?:apps|packages|scripts|deploy|bench)\/(?!\S*dist\b)[\w./-]+)`/g;

const list = await Bun.$`git ls-files --cached --others --exclude-standard`.cwd(ROOT).text();
const files = list.trim().split("\n");
const paths = files.flatMap((path) => [path, path.replace(/^(apps|packages)\//, "").replace("/src/", "/")]);
const exists = (name: string): boolean =>
  files.some((path) => path.startsWith(`${name}/`)) || paths.some((path) => `/${path}`.endsWith(`/${name}`));

const errors: string[] = [];
let count = 0;
for (const document of files.filter((path) => path.endsWith(".md") && path !== "CHANGELOG.md")) {
  // A file that the reader writes does not exist: "Put this into `first.ts`".
  const text = (await Bun.file(join(ROOT, document)).text()).replace(/(?<=Put this into )`[\w.-]+`/g, "");
  if (text.split("\n").some((line) => line.length > MAX_LINE_LENGTH))
    errors.push(`${document} has a line of more than ${MAX_LINE_LENGTH} characters`);
  for (const [, name = ""] of text.matchAll(NAME)) {
    count++;
    if (!exists(name.replace(/\/$/, ""))) errors.push(`${document} names ${name}, which does not exist`);
  }
}
for (const error of errors) process.stderr.write(`${error}\n`);
process.stdout.write(`The documents name ${count} files and folders.\n`);
process.exit(errors.length === 0 && count > 0 ? 0 : 1);
