/** Shared by the tests of the deployment: its files, parsed. */

import { expect } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { readConfig } from "../apps/api/src/config.ts";
import { CHILD_ARGUMENT, PROGRAM_ARGUMENT } from "../apps/worker/src/sandbox/command.ts";
import { OUTPUTS } from "../apps/worker/src/sandbox/report.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is in a document is what the tests look at
export type Yaml = any;

export const read = (name: string): Promise<string> => readFile(join(REPOSITORY, name), "utf8");

export const [dockerfile, dockerignore, unit, composeText, kubernetesText, configuration] = await Promise.all(
  ["Dockerfile", ".dockerignore", "deploy/realtime-avatar-api.service", "compose.yaml", "deploy/kubernetes.yaml"]
    .concat("docs/configuration.md")
    .map(read),
);

export const PROGRAMS = ["realtime-avatar", "realtime-avatar-api", "realtime-avatar-worker"];

/** The program in the image of the avatar worker. The command line is beside it. */
export const AVATAR_WORKER = "realtime-avatar-avatar-worker";

export const compose: Yaml = Bun.YAML.parse(composeText ?? "");

type Instruction = { name: string; text: string };
/** The instructions of the Dockerfile: those before its first stage, and a list for each of its stages. */
const parts: Instruction[][] = (dockerfile ?? "")
  .replace(/^#.*\n/gm, "")
  .replace(/\\\n\s*/g, "")
  .split(/^(?=FROM )/m)
  .map((stage) =>
    stage
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const [name = "", ...words] = line.split(" ");
        return { name, text: words.join(" ") };
      }),
  );
export const [globals = [], buildStage = [], avatarWorkerStage = [], imageStage = []] = parts;
export const inImage = (name: string): string =>
  imageStage.find((instruction) => instruction.name === name)?.text ?? "";
/** The files that an image takes from the build, by their paths there: `/src/…`. */
export const takenBy = (stage: readonly Instruction[]): Record<string, string> =>
  Object.fromEntries(
    stage.flatMap(({ name, text }) => {
      const [, from = "", to = ""] = (name === "COPY" && /^--from=build \/src\/(\S+) (\S+)$/.exec(text)) || [];
      return from === "" ? [] : [[from, to] as const];
    }),
  );
export const imageVariables = Object.fromEntries(
  imageStage.filter(({ name }) => name === "ENV").map(({ text }) => text.split("=") as [string, string]),
);

/** Whether .dockerignore excludes a file. The last pattern that matches the file, or a folder above it, decides. */
export const isIgnored = (file: string): boolean => {
  const parts = file.split("/");
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  let ignored = false;
  for (const line of (dockerignore ?? "").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const isKept = line.startsWith("!");
    const glob = new Bun.Glob(isKept ? line.slice(1) : line);
    if (paths.some((path) => glob.match(path))) ignored = !isKept;
  }
  return ignored;
};

/** The files of the repository that .dockerignore does not exclude. */
export const contextFiles = async (): Promise<string[]> => {
  const entries = (await readdir(REPOSITORY, { withFileTypes: true })).filter(({ name }) => !isIgnored(name));
  const files = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory()) return [entry.name];
      return Array.fromAsync(new Bun.Glob(`${entry.name}/**`).scan({ cwd: REPOSITORY, dot: true }));
    }),
  );
  return files.flat().filter((file) => !isIgnored(file));
};

export const [uid = "", gid = ""] = inImage("USER").split(":");

export const CMD: string[] = JSON.parse(inImage("CMD"));
export const [, healthCommand = "[]"] = inImage("HEALTHCHECK").match(/ CMD (\[.*\])$/) ?? [];
export const HEALTHCHECK: string[] = JSON.parse(healthCommand);

export const KNOWN = new Set([...(configuration ?? "").matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name]) => name));

/** Checks that the variables are those of the service and have the right form, and that a process has enough time to end. */
export const checkVariables = (variables: Record<string, string>, stopSeconds: number): void => {
  for (const name of Object.keys(variables)) expect([name, KNOWN.has(name)]).toEqual([name, true]);
  const { shutdownGraceMs, database } = readConfig(variables);
  expect(shutdownGraceMs).toBeGreaterThan(0);
  // A request may take the time for its body, and then the time for the database.
  expect(1000 * stopSeconds).toBeGreaterThan(shutdownGraceMs + 2.1 * database.deadlineMs);
};
export const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]);

/**
 * The command by which the sandbox runs a compiled worker. The worker confines itself again, as it does outside of
 * tests.
 */
export const compiledChild = (worker: string, libraries: string) => {
  const program = { paths: [worker, libraries], listed: [], isForeign: false };
  const launch = JSON.stringify({ program, descriptors: 3 + Math.max(...Object.values(OUTPUTS)), parent: process.pid });
  return { program, command: (task: string) => [worker, PROGRAM_ARGUMENT, launch, worker, CHILD_ARGUMENT, task] };
};
