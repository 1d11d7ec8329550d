/**
 * Checks what the documents say of the sources: each file and folder that is named in backticks exists, and each quoted title
 * behind the name of a test file is a title in that file; and that no line is too long to read. `bun run check` runs it.
 *
 *   `api/avatars/models.test.ts` "a title", "another title"
 *
 * A name may leave out the beginning of its path, `apps/`, `packages/` and `src/`. A title with a part that is computed is
 * quoted up to that part. The first text of a row of `test.each` may be quoted as well.
 */
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const CITATION =
  /`([\w./-]+\.(?:tsx?|sql)|(?:apps|packages|scripts|deploy|bench)\/(?!\S*dist\b)[\w./-]+)`((?:[,;]?\s+(?:and )?"[^"|]+")*)/g;
/** The first argument of `test`, `describe` and their forms, such as `test.each([...])(...)`, or of a row. */
const TITLE = /(?:\b(?:test|describe)(?:\.\w+)*\(|\)\(|\[)\s*(["'`])((?:\\.|(?!\1).)+)\1/g;

const read = (path: string): Promise<string> => Bun.file(join(ROOT, path)).text();
const shortened = (path: string): string => path.replace(/^(apps|packages)\//, "").replace("/src/", "/");

const list = await Bun.$`git ls-files --cached --others --exclude-standard`.cwd(ROOT).text();
const files = list.trim().split("\n");
const filesNamed = (name: string): string[] =>
  files.filter(
    (path) => path.startsWith(`${name}/`) || [path, shortened(path)].some((one) => `/${one}`.endsWith(`/${name}`)),
  );

const titlesIn = async (paths: readonly string[]): Promise<Set<string>> => {
  const texts = await Promise.all(paths.map(read));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(TITLE)].map(([, , title = ""]) => title.split(/ ?\(?\$\{/)[0] ?? "")),
  );
};

const errors: string[] = [];
let [named, quoted] = [0, 0];
for (const document of files.filter((path) => path.endsWith(".md") && path !== "CHANGELOG.md")) {
  // A file that the reader is to write does not exist: "Put this into `first.ts`".
  const text = (await read(document)).replace(/(?<=Put this into )`[\w.-]+`/g, "");
  if (text.split("\n").some((line) => line.length > 400))
    errors.push(`${document} has a line of more than 400 characters`);
  for (const [, name = "", words = ""] of text.matchAll(CITATION)) {
    named++;
    const paths = filesNamed(name.replace(/\/$/, ""));
    if (paths.length === 0) errors.push(`${document} names ${name}, which does not exist`);
    const titles = await titlesIn(words === "" ? [] : paths);
    for (const [, title = ""] of words.matchAll(/"([^"]+)"/g)) {
      quoted++;
      if (!titles.has(title)) errors.push(`${document}: ${name} has no test "${title}"`);
    }
  }
}
for (const error of errors) process.stderr.write(`${error}\n`);
process.stdout.write(`The documents name ${named} files and folders, and quote ${quoted} titles.\n`);
process.exit(errors.length === 0 && named > 0 ? 0 : 1);
