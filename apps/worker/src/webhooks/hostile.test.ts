/** The sender against receivers that break each rule. Names resolve to loopback, so no request leaves the machine. */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { TLSSocket } from "node:tls";
import type { CreateWebhookEndpoint } from "@realtime-avatar/domain/webhooks/schemas";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import type { PostOptions } from "../remote/post.ts";
import { http, startServer } from "../remote/server.testing.ts";
import { deliveriesTo, seedSealedEndpoint, settled, startTestSender } from "./world.testing.ts";

const { db } = await fileDatabase();
const SECRET = "words-of-the-receiver";
const API_KEY = `rta_live_${"k".repeat(16)}_${"s".repeat(43)}000000`;
const flooded = Buffer.alloc(65_536, "x");

/** Writes until the other side closes, and counts the bytes. */
let written = 0;
const flood = (socket: TLSSocket, bytes: string | Buffer = flooded): void => {
  const write = () => {
    while (socket.writable) {
      written += bytes.length;
      if (!socket.write(bytes)) return;
    }
  };
  socket.on("drain", write);
  write();
};

const text =
  (body: string | Buffer, headers: Record<string, string | number> = {}) =>
  (socket: TLSSocket) => {
    socket.write(http(200, { "Content-Length": Buffer.byteLength(body), ...headers }));
    socket.write(body);
  };
const status =
  (code: number, headers: Record<string, string | number> = {}) =>
  (socket: TLSSocket) =>
    void socket.write(http(code, { "Content-Length": 0, ...headers }));

const RESPONSES: Record<string, (socket: TLSSocket) => void> = {
  "/ok": status(200),
  "/accepted": status(202),
  "/early": (socket) => socket.write(http(103, {}).repeat(3) + http(200, { "Content-Length": 0 })),
  "/large": (socket) => {
    socket.write(http(200, { "Content-Length": 1_000_000_000 }));
    flood(socket);
  },
  "/endless": (socket) => {
    socket.write(http(200, { "Transfer-Encoding": "chunked" }));
    flood(socket, `10000\r\n${flooded}\r\n`);
  },
  "/hang-body": (socket) => void socket.write(http(200, { "Content-Length": 50 }, "hello")),
  "/cut-body": (socket) => void socket.end(http(200, { "Content-Length": 50 }, "hello")),
  "/nothing": () => {},
  "/slow-head": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const timer = setInterval(() => socket.write("X: y\r\n"), 50);
    socket.on("close", () => clearInterval(timer));
  },
  "/only-early": (socket) => flood(socket, http(103, { Link: "</a>" }).repeat(500)),
  "/switch": (socket) => void socket.write(http(101, { Upgrade: "websocket", Connection: "Upgrade" })),
  "/reset": (socket) => void socket.resetAndDestroy(),
  "/head-reset": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nX: ");
    socket.resetAndDestroy();
  },
  "/garbage": (socket) => void socket.end(`${SECRET}\r\n\r\n`),
  "/headers": (socket) => void socket.end(http(200, { [SECRET]: "x".repeat(3_000_000) })),
  "/301": status(301, { Location: "https://10.0.0.1/" }),
  "/307": status(307, { Location: "/ok" }),
  "/304": status(304),
  "/400": status(400),
  "/410": status(410),
  "/429": status(429, { "Retry-After": 31_536_000 }),
  "/429-date": status(429, { "Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT" }),
  "/429-words": status(429, { "Retry-After": SECRET }),
  "/500": status(500),
  "/502": status(502),
  "/503": status(503, { "Retry-After": 60 }),
  "/504": status(504),
  "/999": status(999),
  "/zero": text("a\0b"),
  "/invalid": text(Buffer.alloc(600, 0xff)),
  "/cut-character": text(`${"x".repeat(511)}é`),
  "/key": text(`key: ${API_KEY}, whsec_${"A".repeat(43)}=, whsec_${"B".repeat(43)}=, end`),
  "/gzip": text(Buffer.from([31, 139, 8, 0]), { "Content-Encoding": "gzip" }),
};

const server = await fixture(startServer((path, socket) => RESPONSES[path]?.(socket)));
const sender = startTestSender(db, { network: server.network });
await fixture({ close: () => sender.stop() });

/** Runs `work` with another sender. The first one is stopped, because otherwise either could claim. */
const withSender = async (post: PostOptions, work: () => Promise<void>): Promise<void> => {
  await sender.stop();
  const own = startTestSender(db, { network: server.network, ...post });
  try {
    await work();
  } finally {
    await own.stop();
    Object.assign(sender, startTestSender(db, { network: server.network }));
  }
};

const endpointAt = async (path: string, fields: Partial<CreateWebhookEndpoint> = {}) => {
  const caller = await seedCaller(db);
  const url = path.startsWith("/") ? `https://files.example.com:${server.port}${path}` : path;
  const endpoint = await seedSealedEndpoint(db, caller, { url, events: ["avatar.created"], ...fields });
  return { caller, endpoint };
};

/** Sends one event to a path of the server, or to a URL, and returns the delivery after its first attempt. */
const sendTo = async (path: string) => {
  const { caller, endpoint } = await endpointAt(path);
  await seedAvatar(db, caller);
  const [delivery] = await settled(db, endpoint.id);
  // No text of the network, no address, no text of a receiver outside its body. Random ids can contain any three
  // letters.
  const text = JSON.stringify(delivery).replaceAll(/_[0-9a-z]{26}/g, "");
  expect(text).not.toMatch(/127\.0\.0\.1|ECONN|socket|HPE|certificate has|words-of/i);
  return delivery;
};

const attempt = (fields: object) => [expect.objectContaining({ at: expect.any(String), ...fields })];

describe("a receiver", () => {
  test.each([
    ["/ok", 200],
    ["/accepted", 202],
    ["/early", 200],
    ["/hang-body", 200],
    ["/cut-body", 200],
    ["/large", 200],
    ["/endless", 200],
    ["/gzip", 200],
  ])("that responds as %s: delivered with %d", async (path, code) => {
    expect(await sendTo(path)).toMatchObject({ status: "delivered", attempts: [{ status: code, error: null }] });
  });

  test("that sends a gigabyte: a part is read, 512 bytes are kept", async () => {
    written = 0;
    const delivery = await sendTo("/large");
    expect(delivery?.attempts[0]?.responseBody).toBe("x".repeat(512));
    // 64 KiB, and the buffers of two sockets.
    expect(written).toBeLessThan(32_000_000);
  });

  test.each([
    ["/only-early", "invalid_response"],
    ["/switch", "invalid_response"],
    ["/garbage", "invalid_response"],
    ["/headers", "invalid_response"],
    ["/reset", "connection_failed"],
    ["/head-reset", "connection_failed"],
    ["https://unknown.example.org/", "invalid_url"],
    ["https://files.example.com/", "invalid_url"],
    ["http://files.example.com/", "invalid_url"],
    ["https://user@files.example.com/", "invalid_url"],
  ])("at %s: tried again, %s", async (path, error) => {
    const delivery = await sendTo(path);
    expect(delivery).toMatchObject({ status: "pending", attemptCount: 1 });
    expect(delivery?.attempts).toEqual(attempt({ status: null, error, responseBody: null }));
  });

  test.each(["/nothing", "/slow-head"])("at %s: tried again, timed_out", async (path) => {
    await withSender({ totalMs: 500 }, async () => {
      const delivery = await sendTo(path);
      expect(delivery).toMatchObject({ status: "pending", attemptCount: 1 });
      expect(delivery?.attempts).toEqual(attempt({ status: null, error: "timed_out", responseBody: null }));
    });
  });

  test.each([301, 307, 304, 400, 500, 502, 503, 504, 999])(
    "that responds with %d: tried again, no redirect followed",
    async (code) => {
      // Meanwhile, deliveries of other tests are tried again.
      const requestsTo = (path: string): number =>
        server.requests.filter((head) => head.startsWith(`POST ${path} `)).length;
      const before = requestsTo("/ok");
      expect(await sendTo(`/${code}`)).toMatchObject({ status: "pending", attempts: [{ status: code, error: null }] });
      expect(requestsTo(`/${code}`)).toBe(1);
      expect(requestsTo("/ok")).toBe(before);
    },
  );

  test("with a certificate of another name: nothing is sent to it", async () => {
    const delivery = await sendTo(`https://evil.example.org:${server.port}/other-name`);
    expect(delivery?.attempts).toEqual(attempt({ status: null, error: "certificate_not_valid" }));
    expect(server.requests.filter((head) => head.startsWith("POST /other-name "))).toEqual([]);
  });

  test("at a closed port, or that accepts without TLS: connection_failed, timed_out", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    const network = { ...server.network, ports: [port, 1] };
    await withSender({ network, connectMs: 300 }, async () => {
      expect((await sendTo(`https://files.example.com:${port}/`))?.attempts).toEqual(attempt({ error: "timed_out" }));
    });
    await withSender({ network }, async () => {
      expect((await sendTo("https://files.example.com:1/"))?.attempts).toEqual(attempt({ error: "connection_failed" }));
    });
    silent.close();
  });

  test.each([
    ["/zero", "a\uFFFDb"],
    ["/invalid", "\uFFFD".repeat(170)],
    ["/cut-character", "x".repeat(511)],
    ["/key", `key: rta_live_${"k".repeat(16)}_****, whsec_****, whsec_****, end`],
    ["/gzip", null],
  ])("that sends %s: text that can be stored, without secrets", async (path, expected) => {
    expect((await sendTo(path))?.attempts[0]?.responseBody ?? null).toBe(expected);
  });
});

describe("the outcome of a response", () => {
  test("410: the endpoint is disabled, with an event for the other endpoints", async () => {
    const { caller, endpoint } = await endpointAt("/410");
    const other = await seedSealedEndpoint(db, caller, {
      url: `https://files.example.com:${server.port}/ok`,
      events: ["webhook_endpoint.*"],
    });
    await seedAvatar(db, caller);
    expect(await settled(db, endpoint.id)).toMatchObject([{ status: "failed", attempts: [{ status: 410 }] }]);
    const [stored] = await db.client`select status, disabled_reason from webhook_endpoints where id = ${endpoint.id}`;
    expect(stored).toMatchObject({ status: "disabled", disabled_reason: "gone" });
    expect(await settled(db, other.id)).toMatchObject([{ status: "delivered" }]);
  });

  test.each([
    ["/429", 300, 360],
    ["/429-date", 300, 360],
    ["/429-words", 4, 6],
    ["/503", 60, 72],
    ["/500", 4, 6],
  ])("%s: the next attempt after %d to %d seconds", async (path, least, most) => {
    const { pause } = (await sendTo(path)) ?? { pause: null };
    expect(pause).toBeGreaterThan(least - 2);
    expect(pause).toBeLessThanOrEqual(most);
  });

  test.each(["/429", "/502", "/504"])("%s: the endpoint is paused, and others are served", async (path) => {
    const { caller, endpoint } = await endpointAt(path);
    await seedAvatar(db, caller);
    await settled(db, endpoint.id);
    const [slow] =
      await db.client`select slow_until > now() + interval '20 seconds' as "isSlow" from webhook_endpoints where id = ${endpoint.id}`;
    expect(slow?.["isSlow"]).toBe(true);
    await seedAvatar(db, caller);
    await sendTo("/ok");
    expect((await deliveriesTo(db, endpoint.id)).map(({ attempts }) => attempts.length)).toEqual([1, 0]);
  });

  test("the tenth attempt, failed: the delivery has failed", async () => {
    const { caller, endpoint } = await endpointAt("/500");
    await seedAvatar(db, caller);
    await settled(db, endpoint.id);
    await db.client`
      update webhook_deliveries set attempt_count = 9, next_attempt_at = now() where endpoint_id = ${endpoint.id}`;
    const [delivery] = await settled(db, endpoint.id, 2);
    expect(delivery).toMatchObject({ status: "failed", attemptCount: 10, pause: null });
  });
});

test("a sender that stops while a receiver hangs: the delivery is handed back, without an attempt", async () => {
  const { caller, endpoint } = await endpointAt("/nothing");
  await sender.stop();
  const own = startTestSender(db, { network: server.network });
  await seedAvatar(db, caller);
  const before = server.requests.length;
  await until(() => server.requests.length > before);
  await own.stop();
  const [delivery] = await deliveriesTo(db, endpoint.id);
  expect(delivery).toMatchObject({ status: "pending", attempts: [], attemptCount: 0 });
  expect(delivery?.pause).toBeLessThanOrEqual(0);
  const [{ lease } = { lease: "" }] =
    await db.client`select lease from webhook_deliveries where endpoint_id = ${endpoint.id}`;
  expect(lease).toBeNull();
  Object.assign(sender, startTestSender(db, { network: server.network }));
});
