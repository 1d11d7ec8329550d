/** The files of the dashboard, in memory. They are read from the pack that the build of `apps/dashboard` writes. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** The pack, as `apps/dashboard/build` writes it. */
type Pack = {
  html: string;
  callHtml: string;
  files: { name: string; contentType: string; sha256: string; gzip: string; br: string }[];
};

export type DashboardFile = {
  contentType: string;
  /** Digest of the uncompressed content. With the content coding, it is a strong validator (RFC 9110 §8.8.3). */
  sha256: string;
  /** The content, compressed with each content coding. */
  gzip: Uint8Array<ArrayBuffer>;
  br: Uint8Array<ArrayBuffer>;
};

/** The settings of the service for the pages: the origin of the dashboard, and whether calls can be started. */
export type PageSettings = { publicOrigin: string; hasCalls: boolean };

export type DashboardFiles = {
  page: (settings: PageSettings) => string;
  /** The page of calls. */
  callPage: (settings: PageSettings) => string;
  files: ReadonlyMap<string, DashboardFile>;
};

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(base64, "base64"));

const pageOf =
  (html: string) =>
  ({ publicOrigin, hasCalls }: PageSettings): string => {
    const origin = publicOrigin.replace(/[&"<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    return html.replace("PUBLIC_ORIGIN", () => origin).replace("CALLS", hasCalls ? "on" : "off");
  };

const readPack = (text: string): DashboardFiles => {
  const { html, callHtml, files } = JSON.parse(text) as Pack;
  const entries = files.map(
    ({ name, contentType, sha256, gzip, br }) =>
      [name, { contentType, sha256, gzip: bytesOf(gzip), br: bytesOf(br) }] as const,
  );
  return { page: pageOf(html), callPage: pageOf(callHtml), files: new Map(entries) };
};

/** The folder of the modules that a compiled program contains. */
const COMPILED = "/$bunfs/";
const PACK_NAME = /^dashboard\b.*\.pack$/;

/** Builds the pack in a separate process, because the bundler would block requests for a second. */
const buildPack = async (program: string): Promise<string> => {
  const building = Bun.spawn([process.execPath, "--no-env-file", program], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, complaints, code] = await Promise.all([
    new Response(building.stdout).text(),
    new Response(building.stderr).text(),
    building.exited,
  ]);
  if (code !== 0) throw new Error(`the dashboard could not be built: ${complaints.slice(0, 2000)}`);
  return text;
};

/**
 * The text of the pack of this release: inside the compiled program, or beside the bundle. In a checkout, it is built
 * from the sources. null when it is missing. `folder`: the folder of this module.
 */
export const findPack = async (folder: string): Promise<string | null> => {
  if (folder.startsWith(COMPILED)) {
    const pack = Bun.embeddedFiles.find((file) => PACK_NAME.test((file as File).name));
    return pack ? pack.text() : null;
  }
  const source = join(folder, "../../../../dashboard/build/main.ts");
  if (existsSync(source)) return buildPack(source);
  const built = join(folder, "../../dashboard/dist/dashboard.pack");
  return existsSync(built) ? Bun.file(built).text() : null;
};

let loading: Promise<DashboardFiles | null> | null = null;

/** The files, loaded by the first call in this process. After a failure, the next call tries again. */
export const openDashboard = (): Promise<DashboardFiles | null> => {
  loading ??= findPack(import.meta.dir).then(
    (text) => (text === null ? null : readPack(text)),
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
};
