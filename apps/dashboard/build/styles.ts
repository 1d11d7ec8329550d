/** Compiles the style sheet of the pages with Tailwind. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "tailwindcss";

/** The style sheets of Tailwind, which `style.css` imports by these names. */
const TAILWIND = dirname(fileURLToPath(import.meta.resolve("tailwindcss/index.css")));

const loadStylesheet = async (id: string, base: string) => {
  const path = id.startsWith("tailwindcss") ? join(TAILWIND, id.replace(/^tailwindcss\/?/, "") || "index.css") : id;
  return { path, base, content: await Bun.file(path).text() };
};

/** Every text in the sources that can be a class name. Tailwind ignores those that it does not know. */
const candidatesIn = async (folder: string): Promise<Set<string>> => {
  const candidates = new Set<string>();
  for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan({ cwd: folder, absolute: true })) {
    for (const [candidate] of (await Bun.file(file).text()).matchAll(/[^\s"'`{}]+/g)) candidates.add(candidate);
  }
  return candidates;
};

/** The CSS of `path`, with the classes that the sources in `folder` name. */
export const compileStyles = async (path: string, folder: string): Promise<string> => {
  const { build } = await compile(await Bun.file(path).text(), { base: folder, loadStylesheet });
  return build([...(await candidatesIn(folder))]);
};
