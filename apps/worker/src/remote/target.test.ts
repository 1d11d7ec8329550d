import { describe, expect, test } from "bun:test";
import { HTTPS_PORTS, parseTarget } from "./target.ts";

const codeOf = (text: string, base: URL | null = null): string => {
  const target = parseTarget(text, base, HTTPS_PORTS);
  return target.kind === "target" ? `${target.host} ${target.port} ${target.url.pathname}` : target.code;
};

describe("the target of a URL", () => {
  test.each([
    ["https://files.example.com/a.jpg", "files.example.com 443 /a.jpg"],
    ["https://files.example.com:443/a", "files.example.com 443 /a"],
    ["https://FILES.Example.com:8443", "files.example.com 8443 /"],
    ["https://files.example.com./a", "files.example.com 443 /a"],
    ["https://bücher.example/a", "xn--bcher-kva.example 443 /a"],
    ["https://1.2.3.4.example.com/", "1.2.3.4.example.com 443 /"],
  ])("a URL, %s: its host, port and path", (text, expected) => {
    expect(codeOf(text)).toBe(expected);
  });

  test.each([
    ["", "invalid_url"],
    ["files.example.com", "invalid_url"],
    ["https://", "invalid_url"],
    ["https://a b.example/", "invalid_url"],
    ["https://256.256.256.256/", "invalid_url"],
    ["https://1.2.3.4.5/", "invalid_url"],
    ["https://[::1", "invalid_url"],
    ["https://files.example.com:99999/", "invalid_url"],
    ["http://files.example.com/", "https_required"],
    ["file:///etc/passwd", "https_required"],
    ["ftp://files.example.com/", "https_required"],
    ["data:image/png;base64,AA==", "https_required"],
    ["gopher://127.0.0.1:6379/", "https_required"],
    ["https://user@files.example.com/", "credentials_not_allowed"],
    ["https://:secret@files.example.com/", "credentials_not_allowed"],
    ["https://files.example.com@127.0.0.1/", "credentials_not_allowed"],
    ["https://files.example.com:80/", "port_not_allowed"],
    ["https://files.example.com:22/", "port_not_allowed"],
    ["https://files.example.com:6379/", "port_not_allowed"],
    ["https://localhost/", "host_not_public"],
    ["https://localhost./", "host_not_public"],
    ["https://LOCALHOST:8443/", "host_not_public"],
    ["https://a.localhost/", "host_not_public"],
    ["https://redis.default.svc.cluster.local/", "host_not_public"],
    ["https://metadata.google.internal./", "host_not_public"],
    ["https://router.HOME.arpa/", "host_not_public"],
    ["https://a.b.localhost./", "host_not_public"],
    ["https://metadata/", "host_not_public"],
    ["https://kubernetes/", "host_not_public"],
    ["https://a..example/", "host_not_public"],
    ["https://example../", "host_not_public"],
  ])("a URL, %j: %s", (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test("a redirect, relative: resolved against its URL, and checked", () => {
    const base = new URL("https://files.example.com/a/b");
    expect(codeOf("c", base)).toBe("files.example.com 443 /a/c");
    expect(codeOf("//other.example.com/c", base)).toBe("other.example.com 443 /c");
    expect(codeOf("//127.0.0.1/c", base)).toBe("ip_address_not_allowed");
    expect(codeOf("http://files.example.com/", base)).toBe("https_required");
    expect(codeOf("javascript:alert(1)", base)).toBe("https_required");
  });
});
