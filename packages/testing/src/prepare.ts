/** Creates what the test processes share, before they start: otherwise each of them would create it, all at the same time. */
import { buildAll } from "./bundles.ts";
import { findPrepared } from "./postgres/prepared.ts";

await Promise.all([buildAll(), findPrepared()]);
