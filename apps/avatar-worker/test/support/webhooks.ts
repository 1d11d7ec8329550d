/** A proxy for LiveKit's webhooks to the service, with faults. */

/** The fault of an event. `held`: LiveKit gets a success, and `release` forwards the event later. */
export type WebhookFault = "dropped" | "doubled" | "held" | "unsigned";

export type Webhooks = {
  url: string;
  /** The fault of each event. null: the event is forwarded. */
  fault: WebhookFault | null;
  /** The address at which the service receives events. */
  target: string;
  /** The responses of the service so far. */
  statuses: readonly number[];
  /** The names of the events that are held. */
  held(): string[];
  /** Forwards the held events, the latest first if `reversed`. */
  release(order: "in order" | "reversed"): Promise<void>;
  stop(): Promise<void>;
};

type Event = { body: string; authorization: string | null };

export const startWebhooks = (): Webhooks => {
  const waiting: Event[] = [];
  const statuses: number[] = [];
  const send = async ({ body, authorization }: Event): Promise<number> => {
    const headers = { "content-type": "application/webhook+json", ...(authorization && { authorization }) };
    const { status } = await fetch(webhooks.target, { method: "POST", headers, body });
    statuses.push(status);
    return status;
  };
  const receive = async (event: Event): Promise<number> => {
    switch (webhooks.fault) {
      case "dropped":
        return 200;
      case "held":
        waiting.push(event);
        return 200;
      case "unsigned":
        return send({ ...event, authorization: null });
      case "doubled":
        await send(event);
        return send(event);
      case null:
        return send(event);
    }
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const event = { body: await request.text(), authorization: request.headers.get("authorization") };
      // While the service is down, LiveKit gets an error, as it would without this proxy.
      return new Response(null, { status: await receive(event).catch(() => 502) });
    },
  });
  const webhooks: Webhooks = {
    url: server.url.href,
    fault: null,
    target: "",
    statuses,
    held: () => waiting.map(({ body }) => (JSON.parse(body) as { event: string }).event),
    release: async (order) => {
      const events = waiting.splice(0);
      for (const event of order === "reversed" ? events.reverse() : events) await send(event);
    },
    stop: () => server.stop(true),
  };
  return webhooks;
};
