/** The embedded PostgreSQL: its data, its socket, the processes that share it, and crashes. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { client as clientOf, preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import { openEmbedded } from "./embedded.ts";
import { parseHosts } from "./server/hosts.ts";

const hasProc = process.platform === "linux";
const fast = { settings: { fsync: "off" } };
const folder = await fileFolder();

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = clientOf(url);
  try {
    // A statement whose connection is cut at a certain moment may never settle: issue 1186 of the driver.
    const late = Bun.sleep(5000).then(() => Promise.reject(new Error("no response came")));
    return [...(await Promise.race([client.unsafe(text), late]))];
  } finally {
    await client.end({ timeout: 1 });
  }
};

/** The inodes of all listening TCP sockets. */
const tcpListeners = async (): Promise<string[]> => {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const rows = tables.join("\n").split("\n");
  return rows.flatMap((row) => {
    const [, , , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    return state === "0A" ? [inode] : [];
  });
};

/** The inodes of a process's sockets. */
const socketsOf = async (pid: number): Promise<string[]> => {
  const handles = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(handles.map((handle) => readlink(`/proc/${pid}/fd/${handle}`).catch(() => "")));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
};

const serverPid = async (directory: string): Promise<number> =>
  Number((await readFile(join(directory, "postmaster.pid"), "utf8")).split("\n")[0]);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("the embedded PostgreSQL", () => {
  test("the server, with its defaults: UTF-8, durable, on a socket in its own folder only", async () => {
    const embedded = await openEmbedded(join(folder, "defaults"));
    const [row] = await query(
      embedded.url,
      `select current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as commit, current_setting('listen_addresses') as listens,
        current_setting('unix_socket_directories') as sockets, current_setting('password_encryption') as passwords,
        current_setting('log_min_error_statement') as logs`,
    );
    expect(row).toEqual({
      encoding: "UTF8",
      fsync: "on",
      commit: "on",
      listens: "",
      sockets: `"${embedded.directory}"`,
      passwords: "scram-sha-256",
      logs: "panic",
    });
    expect(parseHosts(embedded.url)).toEqual([{ host: embedded.directory, port: 5432 }]);
    const other = await readFile(join(await preparedDataDirectory(join(folder, "another")), "password"), "utf8");
    expect(new URL(embedded.url).password).not.toBe(other.trim());
    const pid = await serverPid(embedded.directory);
    const owner = (await stat(embedded.directory)).uid;
    expect((await stat(embedded.directory)).mode & 0o777).toBe(0o700);
    const socket = await stat(join(embedded.directory, ".s.PGSQL.5432"));
    expect([socket.isSocket(), socket.uid, socket.mode & 0o777]).toEqual([true, owner, 0o700]);
    if (hasProc) {
      const listeners = new Set(await tcpListeners());
      const sockets = await socketsOf(pid);
      expect(sockets.length).toBeGreaterThan(0);
      expect(sockets.filter((inode) => listeners.has(inode))).toEqual([]);
    }
    await embedded.close();
  });

  test("the password of the server: random, required, in a file of mode 0600", async () => {
    const data = await preparedDataDirectory(join(folder, "password"));
    const embedded = await openEmbedded(data, fast);
    const { password } = new URL(embedded.url);
    const file = join(data, "password");
    expect([(await readFile(file, "utf8")).trim(), (await stat(file)).mode & 0o777]).toEqual([password, 0o600]);
    expect(password.length).toBe(32);
    const wrong = Object.assign(new URL(embedded.url), { password: "password" });
    await expect(query(wrong.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    await embedded.close();
  });

  test("the server, after it or its starter is killed: found again", async () => {
    const data = await preparedDataDirectory(join(folder, "killed"));
    const script = `
      const { openEmbedded } = await import(${JSON.stringify(join(import.meta.dir, "embedded.ts"))});
      const { url } = await openEmbedded(${JSON.stringify(data)}, { settings: { fsync: "off" } });
      console.log(url);
      setInterval(() => {}, 1000);`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
    const { value } = await child.stdout.getReader().read();
    const url = new TextDecoder().decode(value).trim();
    child.kill("SIGKILL");
    await child.exited;

    const found = await openEmbedded(data, fast);
    expect(found.url).toBe(url);
    const pid = await serverPid(found.directory);
    process.kill(pid, "SIGKILL");
    await until(() => !isAlive(pid));
    const again = await openEmbedded(data, fast);
    expect(await query(again.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    await found.close();
    await again.close();
    expect(existsSync(join(again.directory, "postmaster.pid"))).toBe(false);
  });

  test("the server, recovered from a crash: keeps running for its users", async () => {
    const data = await preparedDataDirectory(join(folder, "recovered"));
    const user = await openEmbedded(data, fast);
    const pid = await serverPid(user.directory);
    const victim = clientOf(user.url);
    const [row] = await victim`select pg_backend_pid() as pid`;
    const shares = "select pid from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted";
    const [first] = await query(user.url, shares);
    process.kill(row?.["pid"], "SIGKILL");
    // The crash of one backend cuts all connections. Then another backend takes the shared lock again.
    const retaken = `${shares} and pid <> ${first?.["pid"]}`;
    await until(async () => (await query(user.url, retaken).catch(() => [])).length > 0);
    const passerBy = await openEmbedded(data, fast);
    await passerBy.close();
    expect(isAlive(pid)).toBe(true);
    await victim.end({ timeout: 0 });
    await user.close();
    expect(isAlive(pid)).toBe(false);
  });

  test.each([
    ["process that has ended", "2147483646"],
    ["process of another user", "1"],
  ])("an impostor at the port in a stale postmaster.pid of a %s: receives nothing", async (_, pid) => {
    const data = await preparedDataDirectory(join(folder, `stale-${pid}`));
    const { directory, close } = await openEmbedded(data, fast);
    await close();
    const heard: (string | Buffer)[] = [];
    const sockets = new Set<Socket>();
    const impostor = createServer((socket) => {
      sockets.add(socket);
      // The impostor always requests the password in clear text.
      socket
        .on("error", () => {})
        .on("data", (chunk) => {
          heard.push(chunk);
          socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
        });
    });
    await new Promise<void>((resolve) => impostor.listen(0, "127.0.0.1", resolve));
    const { port } = impostor.address() as { port: number };
    const { uid, gid } = await stat(directory);
    const file = join(directory, "postmaster.pid");
    // The file of a killed server of the version that listened by TCP.
    await writeFile(file, `${pid}\n${directory}\n1700000000\n${port}\n\n127.0.0.1\n  0  0\nready   \n`);
    await chown(file, uid, gid);

    const embedded = await openEmbedded(data, fast);
    expect(await query(embedded.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    await embedded.close();
    expect(heard.map(String)).toEqual([]);
    for (const socket of sockets) socket.destroy();
    impostor.close();
  });

  test("a data path that is too long for a socket: the socket is in a private folder elsewhere", async () => {
    const parent = join(folder, "l".repeat(60), "o".repeat(60));
    const [data, copy] = [join(parent, "data"), join(parent, "copy")];
    await mkdir(parent, { recursive: true });
    await preparedDataDirectory(data);
    const first = await openEmbedded(data, fast);
    const [{ host = "" } = {}] = parseHosts(first.url);
    const { uid } = await stat(first.directory);
    const of = await stat(host);
    expect([of.isDirectory(), of.uid, of.mode & 0o777]).toEqual([true, uid, 0o700]);
    expect(Buffer.byteLength(`${host}/.s.PGSQL.5432`)).toBeLessThanOrEqual(103);
    await query(first.url, "create table kept as select 'original' as name");
    // Another process finds the socket by another path.
    const second = await openEmbedded(join(parent, ".", "data"), fast);
    expect(second.url).toBe(first.url);
    await first.close();
    await second.close();
    expect(existsSync(host)).toBe(false);

    await Bun.$`cp -a ${data} ${copy}`.quiet();
    const both = await Promise.all([openEmbedded(data, fast), openEmbedded(copy, fast)]);
    expect(both[0].url).not.toBe(both[1].url);
    await query(both[1].url, "update kept set name = 'copy'");
    expect(await query(both[0].url, "select name from kept")).toEqual([{ name: "original" }]);
    await Promise.all(both.map(({ close }) => close()));
  });

  test("a recorded socket folder, open to other users: not used", async () => {
    const parent = join(folder, "m".repeat(60), "n".repeat(60));
    await mkdir(parent, { recursive: true });
    const data = await preparedDataDirectory(join(parent, "data"));
    const { directory, close } = await openEmbedded(data, fast);
    await close();
    const open = join(folder, "open");
    await mkdir(open);
    await chmod(open, 0o777);
    await writeFile(join(data, "socket-directory"), `${open}\n${directory}\n`);
    const embedded = await openEmbedded(data, fast);
    expect(parseHosts(embedded.url)[0]?.host).not.toBe(open);
    await embedded.close();
  });

  test("a server that cannot run here: the error names the remedy", async () => {
    const broken = join(folder, "broken");
    await mkdir(join(broken, "bin"), { recursive: true });
    for (const name of ["initdb", "postgres"]) {
      await writeFile(join(broken, "bin", name), "not a program", { mode: 0o755 });
    }
    const attempt = openEmbedded(join(folder, "unborn"), { binaries: broken });
    await expect(attempt).rejects.toThrow(/cannot run on this machine.*DATABASE_URL/s);
  });

  test("a data folder that cannot be created: the error names it", async () => {
    await expect(openEmbedded("/proc/nowhere/data", fast)).rejects.toThrow(/\/proc\/nowhere\/data of DATA_DIR/);
  });

  test("a server that does not start: the error has the end of its log", async () => {
    const data = await preparedDataDirectory(join(folder, "damaged"));
    const embedded = await openEmbedded(data, fast);
    await embedded.close();
    await writeFile(join(embedded.directory, "postgresql.conf"), "this is no setting\n");
    await expect(openEmbedded(data, fast)).rejects.toThrow(/does not start:.*syntax error.*DATABASE_URL/s);
  });
});
