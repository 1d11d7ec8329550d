/** Support for tests: a running service, and a gateway in front of it that injects failures. */
import { rm } from "node:fs/promises";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { fixture } from "@realtime-avatar/testing/fixture";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { createClient } from "./index.ts";

/**
 * The outcome of a call. "pass": forwarded unchanged. Object: the gateway itself responds. The others are executed by the
 * service, but the response is lost with the connection ("lost"), is cut off half-way ("half"), is never sent ("hang"), or
 * never ends ("drip").
 */
export type CallOutcome =
  | "pass"
  | "lost"
  | "half"
  | "hang"
  | "drip"
  | { status: number; headers?: Record<string, string>; body?: string };

export type Gateway = {
  url: string;
  /** The outcomes of the next calls, in order; after them, calls pass. */
  outcomes: CallOutcome[];
  /** The calls received so far. */
  calls: { method: string; path: string; headers: Record<string, string | string[] | undefined> }[];
  close(): void;
};

export const startGateway = async (upstream: string): Promise<Gateway> => {
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = "", url = "", headers } = request;
    gateway.calls.push({ method, path: url, headers });
    const outcome = gateway.outcomes.shift() ?? "pass";
    if (typeof outcome === "object") {
      response
        .writeHead(outcome.status, { "content-type": "text/html", ...outcome.headers })
        .end(outcome.body ?? "<h1>Gateway</h1>");
      return;
    }
    const upstreamRequest = forward(upstream + url, { method, headers }, (upstreamResponse) => {
      const chunks: Buffer[] = [];
      upstreamResponse
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          const body = Buffer.concat(chunks);
          if (outcome === "lost") request.socket.destroy();
          if (outcome === "lost" || outcome === "hang") return;
          const { "transfer-encoding": _, ...headers } = upstreamResponse.headers;
          response.writeHead(upstreamResponse.statusCode ?? 500, {
            ...headers,
            "content-length": String(body.length),
          });
          if (outcome === "pass") response.end(body);
          else if (outcome === "drip") response.write(body.subarray(0, 10));
          else response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
        });
    });
    upstreamRequest.on("error", () => request.socket.destroy());
    request.pipe(upstreamRequest);
  };
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gateway: Gateway = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    outcomes: [],
    calls: [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return gateway;
};

export type Service = {
  url: string;
  database: TestDatabase;
  /** Creates a live key with these scopes and returns its secret. */
  key(scopes?: ["*"] | ["avatars:read"]): Promise<string>;
  /** Number of avatars with this name. */
  count(displayName: string): Promise<number>;
  close(): Promise<void>;
};

/** Starts a service process with a temporary data directory. The default directory belongs to development. */
export const startService = async (variables: Record<string, string> = {}): Promise<Service> => {
  const database = await testDatabase({ isServed: true });
  const DATA_DIR = await temporaryFolder();
  const running = startProcess(bun("apps/api/src/main.ts"), {
    PORT: "0",
    DATA_DIR,
    ...database.variables,
    ...variables,
  });
  const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
  const tenantId = await seedTenant(database.db);
  return {
    url,
    database,
    key: async (scopes = ["*"]) =>
      (await seedKey(database.db, tenantId, { environment: "live", scopes })).secret.reveal(),
    count: async (displayName) => {
      const [row] = await database.db.client`select count(*) from avatars where display_name = ${displayName}`;
      return Number(row?.["count"]);
    },
    close: async () => {
      running.kill("SIGTERM");
      await running.exited;
      await Promise.all([database.close(), rm(DATA_DIR, { recursive: true, force: true })]);
    },
  };
};

/** A service for this file, a gateway in front of it, and a client of the gateway. */
export const serviceOfFile = async () => {
  const service = await fixture(startService());
  const gateway = await fixture(startGateway(service.url));
  const apiKey = await service.key();
  return { service, gateway, apiKey, client: createClient({ baseUrl: gateway.url, apiKey }) };
};
