import { expect, test } from "bun:test";
import { readPublicUrl } from "./public-url.ts";

test.each([
  [undefined, null],
  ["https://avatars.example.com", "https://avatars.example.com"],
  ["https://avatars.example.com/", "https://avatars.example.com"],
  ["https://AVATARS.example.com:443", "https://avatars.example.com"],
  ["https://avatars.example.com:8443", "https://avatars.example.com:8443"],
  ["https://localhost:3000", "https://localhost:3000"],
  ["http://localhost:3000", "http://localhost:3000"],
])("PUBLIC_URL, %p: %p", (text, expected) => {
  expect(readPublicUrl({ PUBLIC_URL: text })).toBe(expected);
});

test.each([
  "http://avatars.example.com",
  "http://127.0.0.1:3000",
  "http://localhost.evil.test",
  "https://127.0.0.1",
  "https://[::1]:3000",
  "https://0x7f.1",
  "https://a.example.com/path",
  "https://a.example.com?x",
  "https://user@a.example.com",
  "ftp://a.example.com",
  "avatars.example.com",
])("PUBLIC_URL, %p: refused", (text) => {
  expect(() => readPublicUrl({ PUBLIC_URL: text })).toThrow("PUBLIC_URL must be");
});
