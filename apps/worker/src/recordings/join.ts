/**
 * Joins the fragments of a call into its files. Each fragment is written to them before the next one is read: only the tables of the
 * samples are held.
 */
import { type FileHandle, open } from "node:fs/promises";
import type { Fragment, SoundRole } from "@realtime-avatar/domain/recordings/fragment";
import { writeAll } from "@realtime-avatar/storage/disk/files";
import { createGap } from "./gap.ts";
import { createJoinedFile, type JoinedMedia } from "./joined-file.ts";

/** A file to write. */
export type FileToJoin = { path: string; role: SoundRole; hasPictures: boolean };

/** Writes files from `fragments`, which are in their order. Returns what each has, null for one without sound and pictures. */
export const joinFragments = async (
  fragments: AsyncIterable<Fragment>,
  files: readonly FileToJoin[],
): Promise<(JoinedMedia | null)[]> => {
  const gap = await createGap();
  const handles: FileHandle[] = [];
  try {
    for (const { path } of files) handles.push(await open(path, "wx", 0o600));
    const outputs = handles.map((handle, index) => {
      const { role = "both", hasPictures = false } = files[index] ?? {};
      const waiting: [bytes: Uint8Array, position: number][] = [];
      const joined = createJoinedFile({ role, hasPictures, gap, write: (...part) => void waiting.push(part) });
      const write = async (): Promise<void> => {
        for (const [bytes, position] of waiting.splice(0)) await writeAll(handle, bytes, position);
      };
      return { ...joined, write };
    });
    for await (const fragment of fragments) {
      for (const { add, write } of outputs) {
        for (const _ of add(fragment)) await write();
      }
    }
    const joined: (JoinedMedia | null)[] = [];
    for (const { finish, write } of outputs) {
      joined.push(finish());
      await write();
    }
    return joined;
  } finally {
    for (const handle of handles) await handle.close();
  }
};
