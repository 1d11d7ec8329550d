import { describe, expect, test } from "bun:test";
import {
  hasLoopback,
  isOwnServer,
  openRoomToken,
  readHosts,
  readRoomToken,
  readRoomUrl,
  roomTokenKey,
  sealRoomToken,
  tokenDigest,
} from "./brought-room.ts";

describe("the hosts that may be reached", () => {
  test("a list: names, ends of names and ports, in lower case; any other text: null", () => {
    expect(readHosts("*.livekit.cloud, LiveKit.example.com:7443,10.0.0.5,localhost:7880")).toEqual([
      ...["*.livekit.cloud", "livekit.example.com:7443", "10.0.0.5", "localhost:7880"],
    ]);
    for (const text of [
      "*",
      "*.",
      "a b",
      "wss://x",
      "x/y",
      "x:0",
      "x:port",
      "a,,b",
      "*x.com",
      "a.*.b",
      "",
      "x.",
      "-x",
      "[::1]",
    ]) {
      expect(readHosts(text)).toBeNull();
    }
  });

  test("a host of this machine, in a list: found", () => {
    expect(hasLoopback(["*.livekit.cloud", "localhost:7880"])).toBe(true);
    for (const host of ["127.0.0.1", "127.0.0.2:7880", "0.0.0.0", "a.localhost", "*.localhost"]) {
      expect(hasLoopback([host])).toBe(true);
    }
    expect(hasLoopback(["localhost.example.com", "10.0.0.5"])).toBe(false);
  });

  const hosts = ["*.livekit.cloud", "livekit.example.com:7443", "10.0.0.5", "localhost:7880"];
  test.each([
    ["wss://a.livekit.cloud", "wss://a.livekit.cloud"],
    ["WSS://A.LiveKit.Cloud:443/", "wss://a.livekit.cloud"],
    ["wss://a.b.livekit.cloud", "wss://a.b.livekit.cloud"],
    ["wss://livekit.example.com:7443", "wss://livekit.example.com:7443"],
    ["wss://10.0.0.5", "wss://10.0.0.5"],
    ["ws://localhost:7880", "ws://localhost:7880"],
    ["wss://own.example", "wss://own.example"],
  ])("the URL %s: read as %s", (text, expected) => {
    expect(readRoomUrl(text, { hosts, ownUrl: "wss://own.example" })).toBe(expected);
  });

  test.each([
    ...["wss://livekit.example.com", "ws://livekit.example.com:7443", "ws://10.0.0.5", "ws://a.livekit.cloud"],
    ...[
      "ws://localhost:7881",
      "ws://127.0.0.1:7880",
      "ws://own.example",
      "wss://own.example:444",
      "wss://sub.own.example",
    ],
    ...["wss://.livekit.cloud", "wss://a..livekit.cloud", "wss://a.livekit.cloud.", "wss://..livekit.cloud"],
    ...["wss://-a.livekit.cloud", "wss://a-.livekit.cloud", "wss://a.-.livekit.cloud"],
    ...[`wss://${"a".repeat(64)}.livekit.cloud`, `wss://${"a.".repeat(127)}livekit.cloud`],
  ])("%s: refused", (text) => {
    expect(readRoomUrl(text, { hosts, ownUrl: "wss://own.example" })).toMatchObject({ code: "unsupported_url" });
  });

  test("the server of the service: recognized with its scheme and port, and this machine by any name", () => {
    const ownUrl = "ws://127.0.0.1:7880";
    for (const text of ["ws://127.0.0.1:7880", "ws://localhost:7880", "ws://[::1]:7880", "ws://0x7f.1:7880"]) {
      const url = readRoomUrl(text, { hosts: [], ownUrl });
      expect(isOwnServer(String(url), ownUrl)).toBe(true);
    }
    for (const text of ["wss://127.0.0.1:7880", "ws://127.0.0.1:7881", "ws://127.0.0.2:7880", "ws://127.0.0.1"]) {
      expect(readRoomUrl(text, { hosts: [], ownUrl })).toMatchObject({ code: "unsupported_url" });
    }
  });
});

describe("a token", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    ...{ exp: now.getTime() / 1000 + 61, sub: "avatar", kind: "agent", video: { roomJoin: true, room: "r" } },
    attributes: { "lk.publish_on_behalf": "agent" },
  };
  const tokenOf = (changes: object): string => `${encode({})}.${encode({ ...claims, ...changes })}.x`;

  test("of the plugin, whose library writes all grants or only the requested ones: read", () => {
    const all = { roomCreate: false, roomList: null, canPublish: true, canPublishData: true, canPublishSources: [] };
    for (const video of [claims.video, { ...claims.video, ...all }]) {
      expect(readRoomToken(tokenOf({ video }), now)).toEqual({ room: "r", agentIdentity: "agent" });
    }
    const canPublishSources = ["camera", "microphone"];
    expect(readRoomToken(tokenOf({ video: { ...claims.video, canPublishSources } }), now).room).toBe("r");
  });

  test("without any claim: each missing claim is named", () => {
    let errors: readonly { detail: string }[] = [];
    try {
      readRoomToken(`${encode({})}.${encode({})}.x`, now);
    } catch (error) {
      errors = (error as { extras: { errors: { detail: string }[] } }).extras.errors;
    }
    expect(errors.map(({ detail }) => /`.*`/.exec(detail)?.[0])).toEqual([
      ...["`kind`", "`sub`", "`video.roomJoin`", "`video.room`", "`attributes` has no `lk.publish_on_behalf`", "`exp`"],
    ]);
  });

  test.each<[string, boolean, object]>([
    ["ends in a minute", false, { exp: now.getTime() / 1000 + 60 }],
    ["ends a second later", true, { exp: now.getTime() / 1000 + 61 }],
    ["has ended", false, { exp: now.getTime() / 1000 - 1 }],
    ["begins in a minute, within the difference of clocks", true, { nbf: now.getTime() / 1000 + 60 }],
    ["begins a second later", false, { nbf: now.getTime() / 1000 + 61 }],
    ["began long ago", true, { nbf: 0 }],
    ["does not say when it begins", true, { nbf: null }],
    ["begins in text", false, { nbf: "0" }],
    ["ends in text", false, { exp: `${now.getTime() / 1000 + 600}` }],
  ])("that %s, accepted: %p", (_, isAccepted, changes) => {
    const read = () => readRoomToken(tokenOf(changes), now).room;
    if (isAccepted) expect(read()).toBe("r");
    else expect(read).toThrow("validation_failed");
  });

  test("for an avatar that does not publish for an agent: refused", () => {
    let errors: unknown;
    try {
      readRoomToken(tokenOf({ sub: "agent" }), now);
    } catch (error) {
      errors = (error as { extras: { errors: unknown } }).extras.errors;
    }
    expect(errors).toEqual([{ pointer: "#/livekit_token", code: "not_allowed", detail: expect.any(String) }]);
  });

  test("sealed for a call: opened only for this call with the same key", () => {
    const secret = { reveal: () => "a secret of the service" };
    const key = roomTokenKey(secret);
    const call = { tenantId: "ten_01h455vb4pex5vsknk084sn02q", sessionId: "ses_01h455vb4pex5vsknk084sn02q" } as const;
    const sealed = sealRoomToken("the token", call, key, (length) => new Uint8Array(length));
    expect(Buffer.from(sealed).toString()).not.toContain("token");
    expect(openRoomToken(sealed, call, key)).toBe("the token");
    expect(openRoomToken(sealed, { ...call, sessionId: "ses_01h455vb4pex5vsknk084sn02r" }, key)).toBeNull();
    expect(openRoomToken(sealed, call, roomTokenKey({ reveal: () => "another" }))).toBeNull();
    expect(openRoomToken(sealed.slice(0, 20), call, key)).toBeNull();
  });

  test("its digest: 32 bytes, different for each key", () => {
    expect(tokenDigest("t", "key_1")).toEqual(tokenDigest("t", "key_1"));
    expect(tokenDigest("t", "key_1")).toHaveLength(32);
    expect(tokenDigest("t", "key_1")).not.toEqual(tokenDigest("t", "key_2"));
  });
});
