/** Server-side request forgery by the URL of an endpoint: a listener on loopback counts connections, and none arrives. */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { webhookUrlErrors } from "@realtime-avatar/domain/webhooks/url";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { NOT_PUBLIC, NOT_PUBLIC_HOSTS } from "../remote/address.testing.ts";
import { isPublicAddress } from "../remote/address.ts";
import { createConnections } from "../remote/connections.ts";
import { createPoster, type Message } from "../remote/post.ts";
import type { Network } from "../remote/request.ts";
import { seedSealedEndpoint, settled, startReceiver, startTestSender } from "./world.testing.ts";

const { db } = await fileDatabase();
const inside = await fixture(startReceiver());
const OUTSIDE = "93.184.215.14";

const { signal } = new AbortController();
const messageTo = (url: string, receiver = "whe_1"): Message => ({ receiver, url, headers: {}, body: "{}" });

/** Posts to a URL like the service, but to the port of the listener. Returns the class of the outcome. */
const postTo = async (url: string, network: Partial<Network> = {}, allowHttpLocalhost = false): Promise<string> => {
  const poster = createPoster({
    network: { ...inside.network, isAllowed: isPublicAddress, ...network },
    connectMs: 300,
    allowHttpLocalhost,
  });
  const posted = await poster.post(messageTo(url), signal);
  poster.close();
  return posted.kind === "posted" ? String(posted.status) : posted.code;
};

describe("an endpoint inside the network of the service", () => {
  test("the listener, with the checks of addresses off: counts a connection", async () => {
    expect(await postTo(`https://hooks.example.com:${inside.port}/`, { isAllowed: () => true })).toBe("204");
    expect(inside.connections()).toBe(1);
  });

  test.each(NOT_PUBLIC_HOSTS)(
    "the host %s: refused by the API and by the sender, without a connection",
    async (host) => {
      const before = inside.connections();
      expect(webhookUrlErrors(`https://${host}/`, false)).toHaveLength(1);
      const code = await postTo(`https://${host}:${inside.port}/`);
      expect(["ip_address_not_allowed", "host_not_public", "invalid_url"]).toContain(code);
      expect(inside.connections()).toBe(before);
    },
  );

  test.each(NOT_PUBLIC)("a name, resolving to %s alone or beside a public address: no connection", async (address) => {
    const before = inside.connections();
    for (const addresses of [[address], [OUTSIDE, address], [address, OUTSIDE]]) {
      const url = `https://hooks.example.com:${inside.port}/`;
      expect(await postTo(url, { resolve: async () => addresses })).toBe("host_not_public");
    }
    expect(inside.connections()).toBe(before);
  });

  test("a name, without an address or not resolved: host_not_found, without a connection", async () => {
    const before = inside.connections();
    const url = `https://hooks.example.com:${inside.port}/`;
    for (const resolve of [
      async () => [],
      () => Promise.reject(new Error("ENOTFOUND")),
      () => new Promise<never>(() => {}),
    ]) {
      expect(await postTo(url, { resolve })).toBe("host_not_found");
    }
    expect(inside.connections()).toBe(before);
  });

  test("a stored endpoint, whose name resolves to an internal address: the class, and no connection", async () => {
    const network = { ...inside.network, isAllowed: isPublicAddress };
    const sender = startTestSender(db, { network });
    const before = inside.connections();
    const caller = await seedCaller(db);
    const endpoint = await seedSealedEndpoint(db, caller, { url: `https://hooks.example.com:${inside.port}/` });
    await seedAvatar(db, caller);
    const [delivery] = await settled(db, endpoint.id);
    expect(delivery).toMatchObject({ status: "pending", attempts: [{ status: null, error: "host_not_public" }] });
    expect(JSON.stringify(delivery)).not.toContain("127.0.0.1");
    expect(sender.log.join()).not.toContain("127.0.0.1");
    await sender.stop();
    expect(inside.connections()).toBe(before);
  });
});

describe("DNS rebinding", () => {
  /** Loopback stands for a public address; 127.0.0.2 is an internal one. */
  const rebinding = (answers: string[][]) => {
    const resolved: string[] = [];
    const network: Network = {
      ...inside.network,
      isAllowed: (address) => address === "127.0.0.1",
      resolve: async (host) => {
        resolved.push(host);
        return answers[Math.min(resolved.length, answers.length) - 1] ?? [];
      },
    };
    return { network, resolved };
  };
  const url = `https://hooks.example.com:${inside.port}/`;

  test("a name that changes to an internal address between two attempts: the checked address is used, then the new one is refused", async () => {
    const { network, resolved } = rebinding([["127.0.0.1"], ["127.0.0.2"]]);
    let now = 0;
    const poster = createPoster(
      { network },
      createConnections(() => now),
    );
    const post = async () => {
      const posted = await poster.post(messageTo(url), signal);
      return posted.kind === "posted" ? posted.status : posted.code;
    };
    const before = inside.connections();
    expect([await post(), await post(), resolved.length]).toEqual([204, 204, 1]);
    expect(inside.connections()).toBe(before + 1);
    now += 31_000;
    expect([await post(), resolved.length]).toEqual(["host_not_public", 2]);
    // The kept connection is closed, because its address is no longer one of the name.
    expect([await post(), inside.connections()]).toEqual(["host_not_public", before + 1]);
    poster.close();
  });

  test("a name that gets another allowed address: the connections to the previous one are closed, and not used", async () => {
    const { network } = rebinding([["127.0.0.1"], ["127.0.0.3"]]);
    let now = 0;
    const allowing = { ...network, isAllowed: () => true };
    const connections = createConnections(() => now);
    const poster = createPoster({ network: allowing, connectMs: 500 }, connections);
    expect(await poster.post(messageTo(url), signal)).toMatchObject({ kind: "posted" });
    now += 31_000;
    // No program listens there.
    expect(await poster.post(messageTo(url), signal)).toMatchObject({ code: "connection_failed" });
    poster.close();
  });
});

describe("this machine, in development", () => {
  const local = createServer((request, response) =>
    request.resume().on("end", () => response.writeHead(200).end("ok")),
  );
  let connections = 0;
  local.on("connection", () => {
    connections += 1;
  });
  const listening = new Promise<number>((resolve) =>
    local.listen(0, "127.0.0.1", () => resolve((local.address() as AddressInfo).port)),
  );

  test.each(["http://localhost", "http://127.0.0.1", "http://127.1"])("%s, allowed: posted", async (origin) => {
    const port = await listening;
    expect(await postTo(`${origin}:${port}/hooks`, {}, true)).toBe("200");
  });

  test.each(["http://localhost", "http://127.0.0.1", "http://[::1]"])(
    "%s, not allowed: refused, no connection",
    async (origin) => {
      const [port, before] = [await listening, connections];
      expect(await postTo(`${origin}:${port}/hooks`)).toBe("https_required");
      expect(connections).toBe(before);
    },
  );

  test.each([
    "http://10.0.0.1",
    "http://169.254.169.254",
    "http://127.0.0.2",
    "http://0.0.0.0",
    "http://[::ffff:127.0.0.1]",
    "http://a.localhost",
    "http://hooks.example.com",
    "http://user@localhost",
  ])("%s, with this machine allowed: refused, no connection", async (origin) => {
    const [port, before] = [await listening, connections];
    expect(await postTo(`${origin}:${port}/hooks`, {}, true)).toBe("https_required");
    expect(connections).toBe(before);
  });

  test("the listener: closed", async () => {
    await listening;
    local.closeAllConnections();
    local.close();
  });
});
