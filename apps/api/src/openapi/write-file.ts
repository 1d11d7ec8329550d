/**
 * Writes docs/openapi.json: `bun run openapi`. A test fails when the file differs from the document that the service
 * serves.
 */
import { join } from "node:path";
import { createApp } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Dependencies } from "../dependencies.ts";
import { openApiDocument } from "./document.ts";

export const OPENAPI_FILE = join(import.meta.dir, "../../../../docs/openapi.json");

/** The document. Here the application only lists its routes, which needs no database. */
export const describeApi = () =>
  openApiDocument(createApp({ config: readConfig({}) } as unknown as Dependencies).routes);

if (import.meta.main) await Bun.write(OPENAPI_FILE, `${JSON.stringify(describeApi(), null, 2)}\n`);
