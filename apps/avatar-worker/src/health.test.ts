import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { respondHealth, serveHttp, UNAVAILABLE_REASONS, type WorkerHealth } from "./health.ts";

const LOOPBACK = { host: "127.0.0.1", port: 0, portVariable: "AVATAR_WORKER_PORT" };

test("the health checks, with and without the service: 200, 503, and 404 for other paths", async () => {
  let health: WorkerHealth = { status: "ok" };
  const server = await serveHttp(
    LOOPBACK,
    respondHealth(() => health),
  );
  const get = async (path: string) => {
    const response = await fetch(new URL(path, server.url));
    return [response.status, await response.text()];
  };
  expect(await get("/readyz")).toEqual([200, '{"status":"ok"}']);
  health = { status: "unavailable", reason: "service_unreachable" };
  expect(await get("/readyz?x=1")).toEqual([503, '{"status":"unavailable","reason":"service_unreachable"}']);
  expect(await get("/healthz")).toEqual([200, '{"status":"ok"}']);
  expect(await get("/")).toEqual([404, ""]);
  await server.close();
});

test("the reasons in docs/operations.md: those of the code", async () => {
  const document = await readFile(join(import.meta.dir, "../../../docs/operations.md"), "utf8");
  const [, table = ""] = document.split("An avatar worker is ready while")[1]?.split(/^\| -+ \|.*\n/m) ?? [];
  const rows = table.split("\n\n")[0] ?? "";
  const reasons = [...rows.matchAll(/^\| `(\w+)` /gm)].map(([, reason = ""]) => reason);
  expect(reasons).toEqual([...UNAVAILABLE_REASONS]);
});

test("the port of the health checks taken: an error that names the variable", async () => {
  const server = await serveHttp(LOOPBACK, () => new Response());
  const port = Number(new URL(server.url).port);
  expect(serveHttp({ ...LOOPBACK, port }, () => new Response())).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set AVATAR_WORKER_PORT to another port, or HOST.`,
  );
  await server.close();
});
