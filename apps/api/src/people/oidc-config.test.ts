/** The variables of the provider: all or none of them are set. */
import { describe, expect, test } from "bun:test";
import { readOidcConfig } from "./oidc-config.ts";

const COMPLETE = {
  OIDC_ISSUER: "https://login.example.com/realms/main",
  OIDC_CLIENT_ID: "realtime-avatar",
  OIDC_CLIENT_SECRET: "a secret",
};

describe("the variables of the provider", () => {
  test("the variables, all set: read together; the name defaults to the host", () => {
    expect(readOidcConfig({})).toBeNull();
    expect(readOidcConfig({ OIDC_ISSUER: "", OIDC_NAME: "" })).toBeNull();
    const config = readOidcConfig(COMPLETE);
    expect(config).toMatchObject({ issuer: COMPLETE.OIDC_ISSUER, name: "login.example.com" });
    expect(config?.clientSecret.reveal()).toBe("a secret");
    expect(Bun.inspect(config)).not.toContain("a secret");
    expect(readOidcConfig({ ...COMPLETE, OIDC_NAME: "Example Login" })?.name).toBe("Example Login");
  });

  test.each(["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] as const)(
    "the variables, without %s: the error names it",
    (name) => {
      expect(() => readOidcConfig({ ...COMPLETE, [name]: "" })).toThrow(`${name} must be set when OIDC_`);
      expect(() => readOidcConfig({ OIDC_NAME: "x" })).toThrow("OIDC_ISSUER must be set when OIDC_NAME is set");
    },
  );

  test.each([
    "http://login.example.com",
    "http://127.0.0.1:8080",
    "http://localhost.example.com",
    "ftp://login.example.com",
    "login.example.com",
    "https://user:password@login.example.com",
    "https://login.example.com?x",
    "https://login.example.com#x",
    "https://login.example.com/a b",
    `https://login.example.com/${"x".repeat(512)}`,
  ])("the variables, issuer %j: refused", (issuer) => {
    expect(() => readOidcConfig({ ...COMPLETE, OIDC_ISSUER: issuer })).toThrow("OIDC_ISSUER must be an https:// URL");
  });

  test.each(["http://localhost", "http://localhost:8080/realms/x", "https://10.0.0.1", "https://login.example.com/"])(
    "the variables, issuer %j: accepted unchanged",
    (issuer) => {
      expect(readOidcConfig({ ...COMPLETE, OIDC_ISSUER: issuer })?.issuer).toBe(issuer);
    },
  );

  test("the variables, with control characters or too long: refused without the value", () => {
    for (const [name, text] of [
      ["OIDC_CLIENT_SECRET", "secret\nvalue"],
      ["OIDC_CLIENT_SECRET", " secret"],
      ["OIDC_CLIENT_ID", "x".repeat(256)],
      ["OIDC_NAME", "x".repeat(65)],
      ["OIDC_NAME", "x\u202e"],
    ] as const) {
      const read = () => readOidcConfig({ ...COMPLETE, [name]: text });
      expect(read).toThrow(`${name} must be text of at most`);
      expect(read).not.toThrow(text);
    }
  });
});
