import { describe, expect, test } from "bun:test";
import {
  type CommonConfig,
  ConfigError,
  readAvatarWorkerSecret,
  readCommonConfig,
  readHost,
  readMetricsPort,
  readPort,
  readSecret,
  readVariables,
} from "./config.ts";

const defaults = {
  host: "127.0.0.1",
  database: {
    databaseUrl: null,
    dataDirectory: ".data",
    deadlineMs: 5000,
    connections: 10,
    prepare: true,
    allowWeakAuth: false,
    isByNode: true,
  },
  logLevel: "info" as const,
  keepAliveMs: 75_000,
  shutdownGraceMs: 0,
};

test("a port for metrics, equal to the port of the service: refused, with both names; 0, any free port: accepted", () => {
  const read = (METRICS_PORT: string, port: number) => readMetricsPort({ METRICS_PORT }, "METRICS_PORT", "PORT", port);
  expect(() => read("3000", 3000)).toThrow(new ConfigError(["METRICS_PORT must be another port than PORT."]));
  expect([read("3001", 3000), read("0", 0), read("", 3000)]).toEqual([3001, 0, null]);
});

describe("readCommonConfig", () => {
  test("unset or empty variables: the defaults", () => {
    expect(readCommonConfig({})).toEqual(defaults);
    expect(readCommonConfig({ HOST: "", DATABASE_URL: "", DATA_DIR: "", LOG_LEVEL: "" })).toEqual(defaults);
  });

  test("variables, all set: read", () => {
    expect(
      readCommonConfig({
        HOST: "::",
        DATABASE_URL: "postgres://h/d",
        DATA_DIR: "/data",
        LOG_LEVEL: "warn",
        REQUEST_TIMEOUT_MS: "250",
        KEEP_ALIVE_MS: "1000",
        SHUTDOWN_GRACE_MS: "1500",
        PREPARED_STATEMENTS: "false",
        DATABASE_ALLOW_WEAK_AUTH: "true",
        DATABASE_SHARD_NODES: "false",
        DATABASE_CONNECTIONS: "1000",
      }),
    ).toEqual({
      host: "::",
      database: {
        databaseUrl: "postgres://h/d",
        dataDirectory: "/data",
        deadlineMs: 250,
        connections: 1000,
        prepare: false,
        allowWeakAuth: true,
        isByNode: false,
      },
      logLevel: "warn",
      keepAliveMs: 1000,
      shutdownGraceMs: 1500,
    });
  });

  test.each(["postgresql://user:p%40ss@host:5433/name?sslmode=require", "postgres://user@one:5432,two:5433/name"])(
    "the URL %s, as DATABASE_URL: accepted",
    (databaseUrl) => {
      expect(readCommonConfig({ DATABASE_URL: databaseUrl }).database.databaseUrl).toBe(databaseUrl);
    },
  );

  test.each([
    ["HOST", "a b"],
    ["HOST", "http://x"],
    ["DATABASE_URL", "mysql://x/y"],
    ["DATABASE_URL", "x"],
    ["DATABASE_URL", "postgres:///hunter2"],
    ["DATA_DIR", "a\0b"],
    ["LOG_LEVEL", "INFO"],
    ["SHUTDOWN_GRACE_MS", "-1"],
    ["PREPARED_STATEMENTS", "no"],
    ["DATABASE_ALLOW_WEAK_AUTH", "yes"],
    ["REQUEST_TIMEOUT_MS", "0.5"],
    ["REQUEST_TIMEOUT_MS", "120001"],
    ["KEEP_ALIVE_MS", "999"],
    ["DATABASE_CONNECTIONS", "-1"],
    ["DATABASE_CONNECTIONS", "1001"],
    ["DATABASE_CONNECTIONS", "1e2"],
    ["REQUEST_TIMEOUT_MS", "5s"],
  ])("a variable, %s=%j: the error has its name, not its value", (name, value) => {
    const read = () => readCommonConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} must be `));
    expect(read).not.toThrow(value);
  });
});

describe("readVariables", () => {
  test("several invalid variables: one error names each once, without values", () => {
    const variables = { HOST: "hunter 2", DATABASE_URL: "hunter2", LOG_LEVEL: "INFO", KEEP_ALIVE_MS: "1000" };
    const read = () => readVariables(variables, (all) => [readCommonConfig(all), readVariables(all, readCommonConfig)]);
    const sentences = [
      "HOST must be a host name or an IP address.",
      "DATABASE_URL must be a postgres:// URL.",
      "LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent.",
    ];
    expect(read).toThrow(new ConfigError(sentences));
  });

  test("valid variables: the configuration", () => {
    expect(readVariables({ LOG_LEVEL: "warn" }, readCommonConfig)).toEqual({ ...defaults, logLevel: "warn" });
  });
});

test("the host at which a process listens: a name or an address, of either kind", () => {
  for (const HOST of ["localhost", "0.0.0.0", "::1"]) expect(readHost({ HOST })).toBe(HOST);
  for (const HOST of ["a/b", "a:b@c", "[::1]", "a b", "a\n"]) expect(() => readHost({ HOST })).toThrow("HOST must be");
});

describe("readPort", () => {
  test.each([
    ["0", 0],
    ["3000", 3000],
    ["65535", 65535],
  ] as const)("a port, %s: read", (text, port) => {
    expect(readPort({ PORT: text }, "PORT", 1)).toBe(port);
  });
  test.each(["65536", "-1", "1.5", "0x10", " 1", "1e3", "port", "９"])("a port, %j: refused", (text) => {
    expect(() => readPort({ PORT: text }, "PORT", 1)).toThrow(ConfigError);
  });
});

test.each([
  ["REQUEST_TIMEOUT_MS", 1, 120_000, (read) => read.database.deadlineMs],
  ["DATABASE_CONNECTIONS", 1, 1000, (read) => read.database.connections],
  ["KEEP_ALIVE_MS", 1000, 240_000, (read) => read.keepAliveMs],
  ["SHUTDOWN_GRACE_MS", 0, 600_000, (read) => read.shutdownGraceMs],
] as [string, number, number, (read: CommonConfig) => number][])(
  "%s: accepted from %d to %d, refused beyond",
  (name, minimum, maximum, read) => {
    const parse = (value: number) => read(readCommonConfig({ [name]: String(value) }));
    expect([minimum, maximum].map(parse)).toEqual([minimum, maximum]);
    for (const value of [minimum - 1, maximum + 1]) expect(() => parse(value)).toThrow(`${name} must be `);
  },
);

test("a secret: 32 characters or more; the secret of avatar workers also visible characters, at most 512", () => {
  const revealed = (read: typeof readSecret, name: string) => (text: string | undefined) =>
    read({ [name]: text }, name)?.reveal() ?? null;
  const secret = revealed(readSecret, "SESSION_SECRET");
  const ofWorkers = revealed(readAvatarWorkerSecret, "AVATAR_WORKER_SECRET");
  const [shortest, longest] = ["s".repeat(32), "s".repeat(512)];
  expect([undefined, "", shortest, `${longest}s`].map(secret)).toEqual([null, null, shortest, `${longest}s`]);
  expect([undefined, "", shortest, longest].map(ofWorkers)).toEqual([null, null, shortest, longest]);
  expect(() => secret("s".repeat(31))).toThrow("SESSION_SECRET must be text of at least 32 characters.");
  for (const bad of ["s".repeat(31), `${longest}s`, ` ${shortest}`, `${shortest} `, `${shortest}\n`, `ä${shortest}`]) {
    expect(() => ofWorkers(bad)).toThrow("AVATAR_WORKER_SECRET must be 32 to 512 visible ASCII characters.");
  }
});

test.each(["x postgres://h/d", "postgres://h/d x", "postgres://h/d\n", "postgres://h?x", "postgres://h#x"])(
  "DATABASE_URL, %j: refused",
  (text) => expect(() => readCommonConfig({ DATABASE_URL: text })).toThrow("DATABASE_URL must be"),
);
