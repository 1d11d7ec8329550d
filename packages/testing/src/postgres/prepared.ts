/** A data directory of the embedded PostgreSQL whose databases have the schema. It is created once, and kept between runs. */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded } from "@realtime-avatar/db/connection/embedded";
import { grantService } from "@realtime-avatar/db/grant";
import { migrate } from "@realtime-avatar/db/migrate";
import { cacheFolder } from "../bundles.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { client, withDatabase } from "./client.ts";

/**
 * The template database. The database `postgres` cannot be a template, because the server always has a session there.
 */
export const TEMPLATE = "avatar_test_template";
/** A role that has the rights of the service in the template and its copies. Its password is that of the server's owner. */
export const SERVICE_ROLE = "avatar_test_service";
/** Creates a role with the rights of the service in the database of `url`. */
export const createServiceRole = async (url: string, role: string): Promise<void> => {
  const admin = client(url);
  const password = decodeURIComponent(new URL(url).password).replaceAll("'", "''");
  await admin.unsafe(`create role ${role} login password '${password}'`);
  await admin.end();
  await grantService(url, role);
};
/**
 * The statement that creates a database from another one. Copying the files takes half as long as writing a log of
 * them.
 */
export const createDatabase = (name: string, source: string): string =>
  `create database ${name} encoding 'UTF8' locale 'C' template ${source} strategy file_copy`;

/** The sources of the schema of a database. The lock file has the version of PostgreSQL. */
const SCHEMA_SOURCES = [
  ...["bun.lock", "patches/*", "packages/testing/src/postgres/*"],
  ...["packages/db/{src,migrations,generated}/**", "packages/domain/src/**"],
];

/**
 * Creates the prepared data directory in the cache. The test processes run at the same time. The first one that
 * finishes wins.
 */
const prepare = async (target: string): Promise<void> => {
  const folder = await temporaryFolder();
  const embedded = await openEmbedded(join(folder, "data"), { settings: { fsync: "off" } });
  const admin = client(embedded.url);
  await admin.unsafe(createDatabase(TEMPLATE, "template0"));
  await admin.end();
  const template = withDatabase(embedded.url, TEMPLATE);
  await Promise.all([embedded.url, template].map((url) => migrate(url)));
  await createServiceRole(template, SERVICE_ROLE);
  await embedded.close();
  await rm(join(embedded.directory, "server.log"));
  const draft = `${target}.${process.pid}`;
  await Bun.$`tar -cf ${draft} -C ${join(folder, "data")} .`.quiet();
  await rm(folder, { recursive: true });
  await rename(draft, target).catch(async (error: Error) => {
    await rm(draft);
    if (!existsSync(target)) throw error;
  });
};

/** The archive of the prepared data directory, kept between runs; null until a test needs it. */
let prepared: Promise<string> | null = null;

/** The path of the archive of the prepared data directory, which is created unless the cache has it. */
export const findPrepared = async (): Promise<string> => {
  // Only the user who created the files can read them.
  const data = join(cacheFolder("test-databases", SCHEMA_SOURCES), `data-${process.getuid?.()}.tar`);
  if (!existsSync(data)) await prepare(data);
  return data;
};

/**
 * Creates `data` as a data directory whose embedded database has the schema and no rows, and returns it. It is a copy
 * of a directory that is created once. Extracting 1,700 files from an archive takes half as long as copying them, and a
 * twentieth of the time of initdb and the migrations.
 */
export const preparedDataDirectory = async (data: string): Promise<string> => {
  prepared ??= findPrepared();
  const archive = await prepared;
  await mkdir(data, { mode: 0o700 });
  await Bun.$`tar -xpf ${archive} -C ${data}`.quiet();
  return data;
};
