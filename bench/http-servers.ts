/**
 * Compares `Bun.serve` with `node:http` on Bun, both with the same application and database: `bun bench/http-servers.ts`.
 * Prints requests per second, latency and processor time per request at 32 connections, and which unusual but legal requests
 * each server accepts. Requires wrk. `docs/decisions/bun-serve.md` has the figures.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "@realtime-avatar/db/connection/embedded";
import { connect } from "@realtime-avatar/db/connection/pool";
import { migrate } from "@realtime-avatar/db/migrate";
import { createLog } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";
import { createApp } from "../apps/api/src/app.ts";
import { createFirstKey } from "../apps/api/src/first-run.ts";
import { createResponseBytes } from "../apps/api/src/http/response-bytes.ts";
import { secureRandom } from "../apps/api/src/random.ts";
import { cpuOf, type Request as Load, median, openLoop, start, wrk } from "./machine.ts";

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const CONNECTIONS = 32;
const [ROUNDS, SECONDS, WARM_UP_SECONDS] = [5, 2, 4];
const OPEN_LOOP_RATE = 300;

/** The parts of a `Request` that the application uses, read lazily from the `node:http` request. */
class NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null; has(name: string): boolean };
  #controller: AbortController | null = null;
  #isAborted = false;

  constructor(readonly incoming: IncomingMessage) {
    this.method = incoming.method ?? "";
    this.url = `http://localhost${incoming.url}`;
    const { headers } = incoming;
    this.headers = { get: (name) => (headers[name] as string | undefined) ?? null, has: (name) => name in headers };
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort();
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort();
    return this.#controller.signal;
  }

  get body(): IncomingMessage {
    return this.incoming;
  }

  bytes(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      this.incoming
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => resolve(Buffer.concat(chunks)))
        .on("error", reject);
    });
  }
}

type Fetch = (request: Request) => Response | Promise<Response>;

const serveByNode = async (fetch: Fetch): Promise<number> => {
  const server = createServer(async (incoming, outgoing) => {
    const request = new NodeRequest(incoming);
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) request.abort();
    });
    const response = await fetch(request as unknown as Request);
    const body = Buffer.from(await response.arrayBuffer());
    outgoing.writeHead(response.status, { ...response.headers.toJSON(), "content-length": body.length });
    outgoing.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

const serveByBun = (fetch: Fetch): number => {
  const address = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
  return Number(serve(address, { keepAliveMs: 60_000, requestMs: 60_000 }, fetch).url.port);
};

/** Serves the application with the server `kind` and the database `url`, in this process. */
const runServer = async (kind: string, url: string): Promise<void> => {
  const app = createApp({
    db: connect(url),
    clock: () => new Date(),
    random: secureRandom,
    config: {
      defaultAvatarModelId: "m",
      maxActiveKeysPerTenant: 10_000,
      rateLimit: null,
      tenantRateLimit: null,
      trustedProxyHops: 0,
    },
    log: createLog("info", { write: () => {} }),
    noteUse: () => {},
    peerAddress: () => null,
    redis: null,
    isEnding: () => false,
    metrics: null,
    responseBytes: createResponseBytes(),
    tracing: null,
  });
  const port = kind === "node:http" ? await serveByNode(app.fetch) : serveByBun(app.fetch);
  print(`"url":"http://127.0.0.1:${port}"`);
};

/** Sends bytes, and returns the statuses of the responses that arrive within 300 ms. */
const statusesFor = (url: string, bytes: string): Promise<string[]> =>
  new Promise((resolve) => {
    const socket = dial(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(bytes);
    setTimeout(() => {
      socket.destroy();
      resolve([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status));
    }, 300);
  });

const compare = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-servers-"));
  await chmod(folder, 0o755);
  const database = await openEmbedded(join(folder, "data"), {});
  await migrate(database.url);
  const db = connect(database.url);
  const key = (await createFirstKey(db, new Date(), secureRandom))?.reveal() ?? "";
  const authorization = `Bearer ${key}`;
  const body = '{"displayName":"Ada","sourceKind":"image","metadata":{"team":"support"}}';
  const load = (method: string, path: string, headers: Record<string, string> = {}): Load => ({
    method,
    path,
    body: method === "POST" ? body : null,
    headers: { ...headers, ...(method === "POST" ? { "content-type": "application/json" } : {}) },
  });
  const loads: [string, Load][] = [
    ["POST /avatars", load("POST", "/api/v1/avatars", { authorization })],
    ["GET /api-keys/self", load("GET", "/api/v1/api-keys/self", { authorization })],
    [
      "refused: bad checksum",
      load("GET", "/api/v1/api-keys/self", { authorization: `${authorization.slice(0, -1)}!` }),
    ],
    ["GET /healthz", load("GET", "/healthz")],
  ];
  const kinds = ["Bun.serve", "node:http"];
  const servers = await Promise.all(
    kinds.map((kind, index) =>
      start([process.execPath, import.meta.path, "serve", kind, database.url], join(folder, `${index}.log`)),
    ),
  );

  const figures = new Map<string, { rates: number[]; micros: number[] }>();
  for (const { url } of servers) for (const [, one] of loads) await wrk(folder, url, one, CONNECTIONS, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, one] of loads) {
      for (const [index, { url, pid }] of servers.entries()) {
        const before = await cpuOf(pid);
        const { rate } = await wrk(folder, url, one, CONNECTIONS, SECONDS);
        const label = `${name}, ${kinds[index]}`;
        const samples = figures.get(label) ?? { rates: [], micros: [] };
        samples.rates.push(rate);
        samples.micros.push((((await cpuOf(pid)) - before) / (rate * SECONDS)) * 1e6);
        figures.set(label, samples);
      }
    }
  }
  print(`At ${CONNECTIONS} connections, medians of ${ROUNDS} rounds; the mean latency is calculated from the rate:`);
  for (const [label, { rates, micros }] of figures) {
    const rate = median(rates);
    const milliseconds = ((CONNECTIONS / rate) * 1000).toFixed(2);
    print(`${label.padEnd(36)} ${rate.toFixed(0)} requests/s  ${milliseconds} ms  ${median(micros).toFixed(0)} µs CPU`);
  }

  print(`Latency in an open loop of ${OPEN_LOOP_RATE} requests/s, medians of ${ROUNDS} rounds:`);
  for (const [name, one] of loads.filter(([, { headers }]) => headers["authorization"] === authorization)) {
    const latencies = servers.map((): Awaited<ReturnType<typeof openLoop>>[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, { url }] of servers.entries())
        latencies[index]?.push(await openLoop(url, one, OPEN_LOOP_RATE, SECONDS));
    }
    for (const [index, samples] of latencies.entries()) {
      const milliseconds = (percentile: "p50" | "p99"): string =>
        median(samples.map((figures) => figures[percentile])).toFixed(1);
      print(`${`${name}, ${kinds[index]}`.padEnd(36)} p50 ${milliseconds("p50")} ms  p99 ${milliseconds("p99")} ms`);
    }
  }

  const headers = `Host: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n`;
  const post = `POST /api/v1/avatars HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = (trailer: string): string =>
    `POST /api/v1/avatars HTTP/1.1\r\n${headers}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailer}\r\n`;
  for (const [name, bytes] of [
    ["a request", post],
    ["chunks", chunked("")],
    ["chunks, with a trailer", chunked("X-Checksum: 1\r\n")],
    ["an empty line after the body", `${post}\r\n`],
    ["an empty line before the request", `\r\n${post}`],
    ["ten pipelined requests", post.repeat(10)],
  ] as const) {
    for (const [index, { url }] of servers.entries()) {
      print(`${name}, ${kinds[index]}: ${(await statusesFor(url, bytes)).join(" ") || "connection closed"}`);
    }
  }
  for (const { end } of servers) await end();
  await db.close();
  await database.close();
  await rm(folder, { recursive: true });
};

const [role, kind = "", url = ""] = process.argv.slice(2);
if (role === "serve") await runServer(kind, url);
else await compare();
