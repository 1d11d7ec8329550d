/** Health checks and metrics over HTTP. By `node:http`, because the worker runs on Node as well. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type HealthServer = { url: string; close(): Promise<void> };

/** `unavailable`: the service has not responded for so long that the worker has left its rooms, or the worker stops. */
export type WorkerHealth =
  | { status: "ok" }
  | { status: "unavailable"; reason: "service_unreachable" | "shutting_down" };

type Respond = (request: Request) => Response | Promise<Response>;

/** Responds to `GET /healthz` and `GET /readyz`. */
export const respondHealth =
  (health: () => WorkerHealth): Respond =>
  ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/healthz") return Response.json({ status: "ok" });
    if (pathname !== "/readyz") return new Response(null, { status: 404 });
    const current = health();
    return Response.json(current, { status: current.status === "ok" ? 200 : 503 });
  };

/** Serves `respond`. Rejects when it cannot listen; the error names `portVariable`. */
export const serveHttp = async (
  { host, port, portVariable }: { host: string; port: number; portVariable: string },
  respond: Respond,
): Promise<HealthServer> => {
  const server = createServer((request, response) => {
    const reply = async (): Promise<void> => {
      const { pathname } = new URL(request.url ?? "", "http://localhost");
      const sent = await respond(new Request(`http://localhost${pathname}`, { method: request.method ?? "GET" }));
      response.writeHead(sent.status, Object.fromEntries(sent.headers)).end(await sent.text());
    };
    reply().catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", ({ code }: NodeJS.ErrnoException) =>
      reject(new Error(`Cannot listen on ${host}:${port} (${code}). Set ${portVariable} to another port, or HOST.`)),
    );
    server.listen(port, host, resolve);
  });
  const { port: chosen } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${chosen}/`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
