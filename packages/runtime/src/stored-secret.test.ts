import { expect, test } from "bun:test";
import { chmod, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Secret } from "@realtime-avatar/storage/secret";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { openStoredSecret, readStoredSecret } from "./stored-secret.ts";

const folderOf = async (): Promise<string> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  return join(folder, "data");
};

test("a stored secret of eight processes that start together: the same, in a file that only this user can read", async () => {
  const folder = await folderOf();
  const secrets = await Promise.all(Array.from({ length: 8 }, () => readStoredSecret(folder, "session-secret")));
  expect(new Set(secrets.map((secret) => secret.reveal())).size).toBe(1);
  expect(secrets[0]?.reveal()).toHaveLength(43);
  expect((await stat(join(folder, "session-secret"))).mode & 0o777).toBe(0o600);
  expect(`${secrets[0]}`).toBe("[secret]");
});

test("a stored secret, too short: refused", async () => {
  const folder = await folderOf();
  await readStoredSecret(folder, "session-secret");
  await chmod(join(folder, "session-secret"), 0o600);
  await writeFile(join(folder, "session-secret"), "short");
  await expect(readStoredSecret(folder, "session-secret")).rejects.toThrow("too short");
  // A random secret must not replace it: values sealed with it could not be opened.
  const warnings: unknown[] = [];
  const log = { warn: (warning: unknown) => void warnings.push(warning) };
  const open = (secret: Secret | null) =>
    openStoredSecret(secret, { dataDirectory: folder, name: "session-secret", warning: "w" }, log as never);
  await expect(open(null)).rejects.toThrow("too short");
  expect([(await open(new Secret("s".repeat(32)))).reveal(), warnings]).toEqual(["s".repeat(32), []]);
});
