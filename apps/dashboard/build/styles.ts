/** Compiles the style sheet of the pages with Tailwind. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "tailwindcss";

/** The style sheets of Tailwind, by the names with which `style.css` imports them. */
const TAILWIND = dirname(fileURLToPath(import.meta.resolve("tailwindcss/index.css")));

const loadStylesheet = async (id: string, base: string) => {
  const path = id.startsWith("tailwindcss") ? join(TAILWIND, id.replace(/^tailwindcss\/?/, "") || "index.css") : id;
  return { path, base, content: await Bun.file(path).text() };
};

/** Every text in the sources that can be a class name. Tailwind ignores unknown ones. */
const candidatesIn = async (folder: string): Promise<Set<string>> => {
  const candidates = new Set<string>();
  for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan({ cwd: folder, absolute: true })) {
    for (const [candidate] of (await Bun.file(file).text()).matchAll(/[^\s"'`{}]+/g)) candidates.add(candidate);
  }
  return candidates;
};

/** The CSS of `path`, with the classes in the sources of `folder`. */
export const compileStyles = async (path: string, folder: string): Promise<string> => {
  const { build } = await compile(await Bun.file(path).text(), { base: folder, loadStylesheet });
  return build([...(await candidatesIn(folder))]);
};
