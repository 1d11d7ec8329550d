/** Builds the image without a container engine: in a folder, step by step as the Dockerfile says. */
import { expect } from "bun:test";
import { cp, mkdir, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { REPOSITORY, runToEnd } from "@realtime-avatar/testing/processes";
import { avatarWorkerStage, buildStage, contextFiles, imageStage, takenBy } from "./support.ts";

export const APPS = ["api", "avatar-worker", "cli", "dashboard", "worker"] as const;

/**
 * The folders of the results: the programs, the libraries of the worker, the avatar worker with its libraries, and the
 * bundles.
 */
export type Built = {
  programs: string;
  libraries: string;
  avatarWorker: string;
  notices: string;
  bundles: Record<string, string>;
};

/** Executes the build stage in a folder that has only what the stage copies. */
export const build = async (
  folder: string,
  { programs, libraries, avatarWorker, notices, bundles }: Built,
): Promise<void> => {
  const source = join(folder, "source");
  const tools = join(folder, "tools");
  await Promise.all([mkdir(source), mkdir(tools)]);
  const bun = join(tools, "bun");
  await symlink(process.execPath, bun);
  const context = await contextFiles();
  for (const { name, text } of buildStage) {
    if (name === "COPY") {
      const words = text.split(" ");
      const target = words.pop() ?? "";
      for (const word of words) {
        const files = context.filter((file) => file === word || file.startsWith(`${word}/`));
        if (files.length === 0) throw new Error(`COPY ${word}: the build has no such file`);
        for (const file of files) {
          const inFolder = target.endsWith("/") ? join(target, basename(file)) : target;
          const to = file === word ? inFolder : join(target, file.slice(word.length + 1));
          await cp(join(REPOSITORY, file), join(source, to), { recursive: true });
        }
      }
    }
    if (name === "RUN") {
      const PATH = `${tools}:${process.env["PATH"]}`;
      const { code, stderr } = await runToEnd(["sh", "-c", `cd "$0" && ${text}`, source], { PATH });
      if (code !== 0) throw new Error(`RUN ${text}: ${stderr}`);
    }
  }
  // COPY --from=build: only the programs and their notices remain.
  const notice = { "dist/THIRD_PARTY_NOTICES.txt": "/usr/share/doc/realtime-avatar/" };
  expect(takenBy(imageStage)).toEqual({
    "dist/bin/": "/usr/local/bin/",
    "dist/lib/": "/usr/local/lib/",
    ...notice,
  });
  expect(takenBy(avatarWorkerStage)).toEqual({
    "dist/avatar-worker/bin/": "/usr/local/bin/",
    "dist/avatar-worker/lib/": "/usr/local/lib/",
    "dist/bin/realtime-avatar": "/usr/local/bin/",
    ...notice,
  });
  await rename(join(source, "dist/avatar-worker"), avatarWorker);
  await rename(join(source, "dist/bin"), programs);
  // Beside the programs, as in the image.
  await rename(join(source, "dist/lib"), libraries);
  await rename(join(source, "dist/THIRD_PARTY_NOTICES.txt"), notices);
  await Promise.all(
    APPS.map(async (app) => {
      const dist = join(source, "apps", app, "dist");
      // The API's program contains that of the dashboard, which is built by now.
      if (app !== "dashboard") {
        const { code, stderr } = await runToEnd(["sh", "-c", 'cd "$0" && "$1" run build', dirname(dist), bun]);
        if (code !== 0) throw new Error(`the bundle of ${app}: ${stderr}`);
      }
      await rename(dist, bundles[app] ?? "");
    }),
  );
  await rm(source, { recursive: true });
};
