/**
 * Builds the pages into one file, the pack: the page, and the files that it loads, compressed. The API reads the pack, so
 * that a compiled API contains the dashboard.
 */
import { join, relative } from "node:path";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { compileStyles } from "./styles.ts";

/** A file of the pack. `name` contains a hash of the content, except that of the page. */
export type PackedFile = {
  name: string;
  contentType: string;
  /** SHA-256 of the content, in hexadecimal. */
  sha256: string;
  /** The content in base64, by content coding. */
  gzip: string;
  br: string;
};

export type Pack = {
  /** The page. It contains `PUBLIC_ORIGIN` where the API inserts its public origin. */
  html: string;
  files: readonly PackedFile[];
};

export const SOURCES = join(import.meta.dir, "../src");
const STYLE = join(SOURCES, "style.css");

const CONTENT_TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const packFile = (name: string, content: Uint8Array): PackedFile => ({
  name,
  contentType: CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
  sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex"),
  gzip: gzipSync(content, { level: 9 }).toString("base64"),
  br: brotliCompressSync(content, { params: { [zlib.BROTLI_PARAM_SIZE_HINT]: content.length } }).toString("base64"),
});

const tailwind: Bun.BunPlugin = {
  name: "tailwind",
  setup: (build) => {
    build.onLoad({ filter: /\/src\/style\.css$/ }, async () => ({
      contents: await compileStyles(STYLE, SOURCES),
      loader: "css",
    }));
  },
};

const pageOf = (script: string, style: string, icon: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="public-origin" content="PUBLIC_ORIGIN">
<title>Realtime Avatar</title>
<link rel="icon" type="image/svg+xml" href="/dashboard/assets/${icon}">
<link rel="stylesheet" href="/dashboard/assets/${style}">
<script type="module" src="/dashboard/assets/${script}"></script>
</head>
<body><div id="root"></div><noscript>The dashboard needs JavaScript.</noscript></body>
</html>
`;

const find = (files: readonly PackedFile[], pattern: RegExp): string => {
  const file = files.find(({ name }) => pattern.test(name));
  if (!file) throw new Error(`The build has no file that matches ${pattern}.`);
  return file.name;
};

export type Built = {
  pack: Pack;
  /** The modules of the bundle, as `bun build --metafile` lists them. */
  metafile: { inputs: Record<string, unknown> };
};

/** Builds the pack. Throws an `AggregateError` with what the bundler reports. */
export const buildPack = async (): Promise<Built> => {
  const result = await Bun.build({
    entrypoints: [join(SOURCES, "main.tsx")],
    target: "browser",
    // The packages of this repository export their sources by this condition.
    conditions: ["bun"],
    minify: true,
    splitting: true,
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", development: false },
    naming: { entry: "[name]-[hash].[ext]", chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    plugins: [tailwind],
  });
  const outputs = result.outputs.filter(({ kind }) => kind !== "sourcemap");
  const icon = await Bun.file(join(SOURCES, "icon.svg")).bytes();
  const files = await Promise.all(
    outputs.map(async (output) =>
      packFile(output.path.replace(/^.*\//, ""), new Uint8Array(await output.arrayBuffer())),
    ),
  );
  files.push(packFile(`icon-${Bun.hash(icon).toString(36)}.svg`, icon));
  const html = pageOf(find(files, /^main-.*\.js$/), find(files, /\.css$/), find(files, /\.svg$/));
  const tailwindFile = relative(process.cwd(), Bun.resolveSync("tailwindcss/index.css", import.meta.dir));
  const inputs = { ...result.metafile?.inputs, [tailwindFile]: {} };
  return { pack: { html, files }, metafile: { inputs } };
};
