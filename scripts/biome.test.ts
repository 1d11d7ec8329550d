/** The layers in `biome.json`: their files and modules exist, and Biome reports the forbidden imports. */
import { expect, test } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { Glob } from "bun";

const REPOSITORY = join(import.meta.dir, "..");
const json = async (path: string) => JSON.parse(await readFile(join(REPOSITORY, path), "utf8"));

type Override = {
  includes: string[];
  linter: { rules: { style?: { noRestrictedImports?: { options: { patterns?: { group: string[] }[] } } } } };
};
const OVERRIDES: Override[] = (await json("biome.json")).overrides;
const PACKAGES: object = (await json("package.json")).workspaces.catalog;

const FILES = [
  ...new Glob("{apps,packages}/*/{src,test,generated}/**/*").scanSync({ cwd: REPOSITORY }),
  ...new Glob("examples/*/*").scanSync({ cwd: REPOSITORY }),
];
const matchesFile = (pattern: string): boolean => FILES.some((file) => new Glob(pattern).match(file));

/** The folders of the overrides that forbid imports, each with the patterns of these imports. */
const LAYERS = OVERRIDES.flatMap(({ includes, linter }) => {
  const groups = (linter.rules.style?.noRestrictedImports?.options.patterns ?? []).flatMap(({ group }) => group);
  const folders = includes.filter((path) => !path.startsWith("!")).map((path) => dirname(path.replace("/**", "/*")));
  return groups.length > 0 ? folders.map((folder) => ({ folder, groups })) : [];
});

/** The path of a module of this repository; null for a pattern that names no module. */
const pathOf = async (pattern: string, folder: string): Promise<string | null> => {
  const [, name, module = ""] = /^@realtime-avatar\/([^/]+)\/(.+)$/.exec(pattern) ?? [];
  if (name !== undefined) {
    const { exports } = await json(`packages/${name}/package.json`);
    return join(`packages/${name}`, exports["./*"].replace("*", module));
  }
  if (pattern.startsWith("**/")) return pattern;
  // The importing file is in the folder, or in a folder below it.
  return pattern.startsWith(".") ? `{${join(folder, pattern)},${join(folder, "*", pattern)}}` : null;
};

test("biome.json, the files of each override: exist", () => {
  const patterns = OVERRIDES.flatMap(({ includes }) => includes.map((pattern) => pattern.replace(/^!/, "")));
  expect(patterns.filter((pattern) => !matchesFile(pattern))).toEqual([]);
});

test("biome.json, each restricted or allowed import: an existing module or package", async () => {
  const unknown: string[] = [];
  for (const { folder, groups } of LAYERS) {
    for (const pattern of groups.map((group) => group.replace(/^!/, ""))) {
      const path = await pathOf(pattern, folder);
      const name = pattern.replace(/\/\*\*$/, "");
      const isPackage = pattern === "**" || name.startsWith("node:") || name in PACKAGES;
      if (!(path === null ? isPackage : matchesFile(path))) unknown.push(`${folder}: ${pattern}`);
    }
  }
  expect(unknown).toEqual([]);
});

test("Biome, files with each import that their layer forbids: reports all of them", async () => {
  const repository = await fileFolder();
  await writeFile(join(repository, "biome.json"), await readFile(join(REPOSITORY, "biome.json")));
  const planted: string[] = [];
  for (const { folder, groups } of LAYERS) {
    const forbidden = groups.filter((pattern) => !pattern.startsWith("!"));
    const lines = forbidden.map((pattern) => pattern.replace("**", "x/y/z.ts").replace("*", "people"));
    const file = join(folder.replace("*", "x"), "index.ts");
    await mkdir(dirname(join(repository, file)), { recursive: true });
    await writeFile(join(repository, file), lines.map((path) => `import "${path}";\n`).join(""));
    planted.push(...lines.map((path, line) => `${file}:${line + 1} ${path}`));
  }
  const lint = [join(REPOSITORY, "node_modules/.bin/biome"), "lint", "--only=style/noRestrictedImports"];
  const options = ["--vcs-enabled=false", "--reporter=json", "--max-diagnostics=none"];
  const { stdout } = Bun.spawn([...lint, ...options], { cwd: repository, stderr: "ignore" });
  type Diagnostic = { location: { path: string; start: { line: number } } };
  const { diagnostics } = (await new Response(stdout).json()) as { diagnostics: Diagnostic[] };
  const reported = new Set(diagnostics.map(({ location: { path, start } }) => `${path}:${start.line}`));
  expect(planted.filter((place) => !reported.has(place.split(" ")[0] ?? ""))).toEqual([]);
  expect(planted).toContain("apps/index.ts:5 @realtime-avatar/db/schema/people");
});
