/** The fetcher against servers that break each rule. Names resolve to loopback, so no request leaves the machine. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { type FetchOptions, fetchRemote } from "./fetch.ts";
import { http, startServer } from "./server.testing.ts";

const folder = await fileFolder();
let files = 0;

const MAX_BYTES = 100_000;
const body = Buffer.alloc(MAX_BYTES, "0123456789abcdef");
const SECRET = "words-of-the-origin";

/** Writes until the other side closes. */
const flood = (socket: TLSSocket, bytes: string | Buffer = Buffer.alloc(65_536)): void => {
  const write = () => {
    while (socket.writable && socket.write(bytes));
  };
  socket.on("drain", write);
  write();
};

const RESPONSES: Record<string, (socket: TLSSocket) => void> = {
  "/file": (socket) => {
    socket.write(http(200, { "Content-Length": body.length }));
    socket.end(body);
  },
  "/chunked": (socket) => socket.end(http(200, { "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n\r\n")),
  "/close": (socket) => socket.end(http(200, { Connection: "close" }, "hello")),
  "/early": (socket) => socket.end(http(103, { Link: "</a>" }) + http(200, { "Content-Length": 5 }, "hello")),
  "/many-early": (socket) => socket.end(http(103, {}).repeat(10) + http(200, { "Content-Length": 5 }, "hello")),
  "/only-early": (socket) => flood(socket, http(103, { Link: "</a>" }).repeat(500)),
  "/switch": (socket) => socket.write(http(101, { Upgrade: "websocket", Connection: "Upgrade" })),
  "/switch-close": (socket) => socket.end(http(101, { Upgrade: "websocket", Connection: "Upgrade" })),
  "/switch-bare": (socket) => socket.write(http(101, {})),
  "/head-reset": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nX: ");
    socket.resetAndDestroy();
  },
  "/close-empty": (socket) => socket.end(http(200, { Connection: "close" })),
  "/open": (socket) => socket.write(http(200, { Connection: "close" }, "hello")),
  "/open-reset": (socket) => {
    socket.write(http(200, { Connection: "close" }, "hello"));
    setTimeout(() => socket.resetAndDestroy(), 50);
  },
  "/no-body": (socket) => socket.write(http(200, { "Content-Length": 50 })),
  "/extensions": (socket) => {
    socket.write(http(200, { "Transfer-Encoding": "chunked" }, "5;"));
    flood(socket);
  },
  "/trailers": (socket) => {
    socket.write(http(200, { "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n"));
    flood(socket, `X: ${"x".repeat(1000)}\r\n`.repeat(60));
  },
  "/large-declared": (socket) => socket.end(http(200, { "Content-Length": MAX_BYTES + 1 })),
  "/large": (socket) => {
    socket.write(http(200, {}));
    flood(socket);
  },
  "/short": (socket) => socket.end(http(200, { "Content-Length": 50 }, "hello")),
  "/short-chunk": (socket) => socket.end(http(200, { "Transfer-Encoding": "chunked" }, "50\r\nhello")),
  "/long": (socket) => socket.end(http(200, { "Content-Length": 3 }, "hello")),
  "/both-lengths": (socket) =>
    socket.end(http(200, { "Content-Length": 3, "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n\r\n")),
  "/empty": (socket) => socket.end(http(200, { "Content-Length": 0 })),
  "/gzip": (socket) => socket.end(http(200, { "Content-Encoding": "gzip", "Content-Length": 5 }, "hello")),
  "/zstd": (socket) => socket.end(http(200, { "Content-Encoding": "identity, zstd", "Content-Length": 5 }, "hello")),
  "/garbage": (socket) => socket.end(`${SECRET}\r\n\r\n`),
  "/headers": (socket) => socket.end(http(200, { [SECRET]: "x".repeat(3_000_000) })),
  "/nothing": () => {},
  "/hang-up": (socket) => socket.destroy(),
  "/slow-head": (socket) => socket.write("HTTP/1.1 200 OK\r\nX: "),
  "/slow": (socket) => {
    socket.write(http(200, { "Content-Length": 50 }));
    const timer = setInterval(() => socket.write("x"), 20);
    socket.on("close", () => clearInterval(timer));
  },
  "/secret": (socket) => socket.end(http(404, { "Content-Length": SECRET.length, Server: SECRET }, SECRET)),
};

const respond = (path: string, socket: TLSSocket): void => {
  const [, status] = /^\/status\/(\d+)$/.exec(path) ?? [];
  const [, hops, target] = /^\/redirect\/(\d+)(\/.*)$/.exec(path) ?? [];
  if (status !== undefined) socket.end(http(Number(status), { "Content-Length": 0 }));
  else if (path === "/loop") socket.end(http(302, { Location: "/loop", "Content-Length": 0 }));
  else if (path.startsWith("/as/")) {
    socket.end(http(Number(path.slice(4)), { Location: "/chunked", "Content-Length": 0 }));
  } else if (path.startsWith("/to?")) {
    socket.end(http(302, { Location: decodeURIComponent(path.slice(4)), "Content-Length": 0 }));
  } else if (hops !== undefined && target !== undefined) {
    const next = hops === "1" ? target : `/redirect/${Number(hops) - 1}${target}`;
    socket.end(http(307, { Location: next, "Content-Length": 0 }));
  } else RESPONSES[path]?.(socket);
};

const server = await fixture(startServer(respond));

/** Fetches a path of the server. Checks that a file exists exactly when the outcome is `fetched`. */
const fetchPath = async (path: string, options: Partial<FetchOptions> = {}) => {
  files += 1;
  const to = join(folder, String(files));
  const url = path.startsWith("/") ? `https://files.example.com:${server.port}${path}` : path;
  const outcome = await fetchRemote(url, { path: to, maxBytes: MAX_BYTES, network: server.network, ...options });
  expect(await readdir(folder)).toEqual(outcome.kind === "fetched" ? [String(files)] : []);
  const content = outcome.kind === "fetched" ? await readFile(to) : null;
  if (content !== null) expect((await stat(to)).mode & 0o777).toBe(0o600);
  await rm(to, { force: true });
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
  return { outcome, content };
};

describe("the fetcher", () => {
  test("a file, fetched: written, with its size and hash", async () => {
    const { outcome, content } = await fetchPath("/file");
    const sha256 = createHash("sha256").update(body).digest("hex");
    expect(outcome).toEqual({ kind: "fetched", sizeBytes: MAX_BYTES, sha256 });
    expect(content).toEqual(body);
    const head = server.requests.at(-1) ?? "";
    expect(head).toStartWith("GET /file HTTP/1.1\r\n");
    expect(head).toMatch(/^Accept-Encoding: identity\r$/im);
    expect(head).not.toMatch(/^(Cookie|Authorization|Referer):/im);
  });

  test.each(["/chunked", "/close", "/early", "/many-early", "/redirect/1/chunked", "/redirect/3/chunked"])(
    "a response, %s: fetched",
    async (path) => {
      const { outcome, content } = await fetchPath(path);
      expect([outcome.kind, String(content)]).toEqual(["fetched", "hello"]);
    },
  );

  test.each([
    ["/redirect/4/chunked", "refused", "too_many_redirects"],
    ["/loop", "refused", "too_many_redirects"],
    ["/large-declared", "refused", "too_large"],
    ["/large", "refused", "too_large"],
    ["/empty", "refused", "empty"],
    ["/gzip", "refused", "encoding_not_allowed"],
    ["/zstd", "refused", "encoding_not_allowed"],
    ["/garbage", "refused", "invalid_response"],
    ["/headers", "refused", "invalid_response"],
    ["/both-lengths", "refused", "invalid_response"],
    ["/only-early", "refused", "invalid_response"],
    ["/switch", "refused", "unexpected_status"],
    ["/switch-close", "refused", "unexpected_status"],
    ["/switch-bare", "refused", "unexpected_status"],
    ["/redirect/1/switch", "refused", "unexpected_status"],
    ["/extensions", "unavailable", "connection_lost"],
    ["/trailers", "unavailable", "connection_lost"],
    ["/close-empty", "refused", "empty"],
    ["/head-reset", "unavailable", "connection_failed"],
    ["/open-reset", "unavailable", "connection_lost"],
    ["/secret", "refused", "unexpected_status"],
    ["/status/204", "refused", "unexpected_status"],
    ["/status/206", "refused", "unexpected_status"],
    ["/status/304", "refused", "unexpected_status"],
    ["/status/302", "refused", "unexpected_status"],
    ["/status/403", "refused", "unexpected_status"],
    ["/status/408", "unavailable", "unexpected_status"],
    ["/status/425", "unavailable", "unexpected_status"],
    ["/status/429", "unavailable", "unexpected_status"],
    ["/status/503", "unavailable", "unexpected_status"],
    ["/short", "unavailable", "connection_lost"],
    ["/short-chunk", "unavailable", "connection_lost"],
    ["/hang-up", "unavailable", "connection_failed"],
    ["/to?http://files.example.com/", "refused", "https_required"],
    ["/to?file:///etc/passwd", "refused", "https_required"],
    ["/to?//user@files.example.com/", "refused", "credentials_not_allowed"],
    ["/to?https://files.example.com/", "refused", "port_not_allowed"],
    ["/to?https://localhost/", "refused", "port_not_allowed"],
    ["/to?https://%5B", "refused", "invalid_url"],
  ])("a response, %s: %s, %s", async (path, kind, code) => {
    const { outcome } = await fetchPath(path);
    expect(outcome).toMatchObject({ kind, code } as never);
  });

  test.each([301, 302, 303, 307, 308])("a redirect with the status %i: followed", async (status) => {
    const { outcome, content } = await fetchPath(`/as/${status}`);
    expect([outcome.kind, String(content)]).toEqual(["fetched", "hello"]);
  });

  test("a response, longer than declared: only the declared length is kept", async () => {
    const { outcome, content } = await fetchPath("/long");
    // Bytes after the end do not belong to the response.
    if (outcome.kind === "fetched") expect(String(content)).toBe("hel");
    else expect(outcome.code).toBe("connection_lost");
  });

  test("the detail of a refusal: the limit or the status, no text of the host", async () => {
    expect((await fetchPath("/large")).outcome).toMatchObject({
      detail: "The file is larger than 0.1 MiB.",
    });
    expect((await fetchPath("/secret")).outcome).toMatchObject({
      detail: "The host responded with status 404 instead of 200.",
    });
  });

  test.each(["/nothing", "/slow", "/slow-head", "/open", "/no-body"])(
    "a response, %s: canceled after the total time",
    async (path) => {
      const { outcome } = await fetchPath(path, { totalMs: 300 });
      expect(outcome).toEqual({
        kind: "unavailable",
        code: "timed_out",
        detail: "The file did not arrive within 0.3 s.",
      });
    },
  );

  test("a host, accepting without TLS: given up", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { outcome } = await fetchPath(`https://files.example.com:${port}/`, {
      connectMs: 200,
      network: { ...server.network, ports: [port] },
    });
    expect(outcome).toMatchObject({ kind: "unavailable", code: "timed_out" });
    silent.close();
  });

  test("a resolver without response, or a closed port: given up", async () => {
    const never = { ...server.network, resolve: () => new Promise<string[]>(() => {}) };
    expect((await fetchPath("/file", { connectMs: 50, network: never })).outcome).toMatchObject({
      code: "host_not_found",
    });
    const failing = { ...server.network, resolve: () => Promise.reject(new Error(SECRET)) };
    expect((await fetchPath("/file", { network: failing })).outcome).toMatchObject({ code: "host_not_found" });
    const closed = { ...server.network, ports: [1] };
    expect((await fetchPath("https://files.example.com:1/", { network: closed })).outcome).toMatchObject({
      kind: "unavailable",
      code: "connection_failed",
    });
  });

  test("a fetch, canceled before its start, at the look-up or in the body: ends", async () => {
    const canceled = { kind: "unavailable", code: "canceled" };
    expect((await fetchPath("/file", { signal: AbortSignal.abort() })).outcome).toMatchObject(canceled as never);
    const never = { ...server.network, resolve: () => new Promise<string[]>(() => {}) };
    const later = AbortSignal.timeout(50);
    expect((await fetchPath("/file", { signal: later, network: never })).outcome).toMatchObject(canceled as never);
    for (const path of ["/slow", "/open", "/no-body"]) {
      const outcome = (await fetchPath(path, { signal: AbortSignal.timeout(200) })).outcome;
      expect(outcome).toMatchObject(canceled as never);
    }
  });

  test.each(["/nothing", "/slow-head", "/switch", "/only-early"])(
    "%s: no file is open before the body begins",
    async (path) => {
      const open = join(folder, "open");
      const fetched = fetchRemote(`https://files.example.com:${server.port}${path}`, {
        path: open,
        maxBytes: MAX_BYTES,
        network: server.network,
        totalMs: 500,
      });
      let [exists, isOver] = [false, false];
      const ended = fetched.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        exists ||= existsSync(open);
        await Bun.sleep(5);
      }
      await ended;
      expect(exists).toBe(false);
    },
  );

  test("a certificate, of another name or authority: refused", async () => {
    const refused = { kind: "refused", code: "certificate_not_valid" };
    const url = `https://evil.example.org:${server.port}/file`;
    expect((await fetchPath(url)).outcome).toMatchObject(refused as never);
    const { ca: _, ...network } = server.network;
    expect((await fetchPath("/file", { network })).outcome).toMatchObject(refused as never);
  });

  test("an existing file, as the target: not replaced", async () => {
    const path = join(folder, "existing");
    await writeFile(path, "x");
    const url = `https://files.example.com:${server.port}/file`;
    await expect(fetchRemote(url, { path, maxBytes: MAX_BYTES, network: server.network })).rejects.toThrow("EEXIST");
    expect((await stat(path)).size).toBe(1);
    await rm(path);
  });
});
