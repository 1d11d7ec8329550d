import { expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { checkDataDirectory } from "./data-directory.ts";

const folder = await fileFolder();
await writeFile(join(folder, "file"), "");
const embedded = (dataDirectory: string) => ({ database: { databaseUrl: null, dataDirectory } });

test("a writable data directory: created, and left empty", async () => {
  const path = join(folder, "new/data");
  await checkDataDirectory(embedded(path));
  await checkDataDirectory(embedded(path));
  expect(await readdir(path)).toEqual([]);
});

test.each([
  ["file", "it is a file (EEXIST)"],
  ["file/data", "it, or a folder above it, is a file (ENOTDIR)"],
])("a data directory at %s: the error says why it is unusable, and what to set", async (name, reason) => {
  const path = join(folder, name);
  const message = `DATA_DIR cannot be used: ${path}: ${reason}. Set DATA_DIR to a folder that this user can write to.`;
  await expect(checkDataDirectory(embedded(path))).rejects.toThrow(message);
});

// Even root cannot write there.
test.skipIf(process.platform !== "linux")(
  "a read-only data directory: refused only if the service needs it",
  async () => {
    const database = { databaseUrl: "postgres://", dataDirectory: "/sys/kernel" };
    await expect(checkDataDirectory({ database, storage: { kind: "disk" } })).rejects.toThrow(
      "this user may not write there",
    );
    await checkDataDirectory({ database, storage: { kind: "s3" } });
  },
);
