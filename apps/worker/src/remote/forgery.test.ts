/** Server-side request forgery: a listener on loopback counts connections, and none arrives. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { NOT_PUBLIC_HOSTS as HOSTS, NOT_PUBLIC } from "./address.testing.ts";
import { isPublicAddress } from "./address.ts";
import { fetchRemote } from "./fetch.ts";
import type { Network } from "./request.ts";
import { http, startServer } from "./server.testing.ts";

/** The target of the server's redirect. */
let location = "";
let files = 0;
const folder = await fileFolder();
const server = await fixture(
  startServer((_, socket) => socket.end(http(302, { Location: location, "Content-Length": 0 }))),
);

const fetchUrl = async (url: string, network: Partial<Network> = {}) => {
  files += 1;
  const options = { path: join(folder, String(files)), maxBytes: 1000, network: { ...server.network, ...network } };
  const outcome = await fetchRemote(url, options);
  return outcome.kind === "fetched" ? outcome.kind : outcome.code;
};

/** The service's own check of addresses. */
const strict = { isAllowed: isPublicAddress };

describe("requests to hosts that are not public", () => {
  test("the listener, with the checks of addresses off: counts a connection", async () => {
    location = `https://127.0.0.1:${server.port}/`;
    expect(await fetchUrl(`https://files.example.com:${server.port}/`)).toBe("ip_address_not_allowed");
    expect(server.connections()).toBe(1);
  });

  test.each(HOSTS)("the host %s, requested: no connection", async (host) => {
    const before = server.connections();
    const code = await fetchUrl(`https://${host}:${server.port}/`, strict);
    expect(["ip_address_not_allowed", "host_not_public", "invalid_url"]).toContain(code);
    expect(server.connections()).toBe(before);
  });

  test("the tables, of hosts and addresses: at least 60 each", () => {
    expect(new Set(HOSTS).size).toBeGreaterThanOrEqual(60);
    expect(new Set(NOT_PUBLIC).size).toBeGreaterThanOrEqual(60);
  });

  test.each(NOT_PUBLIC)("a name, resolving to %s alone or beside a public address: no connection", async (address) => {
    const before = server.connections();
    const url = `https://files.example.com:${server.port}/`;
    for (const addresses of [[address], ["8.8.8.8", address], [address, "2606:4700:4700::1111"]]) {
      expect(await fetchUrl(url, { ...strict, resolve: async () => addresses })).toBe("host_not_public");
    }
    expect(server.connections()).toBe(before);
  });

  test.each(HOSTS)("a redirect, to %s: no connection", async (host) => {
    const before = server.connections();
    location = `https://${host}:${server.port}/`;
    // A header is Latin-1. A host with other characters would arrive garbled, so it is percent-encoded here.
    if (/[^\x20-\x7e]/.test(host)) location = `https://${encodeURIComponent(host)}:${server.port}/`;
    const code = await fetchUrl(`https://files.example.com:${server.port}/`);
    expect(["ip_address_not_allowed", "host_not_public", "invalid_url"]).toContain(code);
    // The only connection is the redirected one.
    expect(server.connections()).toBe(before + 1);
  });

  test("a redirect, to a name with a private address: no connection", async () => {
    const before = server.connections();
    location = `https://other.example.com:${server.port}/`;
    const code = await fetchUrl(`https://files.example.com:${server.port}/`, {
      resolve: async (host) => [host === "files.example.com" ? "127.0.0.1" : "127.0.0.2"],
      isAllowed: (address) => address === "127.0.0.1",
    });
    expect([code, server.connections()]).toEqual(["host_not_public", before + 1]);
  });
});

describe("DNS rebinding", () => {
  test("a name, with changing addresses: resolved once, connected to the checked one", async () => {
    location = "http://files.example.com/";
    const before = server.connections();
    const resolved: string[] = [];
    // Only the first address is allowed. Each later one would be another machine.
    const code = await fetchUrl(`https://files.example.com:${server.port}/`, {
      resolve: async (host) => {
        resolved.push(host);
        return [resolved.length === 1 ? "127.0.0.1" : "127.0.0.2"];
      },
      isAllowed: (address) => address === "127.0.0.1",
    });
    expect([code, resolved, server.connections()]).toEqual(["https_required", ["files.example.com"], before + 1]);
  });

  test("a redirect, to the same name with another address: checked again", async () => {
    location = "/again";
    const before = server.connections();
    let answers = 0;
    const code = await fetchUrl(`https://files.example.com:${server.port}/`, {
      resolve: async () => {
        answers += 1;
        return [answers === 1 ? "127.0.0.1" : "169.254.169.254"];
      },
      isAllowed: (address) => address === "127.0.0.1",
    });
    expect([code, answers, server.connections()]).toEqual(["host_not_public", 2, before + 1]);
  });

  test("a certificate, of another name at an allowed address: refused", async () => {
    const url = `https://attacker.example.net:${server.port}/`;
    expect(await fetchUrl(url)).toBe("certificate_not_valid");
  });
});
