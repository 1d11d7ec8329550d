import { expect, test } from "bun:test";
import { ACCESS_SECONDS, newRecordingToken, readRecordingToken } from "./access.ts";

const secretOf = (text: string) => ({ reveal: () => text });
const secret = secretOf("a secret of the service");
const recording = {
  tenantId: "ten_01h455vb4pex5vsknk084sn02q",
  environment: "live",
  id: "rec_01h455vb4pex5vsknk084sn02q",
} as const;
const now = new Date("2026-11-20T12:00:00.900Z");
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const { token, expiresAt } = newRecordingToken(recording, secret, now);

test("a token of a recording: names it until it expires", () => {
  expect(expiresAt).toEqual(new Date("2026-11-20T13:00:00.000Z"));
  expect(readRecordingToken(token, secret, now)).toEqual(recording);
  expect(readRecordingToken(token, secret, after(ACCESS_SECONDS - 1))).toEqual(recording);
  expect(readRecordingToken(token, secret, expiresAt)).toBeNull();
});

test("a token with the signature of another service, with a change anywhere, or without text: null", () => {
  expect(readRecordingToken(token, secretOf("another secret"), now)).toBeNull();
  const others = [
    token.replace("rec_01h455vb4pex5vsknk084sn02q", "rec_01h455vb4pex5vsknk084sn02r"),
    token.replace("ten_01h455vb4pex5vsknk084sn02q", "ten_01h455vb4pex5vsknk084sn02r"),
    token.replace(".live.", ".test."),
    token.replace(/\.(\d{10})\./, (_, end) => `.${Number(end) + 1}.`),
    ...[`${token}x`, token.slice(0, -1), token.toUpperCase(), "", ".", `${token}\n`],
    token.slice(0, -43) + "A".repeat(43),
  ];
  for (const other of others) expect(readRecordingToken(other, secret, now)).toBeNull();
  const [last = ""] = token.slice(-1);
  for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
    if (character !== last) expect(readRecordingToken(token.slice(0, -1) + character, secret, now)).toBeNull();
  }
});
