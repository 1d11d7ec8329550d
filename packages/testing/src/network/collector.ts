/** A collector of OpenTelemetry traces, for end-to-end tests. */

/** The fields of a protobuf message (protobuf.dev/programming-guides/encoding): number, and integer or bytes. */
const fieldsOf = (message: Uint8Array): [number: number, value: number | Uint8Array][] => {
  const found: [number, number | Uint8Array][] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) found.push([tag >>> 3, varint()]);
    else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : varint();
      found.push([tag >>> 3, message.subarray(at, at + length)]);
      at += length;
    }
  }
  return found;
};
const messages = (message: Uint8Array, number: number): Uint8Array[] =>
  fieldsOf(message).flatMap(([found, value]) => (found === number && value instanceof Uint8Array ? [value] : []));
const text = (message: Uint8Array, number: number): string =>
  new TextDecoder().decode(messages(message, number)[0] ?? new Uint8Array());

type Span = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  attributes: Record<string, unknown>;
};

/** The spans of an ExportTraceServiceRequest (opentelemetry-proto, trace.proto). */
const spansOf = (body: Uint8Array): Span[] =>
  messages(body, 1)
    .flatMap((resource) => messages(resource, 2))
    .flatMap((scope) => messages(scope, 2))
    .map((span) => {
      const hex = (number: number): string => Buffer.from(messages(span, number)[0] ?? []).toString("hex");
      const attributes = messages(span, 9).map((pair): [string, unknown] => {
        const [[, value] = []] = fieldsOf(messages(pair, 2)[0] ?? new Uint8Array());
        return [text(pair, 1), value instanceof Uint8Array ? new TextDecoder().decode(value) : value];
      });
      return {
        traceId: hex(1),
        spanId: hex(2),
        parentSpanId: hex(4),
        name: text(span, 5),
        attributes: Object.fromEntries(attributes),
      };
    });

/** Starts a server that receives traces. */
export const startCollector = () => {
  const bodies: Uint8Array[] = [];
  const seen: { path: string; headers: Headers }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      seen.push({ path: new URL(request.url).pathname, headers: request.headers });
      bodies.push(await request.bytes());
      return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
    },
  });
  return { url: server.url.href, seen, bodies, spans: () => bodies.flatMap(spansOf), close: () => server.stop(true) };
};
