/**
 * Runs all tests in several processes when the command is plain `bun test`. Three processes keep two cores busy while
 * some wait. With more processes, tests of calls get too little processor time and fail. Without the system tests, four
 * processes use the time that three leave idle. On two cores, the tests passed with four processes beside six busy ones,
 * and failed with six processes. `bunfig.toml` cannot set `--parallel` and `--timeout`. Preload this file before the
 * others.
 */
import { existsSync, readFileSync } from "node:fs";

/** The options of a run in this number of processes, as in the scripts of package.json. */
export const testOptions = (processes: number): string[] => [
  `--parallel=${processes}`,
  "--no-isolate",
  "--timeout=60000",
  "--timings=.ci/test-times.json",
];
/** Options that affect neither how files run nor which files run. */
const NEUTRAL =
  /^--(?:timeout|bail|reporter|reporter-outfile|only-failures|dots|path-ignore-patterns|update-timings)(?:=|$)/;

/** The options of a command that runs all tests; null for any other command, such as one that names a file. */
export const optionsOfAll = ([, subcommand, ...options]: readonly string[]): string[] | null =>
  subcommand === "test" && options.every((option) => NEUTRAL.test(option)) ? options : null;

/** The command of this process. Bun shows only the file in `process.argv`. */
const ownCommand = (): string[] => {
  if (existsSync("/proc/self/cmdline")) return readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  const { stdout } = Bun.spawnSync(["ps", "-ww", "-o", "args=", "-p", `${process.pid}`]);
  return stdout.toString().trim().split(/\s+/);
};

const options = optionsOfAll(ownCommand());
if (options) {
  await import("../prepare.ts");
  const child = Bun.spawn([process.execPath, "test", ...testOptions(3), ...options], {
    stdio: ["inherit", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  process.exit(await child.exited);
}
