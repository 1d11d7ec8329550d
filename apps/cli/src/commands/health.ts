/** `health`: asks a running process whether it is ready. */
import { readHost, readPort, readVariables } from "@realtime-avatar/runtime/config";
import type { Health } from "@realtime-avatar/runtime/health";
import type { ProvidersHealth } from "@realtime-avatar/runtime/providers/check";
import type { Command } from "commander";
import { type OutputOptions, withOutputOptions } from "../options.ts";
import { print, printable, UsageError } from "../terminal.ts";
import { checkLivekit, livekitText } from "./livekit-health.ts";
import { checkOwnProviders, providersTexts } from "./providers-health.ts";

type HealthOptions = OutputOptions & { url?: string; worker?: boolean; avatarWorker?: boolean };

/** Timeout of a health check. */
const HEALTH_DEADLINE_MS = 2000;

/** The URL of a process on this machine, derived from the variables of that process. */
const localUrl = ({ worker, avatarWorker }: HealthOptions): string => {
  const [variable, fallback] = worker
    ? (["WORKER_PORT", 3001] as const)
    : avatarWorker
      ? (["AVATAR_WORKER_PORT", 3002] as const)
      : (["PORT", 3000] as const);
  const [host, port] = readVariables(
    process.env,
    (variables) => [readHost(variables), readPort(variables, variable, fallback)] as const,
  );
  // A process that listens on all addresses is reached on loopback.
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
};

/** `url`: the checked address. `providers`: the health of the providers of conversations. */
type HealthResult = (Health | { status: "unavailable"; reason: "unreachable" }) & {
  url: string;
  providers?: ProvidersHealth;
};

const checkReadiness = async (url: string): Promise<HealthResult> => {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(HEALTH_DEADLINE_MS),
      redirect: "error",
    });
    const health = (await response.json()) as Health;
    if (response.ok === (health.status === "ok")) return { ...health, url };
  } catch {
    // No response in time, or a response of another program.
  }
  return { status: "unavailable", reason: "unreachable", url };
};

/** The URL without user name and password, because it is printed. */
const readinessUrl = (text: string): string => {
  const url = new URL("/readyz", text);
  return Object.assign(url, { username: "", password: "" }).href;
};

const check = async (options: HealthOptions): Promise<void> => {
  const url = options.url ?? localUrl(options);
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError("--url: Must be an http:// URL.");
  // Connect directly, even if the environment (of a container, for example) sets a proxy.
  process.env["NO_PROXY"] = "*";
  const isApi = !options.worker && !options.avatarWorker;
  const [health, livekit, own] = await Promise.all([
    checkReadiness(readinessUrl(url)),
    isApi ? checkLivekit() : null,
    isApi ? checkOwnProviders(HEALTH_DEADLINE_MS) : {},
  ]);
  const providers = { ...own, ...health.providers };
  const lines = [
    `${health.status === "ok" ? "ready" : `not ready: ${health.reason}`} (${health.url})`,
    // An unavailable LiveKit or provider does not make the service unready: everything except calls works.
    ...(livekit === null ? [] : [livekitText(livekit)]),
    ...providersTexts(providers),
  ];
  const more = { ...(livekit && { livekit }), ...(Object.keys(providers).length > 0 && { providers }) };
  print(options, { ...health, ...more }, lines.map(printable).join("\n"));
  if (health.status !== "ok") process.exitCode = 1;
};

export const addHealth = (program: Command): void => {
  const health = program
    .command("health")
    .description("check whether a running process is ready; exit code 0 if it is, 1 if not")
    .option("--url <url>", "URL of the process (default: from HOST and PORT)")
    .option("--worker", "check the worker instead of the API (HOST and WORKER_PORT)")
    .option("--avatar-worker", "check the avatar worker (HOST and AVATAR_WORKER_PORT)");
  withOutputOptions(health).action(check);
};
