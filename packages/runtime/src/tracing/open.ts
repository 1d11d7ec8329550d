import type { AtExit } from "../lifecycle.ts";
import type { Tracing } from "../tracing.ts";
import type { TracingConfig } from "../tracing-config.ts";

/** How long shutdown waits for the export of the last traces. */
const FLUSH_MS = 1000;

/**
 * Starts tracing, which ends at the exit. When tracing is not configured, returns null and does not load OpenTelemetry.
 */
export const openTracing = async (
  config: TracingConfig | null,
  version: string,
  log: { warn(message: string): void },
  atExit: AtExit,
): Promise<Tracing | null> => {
  if (config === null) return null;
  const tracing = (await import("../tracing.ts")).startTracing(config, version, (message) => log.warn(message));
  atExit(() => tracing.stop(FLUSH_MS));
  return tracing;
};
