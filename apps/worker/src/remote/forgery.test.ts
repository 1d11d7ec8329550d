/** Server-side request forgery: a listener on loopback counts connections, and none arrives. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { NOT_PUBLIC } from "./address.testing.ts";
import { isPublicAddress } from "./address.ts";
import { fetchRemote } from "./fetch.ts";
import type { Network } from "./request.ts";
import { http, startServer } from "./server.testing.ts";

/** Where the server redirects to. */
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

/** Loopback, metadata services and private addresses, in the spellings that parsers of URLs and of addresses accept. */
const HOSTS = [
  "127.0.0.1 127.1 127.0.1 127.127.127.127 0 0.0.0.0 127.0.0.1. 127.1.",
  // Decimal, octal, hexadecimal, mixed.
  "2130706433 017700000001 0x7f000001 0177.0.0.1 0177.0.0.01 0x7f.0.0.1 0x7f.1 0x7F.0x0.0x0.0x1 0177.0x0.0.1",
  "00000177.0.0.1 0X7F000001 127.0x1 0x7f.00.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.169.254",
  "169.254.43518 0xa9.254.0251.254 10.0.0.1 0x0a000001 167772161 192.168.0.1 3232235521 172.16.0.1",
  "100.100.100.200",
  // Percent-encoding, full-width and circled digits, ideographic full stops, soft hyphens, zero-width characters.
  "%31%32%37.0.0.1 127%2e0%2e0%2e1 １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 127｡0｡0｡1 127.0.0.\u00AD1",
  "127.0.0.\u200B1 0x7f.⓪.⓪.①",
  // IPv6: loopback, unspecified, mapped, compatible, NAT64, 6to4, Teredo, link-local, unique local, metadata.
  "[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1]",
  "[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1]",
  "[2002:7f00:1::] [2002:a9fe:a9fe::] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [fe80::1] [fe80::1%25lo]",
  "[fd00:ec2::254] [fc00::1] [fec0::1] [ff02::1] [::ffff:0:127.0.0.1]",
  // A public address is refused as well: only names have certificates.
  "8.8.8.8 134744072 [2001:4860:4860::8888] localhost localhost. LOCALHOST LocalHost. a.localhost ip6-localhost",
  "ⓛocalhost metadata loopback",
].flatMap((line) => line.split(" "));

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
    // A header is Latin-1: a host with other characters arrives as an unknown one, and is percent-encoded here.
    if (/[^\x20-\x7e]/.test(host)) location = `https://${encodeURIComponent(host)}:${server.port}/`;
    const code = await fetchUrl(`https://files.example.com:${server.port}/`);
    expect(["ip_address_not_allowed", "host_not_public", "invalid_url"]).toContain(code);
    // The one that was redirected.
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
    // The first answer is the only one that is allowed; each later one would be another machine.
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
