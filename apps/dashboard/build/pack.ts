/**
 * Builds the pages into one file, the pack: two HTML pages, and the files that they load, compressed. The API reads the pack,
 * so that a compiled API contains the dashboard.
 */
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
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
  /**
   * The page of the dashboard, and the page of calls. The API replaces `PUBLIC_ORIGIN` in them by its public origin,
   * and `CALLS` by `on` or `off`.
   */
  html: string;
  callHtml: string;
  files: readonly PackedFile[];
};

export const SOURCES = join(import.meta.dir, "../src");
const STYLE = join(SOURCES, "style.css");

const CONTENT_TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * The quality of Brotli. A release uses 10: the best quality, 11, takes twice the time and saves 2 % of the bytes. A checkout
 * builds the pages during the first request, so it uses 5: a third of the time of the build, and 9 % more bytes.
 */
export const QUALITY = { release: 10, checkout: 5 } as const;
type Quality = (typeof QUALITY)[keyof typeof QUALITY];

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

const packFile = async (name: string, content: Uint8Array, quality: Quality): Promise<PackedFile> => ({
  name,
  contentType: CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
  sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex"),
  gzip: (await compressGzip(content, { level: 9 })).toString("base64"),
  br: (
    await compressBrotli(content, {
      params: { [zlib.BROTLI_PARAM_QUALITY]: quality, [zlib.BROTLI_PARAM_SIZE_HINT]: content.length },
    })
  ).toString("base64"),
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
<meta name="calls" content="CALLS">
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

/** Builds a page from its entry in the sources: its script, with the parts that load later, and its style. */
const bundle = async (entry: string, name: string, quality: Quality) => {
  const result = await Bun.build({
    entrypoints: [join(SOURCES, entry)],
    target: "browser",
    // The packages of this repository export their sources by this condition.
    conditions: ["bun"],
    minify: true,
    splitting: true,
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", development: false },
    naming: { entry: `${name}-[hash].[ext]`, chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    plugins: [tailwind],
  });
  const outputs = result.outputs.filter(({ kind }) => kind !== "sourcemap");
  const files = await Promise.all(
    outputs.map(async (output) =>
      packFile(output.path.replace(/^.*\//, ""), new Uint8Array(await output.arrayBuffer()), quality),
    ),
  );
  const page = (icon: string) => pageOf(find(files, new RegExp(`^${name}-.*\\.js$`)), find(files, /\.css$/), icon);
  return { files, page, inputs: result.metafile?.inputs ?? {} };
};

/**
 * Builds the pack. Throws an `AggregateError` with the errors of the bundler. The two pages share no files, so that
 * neither waits for parts of the other.
 */
export const buildPack = async (quality: Quality): Promise<Built> => {
  const [main, call] = await Promise.all([
    bundle("main.tsx", "main", quality),
    bundle("call/main.tsx", "call", quality),
  ]);
  const bytes = await Bun.file(join(SOURCES, "icon.svg")).bytes();
  const icon = await packFile(`icon-${Bun.hash(bytes).toString(36)}.svg`, bytes, quality);
  const files = [...new Map([...main.files, ...call.files, icon].map((file) => [file.name, file])).values()];
  const tailwindFile = relative(process.cwd(), Bun.resolveSync("tailwindcss/index.css", import.meta.dir));
  const inputs = { ...main.inputs, ...call.inputs, [tailwindFile]: {} };
  return { pack: { html: main.page(icon.name), callHtml: call.page(icon.name), files }, metafile: { inputs } };
};
