/**
 * Helpers for the tests of the sender: a receiver with TLS, endpoints with secrets, and a sender whose names resolve to
 * loopback.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { insertEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { newId } from "@realtime-avatar/domain/id";
import { newWebhookEndpoint, type WebhookEndpointRecord } from "@realtime-avatar/domain/webhooks/endpoint";
import type { CreateWebhookEndpoint, DeliveryAttempt } from "@realtime-avatar/domain/webhooks/schemas";
import { sealWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { newWebhookSecret } from "@realtime-avatar/domain/webhooks/signature";
import { createLog } from "@realtime-avatar/runtime/log";
import type { TestDb } from "@realtime-avatar/testing/database";
import { selfSigned } from "@realtime-avatar/testing/network/certificate";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { createUntilDue } from "../jobs/due-work.ts";
import { createPoster, type PostOptions } from "../remote/post.ts";
import { type Network, PUBLIC_INTERNET } from "../remote/request.ts";
import { SENDER_TIMING, type Sender, type SenderOptions, startSender } from "./sender.ts";

export const SEALING_KEY = new Uint8Array(32).fill(7);
export const ASSET_ORIGIN = "https://files.example.com";

/** A request as the receiver got it. */
export type Received = { path: string; headers: Record<string, string>; body: string };

export type Receiver = {
  port: number;
  received: Received[];
  /** The requests to a path so far. */
  at: (path: string) => Received[];
  /** The number of TCP connections so far. */
  connections: () => number;
  network: Network;
  close: () => Promise<void>;
};

const CERTIFICATE = selfSigned(["hooks.example.com", "other.example.com"]);

/** Starts a receiver on loopback. It responds with 204, or with `respond`. */
export const startReceiver = async (
  respond: (request: Received, response: ServerResponse) => void = (_, response) => response.writeHead(204).end(),
): Promise<Receiver> => {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer(CERTIFICATE, (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const message = { path: request.url ?? "", headers: request.headers as Record<string, string>, body };
      received.push(message);
      respond(message, response);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    received,
    at: (path) => received.filter((message) => message.path === path),
    connections: () => connections,
    network: loopback(port, CERTIFICATE.cert),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Reaches the port of a server by every name. Loopback is allowed. */
export const loopback = (port: number, ca: string): Network => ({
  ...PUBLIC_INTERNET,
  resolve: async () => ["127.0.0.1"],
  isAllowed: () => true,
  ports: [port],
  ca,
});

export type SeededEndpoint = WebhookEndpointRecord & { signingSecret: string };

/** Writes an endpoint with a sealed secret. */
export const seedSealedEndpoint = async (
  db: Db,
  caller: Caller,
  fields: Partial<CreateWebhookEndpoint> = {},
): Promise<SeededEndpoint> => {
  const now = new Date();
  const { tenantId, environment } = caller;
  const id = newId("whe", now, random);
  const signingSecret = newWebhookSecret(random);
  const secret = sealWebhookSecret(signingSecret, id, SEALING_KEY, random);
  const request = { url: "https://hooks.example.com/", ...fields };
  const endpoint = newWebhookEndpoint(request, { id, tenantId, environment, secret, now });
  const { kind } = await insertEndpoint(db, endpoint, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`the endpoint was not written: ${kind}`);
  return { ...endpoint, signingSecret };
};

/** Starts a sender. Its pauses are short. Its time limits for a receiver fit a busy machine; `post` replaces some of them. */
export const startTestSender = (
  db: Db,
  post: PostOptions,
  changes: Partial<SenderOptions> = {},
): Sender & { log: string[] } => {
  const log: string[] = [];
  const sender = startSender({
    db,
    log: createLog("debug", { write: (line) => log.push(line) }),
    random,
    metrics: null,
    tracing: null,
    poster: createPoster({ connectMs: 60_000, totalMs: 60_000, bodyMs: 300, ...post }),
    sealingKey: SEALING_KEY,
    assetOrigin: ASSET_ORIGIN,
    userAgent: "realtime-avatar/test",
    sends: 200,
    untilDue: createUntilDue(db, { least: 20, most: 20 })("deliveries"),
    timing: { ...SENDER_TIMING, failedMs: 100, attemptMs: 5000, stopMs: 1000 },
    ...changes,
  });
  return { ...sender, log };
};

/** A delivery as stored. */
export type Stored = {
  id: string;
  eventId: string;
  status: string;
  attempts: DeliveryAttempt[];
  attemptCount: number;
  /** Seconds until the next attempt. */
  pause: number | null;
};

/** The deliveries to an endpoint, the oldest first. */
export const deliveriesTo = async ({ client }: TestDb, endpointId: string): Promise<Stored[]> => {
  const rows = await client<Stored[]>`
    select id, event_id as "eventId", status, attempts, attempt_count as "attemptCount",
      extract(epoch from next_attempt_at - now())::float as pause
    from webhook_deliveries where endpoint_id = ${endpointId} order by id`;
  return rows.map((row) => ({ ...row, attempts: JSON.parse(JSON.stringify(row.attempts)) as DeliveryAttempt[] }));
};

/** Waits until each delivery to an endpoint has had its attempt, and returns them. */
export const settled = async (db: TestDb, endpointId: string, attempts = 1): Promise<Stored[]> => {
  const read = () => deliveriesTo(db, endpointId);
  const isSettled = (one: Stored) => one.attempts.length >= attempts || one.status !== "pending";
  return until(
    async () => {
      const stored = await read();
      return stored.length > 0 && stored.every(isSettled) && stored;
    },
    { state: read },
  );
};
