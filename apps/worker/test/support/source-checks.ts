/** Checks of a source without a sandbox, for tests of the handling of its outcome. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { encodeMesh, MESH_POINTS } from "@realtime-avatar/domain/avatars/face-mesh";
import type { CheckSource } from "../../src/preparation/check-source.ts";
import { derivedFiles } from "../../src/preparation/derived-files.ts";

export const PASSED: Check = { code: "resolution", verdict: "pass", measured: 640, limit: 512, detail: "640 pixels." };
export const FAILED: Check = {
  code: "face_count",
  verdict: "fail",
  measured: 0,
  limit: 1,
  detail: "No face was found.",
};

/** A mesh whose points are all at one place. */
export const MESH = encodeMesh(Array.from({ length: MESH_POINTS }, () => [256, 256, 0]));

/** Accepts every file. The pictures are the file itself, its first half and its first quarter. */
export const accept: CheckSource = async ({ path, folder }) => {
  const bytes = await readFile(path);
  const files = derivedFiles(join(folder, "x"));
  await writeFile(files.normalized, bytes);
  await writeFile(files.thumb, bytes.subarray(0, bytes.length / 2));
  await writeFile(files.animated, bytes.subarray(0, bytes.length / 4));
  return { kind: "checked", checks: [PASSED], files: { ...files, mesh: MESH, loop: null } };
};

/** Finds no face. */
export const refuse: CheckSource = async () => ({ kind: "checked", checks: [PASSED, FAILED], files: null });
