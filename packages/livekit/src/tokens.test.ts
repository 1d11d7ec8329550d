/** The tokens of a call, claim by claim. rooms.test.ts tests them at a server. */
import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { avatarToken, personToken } from "@realtime-avatar/domain/calls/room";
import { Secret } from "@realtime-avatar/storage/secret";
import { mintToken, probeToken } from "./tokens.ts";

const SECRET = "s".repeat(32);
const config = { url: "ws://127.0.0.1:1", apiKey: "APIkey", apiSecret: new Secret(SECRET) };

/** The claims of a token with a valid signature, without its times, and the seconds for which it is valid. */
const claimsOf = (token: string) => {
  const [head = "", body = "", signature] = token.split(".");
  expect(signature).toBe(createHmac("sha256", SECRET).update(`${head}.${body}`).digest("base64url"));
  const { nbf, exp, iat: _, ...claims } = JSON.parse(Buffer.from(body, "base64url").toString());
  return { claims, seconds: Math.round(exp - (nbf ?? Date.now() / 1000)) };
};

test("the token of a person: one room, only the microphone, valid for the time to join", async () => {
  const asked = personToken("rta-1");
  const { claims, seconds } = claimsOf(await mintToken(config, asked));
  expect(claims).toEqual({
    iss: "APIkey",
    sub: asked.identity,
    kind: "standard",
    attributes: asked.attributes,
    video: { ...asked.video, canPublishSources: ["microphone"] },
  });
  expect(claims.video).toMatchObject({ room: "rta-1", roomJoin: true });
  for (const grant of ["roomCreate", "roomList", "roomAdmin", "roomRecord", "hidden", "canUpdateOwnMetadata"]) {
    expect([grant, claims.video[grant] ?? false]).toEqual([grant, false]);
  }
  expect(seconds).toBeWithin(asked.ttlSeconds - 1, asked.ttlSeconds + 2);
});

test("the token of the avatar: an agent in one room, valid for the requested time", async () => {
  const asked = avatarToken("rta-1", "avatar", 60);
  const { claims, seconds } = claimsOf(await mintToken(config, asked));
  expect(claims).toMatchObject({ iss: "APIkey", sub: asked.identity, kind: "agent", attributes: asked.attributes });
  expect(claims.video).toEqual(asked.video);
  expect(claims.video.canPublishSources).toBeUndefined();
  expect(seconds).toBeWithin(asked.ttlSeconds - 1, asked.ttlSeconds + 2);
});

test("the token that asks about a room: cannot see, send or change anything in the room, valid for ten seconds", async () => {
  const { claims, seconds } = claimsOf(await probeToken(config, "rta-probe"));
  const none = { canSubscribe: false, canPublish: false, canPublishData: false, canUpdateOwnMetadata: false };
  expect(claims.video).toEqual({ roomJoin: true, room: "rta-probe", ...none });
  expect(seconds).toBeWithin(9, 12);
});
