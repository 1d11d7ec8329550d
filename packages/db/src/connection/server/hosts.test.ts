import { describe, expect, test } from "bun:test";
import { parseHosts, socketPath, withoutHosts } from "./hosts.ts";

describe("the hosts of a URL", () => {
  test.each([
    ["postgres://h/d", [{ host: "h", port: 5432 }]],
    ["postgresql://u:p%40@h:1/d?sslmode=require", [{ host: "h", port: 1 }]],
    [
      "postgres://u:p@a:1,b:2,c/d",
      [
        { host: "a", port: 1 },
        { host: "b", port: 2 },
        { host: "c", port: 5432 },
      ],
    ],
    ["postgres://u@[::1]:7/d", [{ host: "::1", port: 7 }]],
    ["postgres://u@%2Fvar%2Frun%2Fpostgresql/d", [{ host: "/var/run/postgresql", port: 5432 }]],
  ])("a URL, %s: its hosts", (url, hosts) => {
    expect(parseHosts(url)).toEqual(hosts);
  });

  test.each(["", "mysql://h/d", "postgres://", "postgres:///d", "postgres://h:99999/d"])(
    "a URL, %j: refused",
    (url) => {
      expect(() => parseHosts(url)).toThrow(TypeError);
    },
  );
});

test("a URL whose hosts are replaced: the rest is unchanged", () => {
  expect(withoutHosts("postgres://u:p%40@a:1,b:2/d?sslmode=require")).toBe(
    "postgres://u:p%40@localhost/d?sslmode=require",
  );
  expect(withoutHosts("postgresql://h")).toBe("postgresql://localhost");
});

test("the path of a socket, for a folder: in the folder; for a name or an address: null", () => {
  expect(socketPath({ host: "/var/run/postgresql", port: 5433 })).toBe("/var/run/postgresql/.s.PGSQL.5433");
  expect(socketPath({ host: "::1", port: 5432 })).toBeNull();
});
