import { expect, test } from "bun:test";
import { isHost } from "./host.ts";

test.each(["a", "example.com", "example.com:8080", "127.0.0.1:0", "[::1]", "[::ffff:192.0.2.1]:443", "a%20b", "a:"])(
  "a Host header, value %s: valid",
  (host) => {
    expect(isHost(host)).toBe(true);
  },
);

test.each(["", ":80", "a b", "a, b", "a:65536", "a:x", "[::1", "[a]", "::1", "a/b", "a@b", "a%zz", "a\\b"])(
  "a Host header, value %p: invalid",
  (host) => {
    expect(isHost(host)).toBe(false);
  },
);

test("a Host header, 200,000 characters long: refused in linear time", () => {
  const start = performance.now();
  expect(isHost(`${"a".repeat(200_000)}/`)).toBe(false);
  expect(performance.now() - start).toBeLessThan(1000);
});
