/** Writes the generated parts of docs/api.md: a part of `bun run openapi`. */
import { join } from "node:path";
import { createApp } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Dependencies } from "../dependencies.ts";
import { type Described, writeTables } from "./api-tables.ts";
import { describeApi } from "./write-file.ts";

export const API_FILE = join(import.meta.dir, "../../../../docs/api.md");

/** The document with new generated parts. */
export const writtenAnew = (text: string): string =>
  writeTables(
    text,
    JSON.parse(JSON.stringify(describeApi())) as Described,
    createApp({ config: readConfig({}) } as unknown as Dependencies).routes,
  );

if (import.meta.main) await Bun.write(API_FILE, writtenAnew(await Bun.file(API_FILE).text()));
