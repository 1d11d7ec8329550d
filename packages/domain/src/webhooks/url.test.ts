/** `assets/remote-url.test.ts` tests the URLs that no option allows. */
import { expect, test } from "bun:test";
import { webhookUrlErrors } from "./url.ts";

test.each(["https://example.com/hooks", "https://example.com:8443/hooks?a=b"])(
  "a URL, %s: accepted, with and without localhost",
  (url) => {
    expect(webhookUrlErrors(url, false)).toEqual([]);
    expect(webhookUrlErrors(url, true)).toEqual([]);
  },
);

test.each([
  "http://localhost:4000/hooks",
  "http://localhost",
  "http://127.0.0.1:4000/hooks",
  "http://127.1:4000/",
  "http://[::1]:4000/hooks",
  "http://[0:0:0:0:0:0:0:1]/",
])("a URL of this machine, %s: accepted only where localhost is allowed", (url) => {
  expect(webhookUrlErrors(url, false)).toMatchObject([{ pointer: "#/url", code: "unsupported_url" }]);
  expect(webhookUrlErrors(url, true)).toEqual([]);
});

test.each(["http://localhost:4000", "https://localhost:4000/hooks", "http://127.0.0.1/"])(
  "a program on this machine, %s: the error names the command that forwards to it",
  (url) => {
    expect(webhookUrlErrors(url, false)[0]?.detail).toContain("`bun run webhooks listen`");
  },
);

test.each([
  "http://example.com/hooks",
  "http://user@localhost/",
  "http://:secret@127.0.0.1/",
  "http://localhost.example.com/",
  "http://a.localhost/",
  "http://localhost./",
  "http://127.0.0.2/",
  "http://10.0.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://[::ffff:127.0.0.1]/",
  "http://0.0.0.0/",
  "http://localhost/ a",
  "http://localhost/\u00e4",
  "HTTP://localhost/",
  "https://localhost/",
  "https://127.0.0.1/",
  "ftp://localhost/",
])("a URL, %s: refused, with localhost allowed too", (url) => {
  expect(webhookUrlErrors(url, true)).toMatchObject([{ pointer: "#/url", code: "unsupported_url" }]);
});
