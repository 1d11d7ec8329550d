/**
 * The password of the embedded database and the location of its cluster are durable before their use, because the
 * database needs them after a power cut.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { canSeeSyncs, recordSyncs } from "@realtime-avatar/testing/storage/syncs";
import { makeEnterable, writeOnce } from "./files.ts";
import { initialize } from "./home.ts";

const root = await fileFolder();

test.skipIf(!canSeeSyncs)("a password: its content is durable before its name", async () => {
  const path = join(root, "password");
  const syncs = await recordSyncs(
    () => writeOnce(path, "text"),
    () => existsSync(path),
  );
  expect(syncs.map((sync) => [sync.path.replace(/\.[0-9a-f]{12}$/, ".*"), sync.seen])).toEqual([
    [`${path}.*`, false],
    [root, true],
  ]);
  expect([await readFile(path, "utf8"), (await stat(path)).mode & 0o777]).toEqual(["text\n", 0o600]);
  expect(await writeOnce(path, "another")).toBe("text");
});

test.skipIf(!canSeeSyncs)("folders for the cluster: the name of each is durable", async () => {
  const syncs = await recordSyncs(
    () => makeEnterable(join(root, "shelter/data")),
    () => existsSync(join(root, "shelter/data")),
  );
  expect(syncs).toEqual(["shelter", ""].map((name) => ({ path: join(root, name).replace(/\/$/, ""), seen: true })));
});

test.skipIf(!canSeeSyncs)("a new cluster: initdb makes it durable, then its name becomes durable", async () => {
  const binaries = join(root, "binaries");
  await mkdir(join(binaries, "bin"), { recursive: true });
  // A stand-in for initdb, which writes its arguments into the cluster.
  const initdb = `#!/bin/sh\nfor one in "$@"; do case "$one" in --pgdata=*) echo "$@" > "\${one#--pgdata=}/made";; esac; done\n`;
  await writeFile(join(binaries, "bin/initdb"), initdb);
  await chmod(join(binaries, "bin/initdb"), 0o755);
  for (const isDurable of [true, false]) {
    const cluster = join(root, `cluster-${isDurable}`);
    const syncs = await recordSyncs(
      () => initialize(binaries, cluster, "text", null, isDurable),
      () => existsSync(join(cluster, "made")),
    );
    expect(syncs).toEqual(isDurable ? [{ path: root, seen: true }] : []);
    expect((await readFile(join(cluster, "made"), "utf8")).includes("--no-sync")).toBe(!isDurable);
  }
});
