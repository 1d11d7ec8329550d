import { expect, test } from "bun:test";
import { isHost } from "./host.ts";

test.each([
  ..."a example.com example.com:8080 localhost:3000 A.Example. a_b xn--bcher-kva.example 127.0.0.1:0 256.1.1.1 1.2.3.4.5 a..b".split(
    " ",
  ),
  ..."[::1] [::1]:3000 [::ffff:192.0.2.1]:443 a: a:65535 a%20b a%2Fb a,b (a)!$&'*+;=~".split(" "),
])("a Host header, value %s: valid", (host) => {
  expect(isHost(host)).toBe(true);
});

test.each([
  ...["", " ", "a b", "a, b", "a\tb"],
  ...":80 a:65536 a:123456 a:x a:80:80 [::1 [a] [::1]x [1.2.3.4] [:::] [v1.x] ::1".split(" "),
  ..."a/b a?b a#b a@b http://a <a> a%zz a\\b \u00e9".split(" "),
])("a Host header, value %p: invalid", (host) => {
  expect(isHost(host)).toBe(false);
});

// With quadratic matching, this would take hours.
test("a Host header, 100,000 characters long: refused", () => {
  expect(isHost(`${"a".repeat(100_000)}/`)).toBe(false);
});
