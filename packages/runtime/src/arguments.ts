/** The arguments of a program that environment variables configure: only `--help` and `--version`. */

export type Arguments =
  | { kind: "start" }
  /** `--help`, `-h` or `help`. */
  | { kind: "help" }
  | { kind: "version" }
  | { kind: "unknown"; argument: string };

/** `known`: arguments that the program takes from a process that starts it. */
export const readArguments = (args: readonly string[], known: readonly string[] = []): Arguments => {
  if (args.some((argument) => ["--help", "-h", "help"].includes(argument))) return { kind: "help" };
  if (args.includes("--version")) return { kind: "version" };
  const unknown = args.find((argument) => !known.includes(argument));
  return unknown === undefined ? { kind: "start" } : { kind: "unknown", argument: unknown };
};

/** The help and the version that a program prints. */
export type ProgramTexts = { help: string; version: string };

/**
 * Whether the program should start. Otherwise prints its help or version on standard output and sets the exit code 0.
 * For an unknown argument, names it on standard error and sets the exit code 2.
 */
export const isToStart = (
  args: readonly string[],
  { help, version }: ProgramTexts,
  known: readonly string[] = [],
): boolean => {
  const read = readArguments(args, known);
  switch (read.kind) {
    case "start":
      return true;
    case "help":
      process.stdout.write(help);
      return false;
    case "version":
      process.stdout.write(`${version}\n`);
      return false;
    case "unknown":
      // An argument can be a misplaced secret, so only its name is printed.
      process.stderr.write(`Unknown argument: ${read.argument.split("=")[0]}\n(use --help for usage)\n`);
      process.exitCode = 2;
      return false;
  }
};
