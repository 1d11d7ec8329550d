/** For tests: a running service, and a gateway before it on which calls go wrong. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { seedKey, seedTenant, type TestDatabase, testDatabase } from "@realtime-avatar/db/testing";
import { bun, startProcess } from "@realtime-avatar/runtime/testing";

/**
 * What becomes of a call: it goes through; it is answered by the gateway itself, with this status; it is executed, and its
 * answer is lost, or breaks off half-way, or never comes, or never ends.
 */
export type Fate =
  | "pass"
  | "lost"
  | "half"
  | "hang"
  | "drip"
  | { status: number; headers?: Record<string, string>; body?: string };

export type Gateway = {
  url: string;
  /** What becomes of the next calls, one after the other; then they go through. */
  fates: Fate[];
  /** The calls so far. */
  calls: { method: string; path: string; headers: Record<string, string | string[] | undefined> }[];
  close(): void;
};

export const startGateway = async (upstream: string): Promise<Gateway> => {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = "", url = "", headers } = request;
    gateway.calls.push({ method, path: url, headers });
    const fate = gateway.fates.shift() ?? "pass";
    if (typeof fate === "object") {
      response
        .writeHead(fate.status, { "content-type": "text/html", ...fate.headers })
        .end(fate.body ?? "<h1>Gateway</h1>");
      return;
    }
    const onward = forward(upstream + url, { method, headers }, (executed) => {
      const chunks: Buffer[] = [];
      executed
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          const body = Buffer.concat(chunks);
          if (fate === "lost") request.socket.destroy();
          if (fate === "lost" || fate === "hang") return;
          response.writeHead(executed.statusCode ?? 500, {
            ...executed.headers,
            "content-length": String(body.length),
          });
          if (fate === "pass") response.end(body);
          else if (fate === "drip") response.write(body.subarray(0, 10));
          else response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
        });
    });
    onward.on("error", () => request.socket.destroy());
    request.pipe(onward);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gateway: Gateway = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    fates: [],
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
  /** A new live key with these scopes. */
  key(scopes?: ["*"] | ["avatars:read"]): Promise<string>;
  /** How many avatars have this name. */
  count(displayName: string): Promise<number>;
  close(): Promise<void>;
};

/** The service as it is shipped, in a process of its own. */
export const startService = async (variables: Record<string, string> = {}): Promise<Service> => {
  const database = await testDatabase();
  const running = startProcess(bun("apps/api/src/main.ts"), { PORT: "0", DATABASE_URL: database.url, ...variables });
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
      await database.close();
    },
  };
};
