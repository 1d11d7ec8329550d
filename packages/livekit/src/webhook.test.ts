import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { personToken } from "@realtime-avatar/domain/calls/room";
import { Secret } from "@realtime-avatar/storage/secret";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { until } from "@realtime-avatar/testing/until";
import { AccessToken } from "livekit-server-sdk";
import type { LivekitConfig } from "./config.ts";
import { createRooms } from "./rooms.ts";
import { mintToken } from "./tokens.ts";
import { readEvent } from "./webhook.ts";

setDefaultTimeout(60_000);

const SECRET = "s".repeat(32);
const config: LivekitConfig = { url: "ws://127.0.0.1:1", apiKey: "APIkey", apiSecret: new Secret(SECRET) };
const EVENT = JSON.stringify({ event: "room_finished", room: { name: "rta-1", newField: {} }, other: [1] });

const sign = (body: string, { key = "APIkey", secret = SECRET, ttl = 60 } = {}): Promise<string> => {
  const token = new AccessToken(key, secret, { ttl });
  token.sha256 = createHash("sha256").update(body).digest("base64");
  return token.toJwt();
};

test("an event with its signature: names its room, with any other fields", async () => {
  expect(await readEvent(config, await sign(EVENT), async () => EVENT)).toEqual({ roomName: "rta-1" });
});

test.each([JSON.stringify({ event: "egress_ended" }), JSON.stringify({ room: { name: 1 } }), "null", "no JSON", ""])(
  "an event with its signature, without a room: %p: no room",
  async (body) => {
    expect(await readEvent(config, await sign(body), async () => body)).toEqual({ roomName: null });
  },
);

/** A signature for the event with other claims, which the library cannot create. */
const signWith = (claims: object): string => {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const sha256 = createHash("sha256").update(EVENT).digest("base64");
  const text = `${encode({ alg: "HS256" })}.${encode({ iss: "APIkey", sha256, ...claims })}`;
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
};
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

test("an event whose signature is valid from two seconds later on: accepted, because clocks differ", async () => {
  const signature = signWith({ nbf: inSeconds(2), exp: inSeconds(60) });
  expect(await readEvent(config, signature, async () => EVENT)).toEqual({ roomName: "rta-1" });
});

test.each([
  [
    "a signature that is valid from a minute later on",
    async () => signWith({ nbf: inSeconds(60), exp: inSeconds(120) }),
  ],
  ["a signature that expired a minute ago", async () => signWith({ nbf: inSeconds(-120), exp: inSeconds(-60) })],
  ["no signature", async () => null],
  ["an empty signature", async () => ""],
  ["the signature of another body", () => sign(`${EVENT} `)],
  ["another secret", () => sign(EVENT, { secret: "x".repeat(32) })],
  ["another key", () => sign(EVENT, { key: "APIother" })],
  ["a signature that has expired", () => sign(EVENT, { ttl: -60 })],
  ["the token of a participant", () => mintToken(config, personToken("rta-1"))],
  ["no token", async () => "eyJhbGciOiJub25lIn0.e30."],
])("an event with %s: null", async (_, signature) => {
  expect(await readEvent(config, await signature(), async () => EVENT)).toBeNull();
});

const binary = await livekitBinary();
test.skipIf(binary.kind === "missing")(
  `the webhooks of the real server: signed, and name the room${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`,
  async () => {
    const received: { body: string; authorization: string | null }[] = [];
    const hook = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        received.push({ body: await request.text(), authorization: request.headers.get("authorization") });
        return new Response(null);
      },
    });
    const server = await startLivekit(binary.kind === "found" ? binary.path : "", { webhookUrl: hook.url.href });
    try {
      const own = { ...server, apiSecret: new Secret(server.apiSecret) };
      const rooms = createRooms(own);
      await rooms.create("rta-hook");
      await rooms.delete("rta-hook");
      await until(() => received.length >= 2);
      for (const { body, authorization } of received) {
        expect(await readEvent(own, authorization, async () => body)).toEqual({ roomName: "rta-hook" });
        expect(await readEvent(config, authorization, async () => body)).toBeNull();
      }
    } finally {
      await server.stop();
      await hook.stop(true);
    }
  },
);
