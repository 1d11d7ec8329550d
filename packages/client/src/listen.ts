/**
 * Forwards the events of a tenant to a program on this machine that the internet cannot reach. It adds a webhook
 * endpoint without a URL, reads its deliveries, and sends each in the form of the service: signed with the secret that
 * it got when it added the endpoint (Standard Webhooks 1.0). It uses only web APIs.
 */
import type { components, RealtimeAvatarClient } from "./index.ts";
import { sleep } from "./wait.ts";

type WebhookDelivery = components["schemas"]["WebhookDelivery"];
type Endpoint = components["schemas"]["WebhookEndpointWithSecret"];
export type WebhookSelection = components["schemas"]["CreateWebhookEndpoint"]["events"];

/** An event that was forwarded. `status` is null when the program did not respond. */
export type Forwarded = { id: string; type: string; status: number | null };

export type ListenOptions = {
  client: RealtimeAvatarClient;
  /** The URL that receives the events, such as `http://localhost:4000/hooks`. */
  forwardTo: string;
  /** Event types or groups; all when omitted. */
  events?: WebhookSelection;
  /** Called once, with the secret that the program needs to verify the events. */
  onReady: (secret: string) => void;
  onForwarded: (event: Forwarded) => void;
  /** Stops listening, and removes the endpoint. */
  signal: AbortSignal;
  fetch?: (request: Request) => Promise<Response>;
};

const POLL_MS = 500;
const FORWARD_MS = 15_000;
/** Deliveries are not listed strictly in the order of their appearance, so each poll goes back by this time. */
const OVERLAP_MS = 60_000;

const encoder = new TextEncoder();

const signer = async (secret: string) => {
  const bytes = Uint8Array.from(atob(secret.slice("whsec_".length)), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (content: string): Promise<string> => {
    const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(content)));
    return `v1,${btoa(String.fromCharCode(...signature))}`;
  };
};

/** Sends a delivery like the service. Returns the status of the response; null without one. */
const forward = async (
  { eventId, body }: WebhookDelivery,
  sign: (content: string) => Promise<string>,
  { forwardTo, fetch = (request) => globalThis.fetch(request) }: ListenOptions,
): Promise<number | null> => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = {
    "content-type": "application/json",
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": await sign(`${eventId}.${timestamp}.${body}`),
  };
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), FORWARD_MS);
  try {
    const init = { method: "POST", headers, body, redirect: "manual" as const, signal: controller.signal };
    const response = await fetch(new Request(forwardTo, init));
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
};

/**
 * The deliveries of the endpoint that were not forwarded yet, oldest first. Deliveries without a body are not due yet.
 * The poll ends at the first page that has a delivery from before the overlap, or no delivery: such a page has searched
 * thousands of the tenant's deliveries.
 */
const newDeliveries = async ({ client }: ListenOptions, { id }: Endpoint, seen: Map<string, number>) => {
  const since = Math.max(0, ...seen.values()) - OVERLAP_MS;
  for (const [old, createdAt] of seen) if (createdAt < since) seen.delete(old);
  const found: WebhookDelivery[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { endpointId: id, limit: 100, ...(cursor && { cursor }) };
    const { data, nextCursor } = (await client.GET("/api/v1/webhook-deliveries", { params: { query } })).data;
    const recent = data.filter(({ createdAt }) => Date.parse(createdAt) >= since);
    found.push(...recent.filter((delivery) => delivery.body !== null && !seen.has(delivery.id)));
    cursor = recent.length > 0 && recent.length === data.length ? nextCursor : null;
  }
  return found.reverse();
};

/** The lines that a program prints when it starts to listen and for each event. */
export const listeningMessage = (forwardTo: string, secret: string): string =>
  `Events are forwarded to ${forwardTo}. This secret verifies them until the program ends:\n\n  export WEBHOOK_SECRET=${secret}\n\n`;
export const forwardedLine = ({ id, type, status }: Forwarded): string => `${id} ${type} ${status ?? "no response"}\n`;

/** Forwards events until `signal` is aborted. Throws the errors of the client. Removes the endpoint in any case. */
export const listen = async (options: ListenOptions): Promise<void> => {
  const { client, events, signal, onReady, onForwarded } = options;
  const { data: endpoint } = await client.POST("/api/v1/webhook-endpoints", {
    body: { url: null, description: "webhooks listen", ...(events && { events }) },
  });
  try {
    const sign = await signer(endpoint.secret);
    onReady(endpoint.secret);
    /** When each forwarded delivery was created. */
    const seen = new Map<string, number>();
    while (!signal.aborted) {
      for (const delivery of await newDeliveries(options, endpoint, seen)) {
        if (signal.aborted) break;
        seen.set(delivery.id, Date.parse(delivery.createdAt));
        onForwarded({
          id: delivery.eventId,
          type: delivery.eventType,
          status: await forward(delivery, sign, options),
        });
      }
      await sleep(POLL_MS, signal).catch(() => {});
    }
  } finally {
    await client.DELETE("/api/v1/webhook-endpoints/{id}", { params: { path: { id: endpoint.id } } });
  }
};
