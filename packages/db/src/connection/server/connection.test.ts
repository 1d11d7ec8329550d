/** How a connection sends its password, and which servers it accepts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFile, chown, copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { client, preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { migrate } from "../../migrate.ts";
import { openDatabase } from "../../open.ts";
import type { EmbeddedDatabase } from "../embedded.ts";
import { connect } from "../pool.ts";
import { findPrimary } from "./primary.ts";

const PASSWORD = "hunter2-of-a-test";
const folder = await fileFolder();
let server: EmbeddedDatabase & { port: number };
/** The tests of TLS run only where openssl is installed. */
const openssl = Bun.which("openssl");

/** Gives the server a certificate for `localhost`, from an authority in `ca.crt`. */
const certify = async (directory: string): Promise<void> => {
  const [ca, key, request, certificate] = ["ca.crt", "tls.key", "tls.csr", "tls.crt"].map((name) => join(folder, name));
  const subject = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj"];
  const constraints = ["-addext", "basicConstraints=critical,CA:TRUE"];
  await Bun.$`openssl req -x509 ${subject} /CN=ca -days 2 ${constraints} -keyout ${folder}/ca.key -out ${ca}`.quiet();
  await Bun.$`openssl req ${subject} /CN=localhost -keyout ${key} -out ${request}`.quiet();
  await writeFile(join(folder, "names"), "subjectAltName=DNS:localhost\n");
  const signing = ["-CA", ca ?? "", "-CAkey", `${folder}/ca.key`, "-CAcreateserial", "-days", "2"];
  await Bun.$`openssl x509 -req ${signing} -in ${request} -extfile ${folder}/names -out ${certificate}`.quiet();
  const { uid, gid } = await stat(directory);
  for (const [from, to] of [
    [key, "server.key"],
    [certificate, "server.crt"],
  ]) {
    await copyFile(from ?? "", join(directory, to ?? ""));
    await chown(join(directory, to ?? ""), uid, gid);
  }
  await Bun.$`chmod 600 ${join(directory, "server.key")}`.quiet();
};

beforeAll(async () => {
  server = await openByTcp(await preparedDataDirectory(join(folder, "data")), { settings: { fsync: "off" } });
  const admin = client(server.url);
  await admin.unsafe(`set password_encryption = 'md5'; create role of_md5 login password '${PASSWORD}'`);
  await admin.unsafe("set password_encryption = 'scram-sha-256'");
  for (const role of ["of_password", "of_scram", "of_trust", "of_peer"]) {
    await admin.unsafe(`create role ${role} login password '${PASSWORD}'`);
  }
  const rules = ["password", "md5", "scram-sha-256", "trust"].map((method) => {
    const role = `of_${method.replace(/-.*/, "")}`;
    return `host all ${role} 127.0.0.1/32 ${method}\nlocal all ${role} ${method}\n`;
  });
  const hba = join(server.directory, "pg_hba.conf");
  const others = await readFile(hba, "utf8");
  await writeFile(hba, `${rules.join("")}local all of_peer peer map=m\n${others}`);
  const user = await Bun.$`id -un`.text();
  await appendFile(join(server.directory, "pg_ident.conf"), `m ${user.trim()} of_peer\n`);
  if (openssl) {
    await certify(server.directory);
    await admin.unsafe("alter system set ssl = on");
  }
  await admin`select pg_reload_conf()`;
  await admin.end();
});
afterAll(() => server.close());

const byTcp = (role: string, host = "127.0.0.1", query = ""): string =>
  `postgres://${role}:${PASSWORD}@${host}:${server.port}/postgres${query}`;
const bySocket = (role: string): string =>
  `postgres://${role}:${PASSWORD}@${encodeURIComponent(server.directory)}:${server.port}/postgres`;

/** The user according to the server, or the code of the error. */
const whoIs = async (url: string, allowWeakAuth?: boolean): Promise<string> => {
  const db = connect(url, { connections: 1, allowWeakAuth });
  try {
    const [row] = await db.run<{ name: string }>("select current_user::text as name", []);
    return row?.name ?? "";
  } catch (error) {
    return String((error as { code?: string }).code);
  } finally {
    await db.close();
  }
};

describe("a server that asks for a password", () => {
  test.each([
    ["password", "WEAK_AUTH_REFUSED"],
    ["md5", "WEAK_AUTH_REFUSED"],
    ["scram", "of_scram"],
    ["trust", "of_trust"],
  ])("a server that asks for the password by %s: %s, by TCP and by a socket", async (method, outcome) => {
    expect(await whoIs(byTcp(`of_${method}`))).toBe(outcome);
    expect(await whoIs(bySocket(`of_${method}`))).toBe(outcome);
    expect(await whoIs(byTcp(`of_${method}`), true)).toBe(`of_${method}`);
    expect(await whoIs(bySocket(`of_${method}`), true)).toBe(`of_${method}`);
  });

  test("a server that identifies the user of the process (peer): accepted", async () => {
    expect(await whoIs(bySocket("of_peer"))).toBe("of_peer");
  });

  test("a server that asks for the password in clear text or by MD5: refused everywhere; the error at the start names the remedy", async () => {
    const url = byTcp("of_password");
    const refused = expect.objectContaining({ code: "WEAK_AUTH_REFUSED" });
    await expect(findPrimary(url)).rejects.toEqual(refused);
    await expect(migrate(url)).rejects.toEqual(refused);
    await expect(client(url)`select 1`).rejects.toEqual(refused);
    const config = { databaseUrl: url, dataDirectory: "unused", deadlineMs: 5000, connections: 1, prepare: true };
    await expect(openDatabase(config)).rejects.toThrow(/DATABASE_URL \(WEAK_AUTH_REFUSED\).*DATABASE_ALLOW_WEAK_AUTH/);
    const opened = await openDatabase({ ...config, allowWeakAuth: true });
    // The connection succeeds, although the role may not create tables.
    await expect(opened.migrate()).rejects.toThrow("permission denied");
    await opened.close();
  });

  test.each([
    ["in clear", [3]],
    ["hashed with MD5", [5, 1, 2, 3, 4]],
  ])("an impostor that asks %s: receives no password", async (_, [kind = 0, ...salt]) => {
    const heard: Buffer[] = [];
    const sockets = new Set<Socket>();
    const impostor = createServer((socket) => {
      sockets.add(socket);
      socket
        .on("error", () => {})
        .on("data", (chunk: string | Buffer) => {
          heard.push(Buffer.from(chunk));
          socket.write(Buffer.from([0x52, 0, 0, 0, 8 + salt.length, 0, 0, 0, kind, ...salt]));
        });
    });
    await new Promise<void>((resolve) => impostor.listen(0, "127.0.0.1", resolve));
    const { port } = impostor.address() as { port: number };
    const url = `postgres://someone:${PASSWORD}@127.0.0.1:${port}/postgres`;
    expect(await whoIs(url)).toBe("WEAK_AUTH_REFUSED");
    await expect(migrate(url)).rejects.toMatchObject({ code: "WEAK_AUTH_REFUSED" });
    await expect(client(`${url}?weak_auth=true`)`select 1`).rejects.toMatchObject({ code: "WEAK_AUTH_REFUSED" });
    for (const socket of sockets) socket.destroy();
    impostor.close();
    // Each time, the impostor has received only the name of the user.
    expect(heard).toHaveLength(3);
    for (const message of heard) expect(message.toString()).toContain("someone");
    expect(Buffer.concat(heard).toString()).not.toContain(PASSWORD);
  });
});

describe.skipIf(openssl === null)("a server with TLS", () => {
  /** Like `whoIs`, in a process that trusts the authority or not. */
  const connectedUser = async (url: string, isTrusting: boolean): Promise<string> => {
    const script = `
      const { connect } = await import(${JSON.stringify(join(import.meta.dir, "../pool.ts"))});
      const db = connect(process.argv.at(-1), { connections: 1 });
      const rows = await db.run("select current_user::text as name from pg_stat_ssl where pid = pg_backend_pid() and ssl", [])
        .catch((error) => [{ name: error.code }]);
      console.log(rows[0]?.name ?? "no TLS");
      await db.close();`;
    const env = { PATH: process.env["PATH"] ?? "", ...(isTrusting ? { NODE_EXTRA_CA_CERTS: `${folder}/ca.crt` } : {}) };
    const child = Bun.spawn([process.execPath, "-e", script, url], { env, stdout: "pipe", stderr: "pipe" });
    return (await new Response(child.stdout).text()).trim();
  };

  test("a server that is verified by certificate and name: may ask in clear text", async () => {
    expect(await connectedUser(byTcp("of_password", "localhost", "?sslmode=verify-full"), true)).toBe("of_password");
    expect(await connectedUser(byTcp("of_md5", "localhost", "?sslmode=verify-full"), true)).toBe("of_md5");
  });

  test("a server, with sslmode=require and another authority or name: not verified", async () => {
    expect(await connectedUser(byTcp("of_password", "localhost", "?sslmode=require"), false)).toBe("WEAK_AUTH_REFUSED");
    expect(await connectedUser(byTcp("of_password", "127.0.0.1", "?sslmode=require"), true)).toBe("WEAK_AUTH_REFUSED");
    expect(await connectedUser(byTcp("of_password", "127.0.0.1", "?sslmode=prefer"), true)).toBe("WEAK_AUTH_REFUSED");
    expect(await connectedUser(byTcp("of_scram", "127.0.0.1", "?sslmode=require"), false)).toBe("of_scram");
  });

  test("a server, with sslmode=verify-full and another authority or name: refused", async () => {
    const name = await connectedUser(byTcp("of_password", "127.0.0.1", "?sslmode=verify-full"), true);
    const authority = await connectedUser(byTcp("of_password", "localhost", "?sslmode=verify-full"), false);
    expect([name, authority]).toEqual(["ERR_TLS_CERT_ALTNAME_INVALID", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"]);
  });
});
