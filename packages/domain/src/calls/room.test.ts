import { expect, test } from "bun:test";
import type { SessionId } from "../id.ts";
import { avatarToken, personToken, roomName, roomPrefix } from "./room.ts";

test("the name of a room: begins only with the prefix of its instance", () => {
  const room = roomName("k3j9", "ses_01kahr4mz1e1stqa0d0k1m2n3p" as SessionId);
  expect(room).toBe("rta-k3j9-ses_01kahr4mz1e1stqa0d0k1m2n3p");
  expect(["k3j9", "k3j", "k3j99"].map((instance) => room.startsWith(roomPrefix(instance)))).toEqual([
    true,
    false,
    false,
  ]);
});

test("a token: joins one room, and cannot create or administer rooms; the token of the avatar is valid as long as its call", () => {
  expect(personToken("r").ttlSeconds).toBe(120);
  expect(avatarToken("r", "avatar", 60).ttlSeconds).toBe(180);
  for (const token of [personToken("r"), avatarToken("r", "avatar", 60)]) {
    expect(token.video).toMatchObject({ roomJoin: true, room: "r" });
    for (const right of ["roomCreate", "roomAdmin", "roomList", "roomRecord", "ingressAdmin", "hidden"]) {
      expect(token.video).not.toHaveProperty(right);
    }
    expect(token).not.toHaveProperty("roomConfig");
  }
});

test("the token of the person: permits a microphone, but no change of attributes", () => {
  const { kind, video } = personToken("r");
  expect(kind).toBe("standard");
  expect(video).toMatchObject({ canPublishSources: ["microphone"], canUpdateOwnMetadata: false });
});

test("the token of the avatar: an agent whose attributes state whether it has a picture", () => {
  expect(avatarToken("r", "avatar", 60)).toMatchObject({ kind: "agent", attributes: { "rta.media_mode": "video" } });
  expect(avatarToken("r", "voice", 60).attributes["rta.media_mode"]).toBe("voice");
});
