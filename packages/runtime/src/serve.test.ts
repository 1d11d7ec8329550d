import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { normalPath, serve, serveAll } from "./serve.ts";

describe("normalPath", () => {
  test.each([
    ["/", [""], "/"],
    ["/a/", ["a", ""], "/a/"],
    ["/api/v1/avatars?limit=1", ["api", "v1", "avatars"], "/api/v1/avatars"],
    ["/a~b!$&'()*+,;=:@-._", ["a~b!$&'()*+,;=:@-._"], "/a~b!$&'()*+,;=:@-._"],
  ])("a target, %s: in its normal form", (target, segments, path) => {
    expect(normalPath(target, segments)).toBe(path);
  });

  test.each([
    ["a percent-escape", "/%61", ["a"]],
    ["a resolved dot segment", "/b", ["a", "..", "b"]],
    ["a dot segment", "/a/..", ["a", ".."]],
    ["an empty segment", "//a", ["", "a"]],
    ["two trailing slashes", "/a//", ["a", "", ""]],
    ["a trailing slash after a percent-escape", "/%61/", ["a", ""]],
  ])("a target, with %s: not in its normal form", (_, target, segments) => {
    expect(normalPath(target, segments)).toBeNull();
  });
});

/** Bun closes a connection that was idle for a second within this time. */
const IDLE_CHECK_MS = 5000;

describe("serve", () => {
  let server: ReturnType<typeof serve>;
  const address = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
  const timeouts = { keepAliveMs: 1000, requestMs: 1000 };
  beforeAll(() => {
    server = serve(address, timeouts, ({ url }) => {
      if (url.endsWith("/fail")) throw new Error("failure");
      return new Response(new URL(url).pathname);
    });
  });
  afterAll(() => server.stop(true));

  /** Sends a request line and a Host unchanged, and returns the response. */
  const send = (target: string, host = "localhost"): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = "";
      const socket = connect(server.port ?? 0, "127.0.0.1", () =>
        socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      );
      socket.on("data", (part) => (text += part)).on("end", () => resolve(text));
      socket.on("error", reject);
    });

  test.each([
    ["/", "/"],
    ["/a/b?c=%64", "/a/b"],
    ["/a/../b", "//"],
    ["/%61", "//"],
    ["/a\\b", "//"],
    [`/${"a/".repeat(20)}a`, "//"],
  ])("a target, %s: routed as %s", async (target, path) => {
    expect((await send(target)).split("\r\n\r\n")[1]).toBe(path);
  });

  test("a request, without a host: an absolute URL", async () => {
    expect(await send("/a", "")).toEndWith("\r\n\r\n/a");
  });

  test("an exception, without a handler: a bare 500", async () => {
    expect(await send("/fail")).toStartWith("HTTP/1.1 500 ");
  });

  test("a response that takes longer than a connection may be idle, and less than a request may take: sent", async () => {
    const slow = serve(address, { keepAliveMs: 1000, requestMs: 60_000 }, async () => {
      await Bun.sleep(IDLE_CHECK_MS);
      return new Response("late");
    });
    expect(await (await fetch(slow.url)).text()).toBe("late");
    await slow.stop(true);
  });

  test("a port in use: the error names the variable to set", () => {
    const port = server.port ?? 0;
    const message = `Cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set PORT to another port, or HOST.`;
    expect(() => serve({ ...address, port }, timeouts, () => new Response())).toThrow(message);
  });
});

// Only on Linux does a machine have all addresses of 127.0.0.0/8.
describe.skipIf(process.platform !== "linux")("serveAll", () => {
  const [first, second] = ["127.0.0.1", "127.0.0.2"];
  const timeouts = { keepAliveMs: 1000, requestMs: 1000 };
  const serveAt = (hosts: string[], port: number) =>
    serveAll({ hosts, port, portVariable: "PORT" }, timeouts, () => new Response("served"));
  const statusAt = (host: string, port: number): Promise<number | null> =>
    fetch(`http://${host}:${port}/`).then(
      ({ status }) => status,
      () => null,
    );

  test("two addresses and any free port: both serve at one port", async () => {
    const servers = serveAt([first, second], 0);
    const ports = servers.map(({ port = 0 }) => port);
    const [port = 0] = ports;
    expect([new Set(ports).size, await statusAt(first, port), await statusAt(second, port)]).toEqual([1, 200, 200]);
    await Promise.all(servers.map((server) => server.stop(true)));
  });

  test("a port that is in use at the second address: refused; the first address is free again", async () => {
    const port = await freePort();
    const other = serve({ host: second, port, portVariable: "PORT" }, timeouts, () => new Response());
    expect(() => serveAt([first, second], port)).toThrow(`Cannot listen on ${second}:${port} (EADDRINUSE)`);
    expect([await statusAt(first, port), await statusAt(second, port)]).toEqual([null, 200]);
    await other.stop(true);
  });

  test("any free port, and an address that the machine does not have: refused at once", () => {
    expect(() => serveAt([first, "192.0.2.1"], 0)).toThrow("Cannot listen on 192.0.2.1:");
  });
});
