/**
 * `/docs`: the reference of the API, with trial calls. The page loads and calls nothing but this service, enforced by its
 * Content Security Policy: an API key that is entered there cannot be sent anywhere else.
 */
/// <reference path="./static-files.d.ts" />
import { resolve } from "node:path";
import { Elysia } from "elysia";
import icon from "swagger-ui-dist/favicon-32x32.png" with { type: "file" };
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import viewer from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { asPage } from "../http/html-page.ts";
import init from "./reference-init.js" with { type: "file" };

/** The style sheet contains its images as `data:` URLs. */
const ALLOWED = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Realtime Avatar Service</title>
<link rel="icon" type="image/png" href="/docs/icon.png">
<link rel="stylesheet" href="/docs/viewer.css">
<script defer src="/docs/viewer.js"></script>
<script defer src="/docs/init.js"></script>
</head>
<body><div id="reference"></div></body>
</html>
`;

const ASSETS: Record<string, [path: string, type: string]> = {
  "viewer.js": [viewer, "text/javascript; charset=utf-8"],
  "viewer.css": [style, "text/css; charset=utf-8"],
  "init.js": [init, "text/javascript; charset=utf-8"],
  "icon.png": [icon, "image/png"],
};

/** An asset, compressed on first use. In a bundle its path is relative to this file. */
const compressed = (path: string) => {
  let bytes: Promise<Uint8Array<ArrayBuffer>> | null = null;
  return () => {
    bytes ??= Bun.file(resolve(import.meta.dir, path))
      .bytes()
      .then((plain) => Bun.gzipSync(plain));
    return bytes;
  };
};

export const referenceRoutes = () => {
  const routes = new Elysia({ name: "reference", prefix: "/docs" }).get("", ({ set }) => asPage(PAGE, ALLOWED, set));
  for (const [name, [path, type]] of Object.entries(ASSETS)) {
    const bytes = compressed(path);
    routes.get(`/${name}`, async ({ set }) => {
      set.headers["content-type"] = type;
      // Every browser that can run the viewer supports it.
      set.headers["content-encoding"] = "gzip";
      return bytes();
    });
  }
  return routes;
};
