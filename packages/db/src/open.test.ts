import { describe, expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { openDatabase } from "./open.ts";

const database = await fileDatabase({ isOne: true });

const config = { databaseUrl: null, dataDirectory: "unused", deadlineMs: 5000, connections: 2, prepare: true };

describe("the start", () => {
  const on = async (name: string, create: string, change?: string): Promise<void> => {
    const admin = database.db.client;
    await admin.unsafe(`create database ${name} ${create}`);
    try {
      if (change) await admin.unsafe(`alter database ${name} ${change}`);
      const url = new URL(database.url);
      url.pathname = `/${name}`;
      await (await openDatabase({ ...config, databaseUrl: url.href })).close();
    } finally {
      await admin.unsafe(`drop database ${name}`);
    }
  };

  test("a database with UTF-8 and read committed: accepted", async () => {
    await on(`plain_${process.pid}`, "encoding 'UTF8' locale 'C' template template0");
  });

  test.each([
    ["a wrong password", { password: "hunter2" }, "(28P01). The user name or the password is wrong."],
    ["an unknown user", { username: "hunter2" }, "(28P01). The user name or the password is wrong."],
    ["a missing database", { pathname: "/hunter2" }, "(3D000). The server has no database of this name. Create it"],
    ["no server", { port: "1" }, "(ECONNREFUSED). No server listens at its host and port"],
    ["an unknown host", { hostname: "hunter2.invalid" }, "(ENOTFOUND). The name of its host cannot be resolved"],
  ])("a DATABASE_URL with %s: the error says what to change, without the value", async (_, change, expected) => {
    const { href } = Object.assign(new URL(database.url), change);
    const failure = await openDatabase({ ...config, databaseUrl: href }).then(
      () => "opened",
      ({ message }: Error) => message,
    );
    expect(failure).toStartWith(`Cannot connect to the database of DATABASE_URL ${expected}`);
    expect(failure).not.toContain("hunter2");
  });

  test("a server that does not complete the first connection in time: another connection is used", async () => {
    let connections = 0;
    const { port } = new URL(database.url);
    const server = createServer((near) => {
      near.on("error", () => {});
      if (++connections === 1) return;
      const far = connect(Number(port), "127.0.0.1").on("error", () => {});
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port: ownPort } = server.address() as { port: number };
    const { href } = Object.assign(new URL(database.url), { hostname: "127.0.0.1", port: `${ownPort}` });
    const impatient = { ...config, deadlineMs: 30_000, connectMs: 300 };
    await (await openDatabase({ ...impatient, databaseUrl: href })).close();
    expect(connections).toBeGreaterThan(1);
    server.close();
  });

  test("a database with another encoding: refused", async () => {
    const create = "encoding 'LATIN1' locale 'C' template template0";
    await expect(on(`latin_${process.pid}`, create)).rejects.toThrow("it must be UTF8");
  });

  test("a database with another default isolation: refused", async () => {
    const change = "set default_transaction_isolation = 'serializable'";
    await expect(on(`serial_${process.pid}`, "encoding 'UTF8' locale 'C' template template0", change)).rejects.toThrow(
      "it must be read committed",
    );
  });
});
