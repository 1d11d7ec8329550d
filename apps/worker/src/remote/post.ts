/**
 * Posts a text to a URL of a tenant, under the rules of `fetch.ts`: https to public addresses, which are checked before
 * a connection is opened. Redirects are not followed.
 */
import type { IncomingMessage } from "node:http";
import { isHttpLocalhost } from "@realtime-avatar/domain/webhooks/url";
import ipaddr from "ipaddr.js";
import { type Connections, createConnections } from "./connections.ts";
import { type Refused, refused, type Unavailable, unavailable } from "./outcome.ts";
import { type Network, type NotOpened, type Opened, PUBLIC_INTERNET, sendTo } from "./request.ts";
import { parseTarget, type Target } from "./target.ts";

/** How many bytes of a response are read, and how many of these are returned. */
export const MAX_READ_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 512;
/** The default bounds: see PostOptions. */
export const TIMES = { connectMs: 5000, totalMs: 15_000, bodyMs: 2000 };

export type PostOptions = {
  network?: Network;
  /** Whether http URLs of this machine are allowed. */
  allowHttpLocalhost?: boolean;
  /** The longest time for the look-up and the connection with its TLS handshake. */
  connectMs?: number;
  /** The maximum total time. */
  totalMs?: number;
  /** The longest time for the body of a response whose status is known. */
  bodyMs?: number;
};

export type Message = {
  /** Identifies the receiver. Two receivers never share a connection. */
  receiver: string;
  url: string;
  headers: Record<string, string>;
  body: string;
};

/** A response. `body`: its first bytes; null when the body is encoded. */
export type Posted = { kind: "posted"; status: number; retryAfter: string | undefined; body: Buffer | null };

export type Poster = {
  post(message: Message, signal: AbortSignal): Promise<Posted | Refused | Unavailable>;
  close(): void;
};

/**
 * Reads the first bytes of a body. Ends at the end of the response, at the limit, or when `signal` is aborted or the
 * time is over.
 */
const readBody = ({ response }: Opened, bodyMs: number, signal: AbortSignal): Promise<Buffer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let [kept, read] = [0, 0];
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cut);
      resolve(Buffer.concat(chunks));
    };
    /** The connection must be closed, because a part of the body is unread. */
    const cut = (): void => {
      response.destroy();
      end();
    };
    const timer = setTimeout(cut, bodyMs);
    signal.addEventListener("abort", cut);
    response.on("data", (chunk: Buffer) => {
      if (kept < MAX_KEPT_BYTES) chunks.push(Buffer.from(chunk.subarray(0, MAX_KEPT_BYTES - kept)));
      kept = Math.min(MAX_KEPT_BYTES, kept + chunk.length);
      read += chunk.length;
      if (read > MAX_READ_BYTES) cut();
    });
    response.on("end", end);
    response.on("close", end);
    if (signal.aborted) cut();
  });

const isIdentity = ({ headers }: IncomingMessage): boolean =>
  (headers["content-encoding"] ?? "identity").trim().toLowerCase() === "identity";

/** Reaches only this machine. */
const LOCALHOST: Pick<Network, "resolve" | "isAllowed"> = {
  resolve: async (host) => (host === "localhost" ? ["127.0.0.1", "::1"] : [host]),
  isAllowed: (address) => ipaddr.isValid(address) && ipaddr.parse(address).range() === "loopback",
};

/** The target of a URL of this machine, without the brackets of an IPv6 address. */
const localTarget = (text: string): Target => {
  const url = new URL(text);
  return { kind: "target", url, host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 80) };
};

/** Creates a poster, which keeps connections. */
export const createPoster = (options: PostOptions = {}, connections: Connections = createConnections()): Poster => {
  const { network = PUBLIC_INTERNET, allowHttpLocalhost = false } = options;
  const { connectMs, totalMs, bodyMs } = { ...TIMES, ...options };

  const open = async (message: Message, signal: AbortSignal): Promise<Opened | NotOpened> => {
    const startedAt = performance.now();
    const isLocal = allowHttpLocalhost && isHttpLocalhost(message.url);
    const target = isLocal ? localTarget(message.url) : parseTarget(message.url, null, network.ports);
    if (target.kind !== "target") return target;
    const kept = await connections.to(message.receiver, target, isLocal ? LOCALHOST : network, connectMs, signal);
    if ("kind" in kept) return kept;
    const { addresses, agent } = kept;
    const body = Buffer.from(message.body);
    const headers = { ...message.headers, "Accept-Encoding": "identity", "Content-Length": body.length };
    const send = (by: typeof agent | false): Promise<Opened | NotOpened> => {
      const leftMs = Math.max(1, connectMs - (performance.now() - startedAt));
      return sendTo(target, addresses, network.ca, { method: "POST", headers, body, agent: by }, leftMs, signal);
    };
    const opened = await send(agent);
    // The host had closed the connection. It may have received the message, so a receiver may get a message twice.
    return opened.kind !== "response" && opened.isStale && !signal.aborted ? send(false) : opened;
  };

  return {
    post: async (message, signal) => {
      const end = new AbortController();
      const cancel = (): void => end.abort();
      const timer = setTimeout(cancel, totalMs);
      signal.addEventListener("abort", cancel);
      if (signal.aborted) cancel();
      try {
        const opened = await open(message, end.signal);
        if (opened.kind !== "response") {
          // An aborted request looks like a lost connection.
          if (opened.kind !== "unavailable" || !end.signal.aborted) return opened;
          return signal.aborted
            ? unavailable("canceled", "The request was canceled.")
            : unavailable("timed_out", `There was no response within ${totalMs} ms.`);
        }
        const { response } = opened;
        const { statusCode: status = 0, headers } = response;
        if (status < 200) {
          response.destroy();
          return refused("invalid_response", "The response has a status that HTTP does not have.");
        }
        const hasText = isIdentity(response);
        const body = await readBody(opened, bodyMs, end.signal);
        return { kind: "posted", status, retryAfter: headers["retry-after"], body: hasText ? body : null };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      }
    },
    close: connections.close,
  };
};
