import { expect, test } from "bun:test";
import fc from "fast-check";
import { remoteUrlErrors } from "./remote-url.ts";
import { REMOTE_URL_PATTERN } from "./schemas.ts";

test("a URL that matches the pattern of the document: accepted", () => {
  const pattern = new RegExp(REMOTE_URL_PATTERN);
  const shown = ["https://0.0", "https://a.0x/", "https://a.0xff.", "https://1.2.3.4:8443/", "https://a.09?b"];
  expect(shown.filter((url) => pattern.test(url))).toEqual([]);
  // No pattern can express which labels are valid in Punycode. Names of private networks are refused as well.
  const matching = fc.stringMatching(pattern).filter((url) => !/xn--|local|internal|home\.arpa/i.test(url));
  fc.assert(
    fc.property(matching, (url) => expect(remoteUrlErrors(url)).toEqual([])),
    { seed: 23, numRuns: 2000 },
  );
});

test.each([
  "https://example.com/ada.jpg",
  "https://example.com:443/ada.jpg",
  "https://example.com:8443/",
  "https://EXAMPLE.COM./a?b=c#d",
  "https://xn--bcher-kva.example?a",
])("a URL, %s: may be fetched", (url) => {
  expect(remoteUrlErrors(url)).toEqual([]);
});

test.each([
  ["http://example.com/ada.jpg", "https"],
  ["ftp://example.com/ada.jpg", "https"],
  ["file:///etc/passwd", "https"],
  ["data:image/png;base64,AAAA", "https"],
  ["https://", "URL"],
  ["example.com/ada.jpg", "URL"],
  ["https://user@example.com/", "credentials"],
  ["https://:secret@example.com/", "credentials"],
  ["https://example.com:80/", "port"],
  ["https://example.com:22/", "port"],
  ["https://127.0.0.1/", "IP address"],
  ["https://127.0.0.1./", "IP address"],
  ["https://2130706433/", "IP address"],
  ["https://0x7f000001/", "IP address"],
  ["https://0177.1/", "IP address"],
  ["https://127.1/", "IP address"],
  ["https://[::1]/", "IP address"],
  ["https://[::ffff:10.0.0.1]:8443/", "IP address"],
  ["https://localhost/", "public host name"],
  ["https://metadata./", "public host name"],
  ["https://a.localhost/", "public host name"],
  ["https://redis.default.svc.cluster.local/", "public host name"],
  ["https://metadata.google.internal./", "public host name"],
  ["https://router.HOME.arpa/", "public host name"],
  ["https://A.LocalHost./", "public host name"],
  ["HTTPS://example.com/", "https://"],
  ["https:example.com/", "https://"],
  ["https:\\\\example.com/", "https://"],
  [" https://example.com/", "spaces"],
  ["https://exam\tple.com/", "ASCII"],
  ["https://bücher.example/", "ASCII"],
  ["https://example.com/ä", "ASCII"],
])("a URL, %s: refused, %s", (url, reason) => {
  expect(remoteUrlErrors(url)).toMatchObject([{ pointer: "#/remoteUrl", code: "unsupported_url" }]);
  expect(remoteUrlErrors(url)[0]?.detail).toContain(reason);
});
