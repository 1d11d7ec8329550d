/**
 * Creates the shared files of the test processes before they start. Otherwise each process would create them at the
 * same time.
 */
import { buildAll } from "./bundles.ts";
import { findPrepared } from "./postgres/prepared.ts";

await Promise.all([buildAll(), findPrepared()]);
