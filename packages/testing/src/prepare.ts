/** Creates what the test processes share, before they start: otherwise each of them would create it, all at the same time. */
import { bundleOf, releaseOfApi } from "./bundles.ts";
import { findPrepared } from "./postgres/prepared.ts";

releaseOfApi();
for (const app of ["api", "cli", "worker"]) bundleOf(`apps/${app}/src/main.ts`);
await findPrepared();
