/** Health checks and metrics over HTTP. Uses `node:http`, because the worker runs on Node as well. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ProvidersHealth } from "@realtime-avatar/runtime/providers/check";
import { RefusedRequest } from "./fleet/service.ts";

export type HealthServer = { url: string; close(): Promise<void> };

/**
 * Why a worker has no calls: a problem with the service, processes that cannot start, or a stop. docs/operations.md
 * says what to do.
 */
export const UNAVAILABLE_REASONS = [
  "service_unreachable",
  "service_without_livekit",
  "service_refuses_secret",
  "service_refuses",
  "no_processes",
  "shutting_down",
] as const;
export type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number];

/**
 * `providers`: the state of conversation providers, after the first check. Calls continue without them: the avatar says
 * that it cannot answer. `unavailable`: the worker cannot start calls, is stopping, or has left its rooms because the
 * service gave no work for too long.
 */
export type WorkerHealth =
  | { status: "ok"; providers?: ProvidersHealth }
  | { status: "unavailable"; reason: UnavailableReason };

/** The problem of the service, derived from the failure of the last sync. */
export const unavailableReason = (failure: unknown): UnavailableReason => {
  if (!(failure instanceof RefusedRequest)) return "service_unreachable";
  switch (failure.code) {
    case "realtime_not_configured":
      return "service_without_livekit";
    case "invalid_credentials":
      return "service_refuses_secret";
    default:
      // The database of the service is down, or a proxy reaches no replica.
      return failure.status >= 500 ? "service_unreachable" : "service_refuses";
  }
};

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

/** Serves `respond`. Rejects with an error that names `portVariable` when it cannot listen. */
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
