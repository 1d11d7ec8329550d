/**
 * `/dashboard`: the pages. All pages are one HTML page, which is not cached, and files with a hash in their names,
 * which caches keep forever. The Content Security Policy lets the page call only this service, and show pictures from
 * it and from the origin of public assets. `/dashboard/call` is a separate HTML page, whose policy adds LiveKit and the
 * microphone. `/` redirects browsers to the dashboard.
 */
import { notFound } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../../dependencies.ts";
import { acceptsCoding, type ResponseHead } from "../../http/response.ts";
import { asPage, redirect, wantsHtml } from "../html-page.ts";
import { type DashboardFile, openDashboard } from "./files.ts";

/** The paths of the pages. The router of `apps/dashboard` shows them, and its tests open each. */
export const PAGE_PATHS = [
  "",
  "/keys",
  "/avatars",
  "/videos",
  "/usage",
  "/webhooks",
  "/audit",
  "/people",
  "/sign-in",
  "/register",
];

/** The origins of LiveKit. The client sends a request over http before it opens a WebSocket. */
const originsOf = ({ url }: { url: string }): string[] => {
  const { origin } = new URL(url);
  return [origin, origin.replace(/^ws/, "http")];
};

/** `origins`: further origins that the page may call. */
const allowedFor = (assetOrigin: string, origins: readonly string[] = []): string =>
  [
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: blob: ${assetOrigin}`,
    // Videos of the service, and a video that the person has chosen, before its upload.
    `media-src 'self' blob: ${assetOrigin}`,
    ["connect-src 'self'", ...origins].join(" "),
    "require-trusted-types-for 'script'",
  ].join("; ");

/** Features that no page uses (Permissions Policy). Passkeys stay allowed. */
const PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=()";
const CALL_PERMISSIONS = PERMISSIONS.replace("microphone=()", "microphone=(self)");

/** The supported content codings, the best first. */
const CODINGS = ["br", "gzip"] as const;

const sendFile = (file: DashboardFile, request: Request, set: ResponseHead): Uint8Array | "" => {
  const headers = set.headers as Record<string, string>;
  const coding = CODINGS.find((known) => acceptsCoding(request, known)) ?? null;
  const etag = `"${file.sha256.slice(0, 32)}-${coding ?? "identity"}"`;
  // The name changes with the content.
  headers["cache-control"] = "public, max-age=31536000, immutable";
  headers["vary"] = "Accept-Encoding";
  headers["etag"] = etag;
  headers["cross-origin-resource-policy"] = "same-origin";
  const known = request.headers.get("if-none-match");
  if (known?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag || tag.trim() === "*")) {
    set.status = 304;
    return "";
  }
  headers["content-type"] = file.contentType;
  if (coding === null) return Bun.gunzipSync(file.gzip);
  headers["content-encoding"] = coding;
  return file[coding];
};

export const dashboardRoutes = ({
  assetOrigin,
  publicUrl,
  log,
  realtime,
}: Pick<Dependencies, "assetOrigin" | "publicUrl" | "log" | "realtime">) => {
  let isReported = false;
  const settings = () => ({ publicOrigin: publicUrl(), hasCalls: realtime !== null });
  const openFiles = async () => {
    const files = await openDashboard();
    if (files !== null) return files;
    if (!isReported) log.warn("the dashboard is not beside this program: /dashboard is not served");
    isReported = true;
    throw notFound();
  };
  const sendPage = async (set: ResponseHead) => {
    const { page } = await openFiles();
    const headers = set.headers as Record<string, string>;
    headers["permissions-policy"] = PERMISSIONS;
    return asPage(page(settings()), allowedFor(assetOrigin()), set);
  };
  const sendCallPage = async (set: ResponseHead) => {
    const { callPage } = await openFiles();
    const headers = set.headers as Record<string, string>;
    headers["permissions-policy"] = CALL_PERMISSIONS;
    const origins = realtime === null ? [] : originsOf(realtime.config);
    return asPage(callPage(settings()), allowedFor(assetOrigin(), origins), set);
  };
  /** Throws the problem `not_found` for programs. Browsers get a page. */
  const onlyForBrowsers = (request: Request, { headers }: ResponseHead): void => {
    (headers as Record<string, string>)["vary"] = "Accept";
    if (!wantsHtml(request)) throw notFound();
  };
  const routes = new Elysia({ name: "dashboard" }).get("/dashboard/assets/:name", async ({ params, request, set }) => {
    const { files } = await openFiles();
    const file = files.get(params.name);
    if (!file) throw notFound();
    return sendFile(file, request, set);
  });
  routes.get("/dashboard/call", ({ set }) => sendCallPage(set));
  for (const path of PAGE_PATHS) routes.get(`/dashboard${path}`, ({ set }) => sendPage(set));
  for (const path of [...PAGE_PATHS, "/call"]) {
    routes.get(`/dashboard${path}/`, ({ request, set }) =>
      redirect(`/dashboard${path}${new URL(request.url).search}`, set),
    );
  }
  // The page says that the address does not exist, and has a link to the dashboard.
  routes.get("/dashboard/*", async ({ params, request, set }) => {
    if (params["*"].split("/")[0] === "assets") throw notFound();
    onlyForBrowsers(request, set);
    const html = await sendPage(set);
    set.status = 404;
    return html;
  });
  return routes.get("/", async ({ request, set }) => {
    onlyForBrowsers(request, set);
    await openFiles();
    return redirect("/dashboard", set, 307);
  });
};
