/** An attempt to join the fragments of a call: its files are joined, signed and stored. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ClaimedRecordings, JoinOutcome, RecordingFile } from "@realtime-avatar/db/recordings/joining";
import { fragmentKey, recordingKey } from "@realtime-avatar/domain/recordings/files";
import { type Fragment, MAX_FRAGMENT_BYTES, readFragment } from "@realtime-avatar/domain/recordings/fragment";
import type { PlannedRecording } from "@realtime-avatar/domain/recordings/schemas";
import type { Logger } from "@realtime-avatar/runtime/log";
import { type Storage, StorageError } from "@realtime-avatar/storage/storage";
import { errorText } from "../jobs/run-job.ts";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import { CAPTURE, COMPOSITE, type MediaSource } from "../videos/c2pa/manifest.ts";
import type { SignVideo } from "../videos/sign.ts";
import { joinFragments } from "./join.ts";
import type { JoinedMedia } from "./joined-file.ts";

export type AttemptOptions = {
  storage: Storage;
  log: Logger;
  temporary: TemporaryFolders;
  /** Marks a file: see `signVideo`. */
  sign: (file: Omit<SignVideo, "signer">) => Promise<void>;
};

/** No fragment of a call could be read. Another attempt can succeed. */
class NoFragments extends Error {
  override readonly name = "NoFragments";
}

const VOICE_OF_A_PERSON: MediaSource = {
  digitalSourceType: CAPTURE,
  description: "The voice of a person, recorded in a call with an avatar of an AI system.",
};
const CALL_WITH_AN_AVATAR: MediaSource = {
  digitalSourceType: COMPOSITE,
  description: "A recording of a call with an avatar of an AI system, which has made its voice and its movement.",
};

/** The bytes of a stored fragment; null when they are missing or damaged. */
const readStored = async (storage: Storage, key: string, signal: AbortSignal): Promise<Uint8Array | null> => {
  try {
    const stored = await storage.open(key, undefined, signal);
    if (stored === null) return null;
    if (stored.sizeBytes <= MAX_FRAGMENT_BYTES) return new Uint8Array(await new Response(stored.stream).arrayBuffer());
    await stored.stream.cancel();
    return null;
  } catch (error) {
    if (error instanceof StorageError && error.reason === "damaged") return null;
    throw error;
  }
};

/** Reads the fragments of a call one after another. A fragment that is missing or damaged is a gap of its files. */
async function* readFragments(
  { storage, log }: AttemptOptions,
  call: ClaimedRecordings,
  signal: AbortSignal,
): AsyncGenerator<Fragment> {
  let found = 0;
  for (const fragment of call.fragments) {
    signal.throwIfAborted();
    const bytes = await readStored(storage, fragmentKey(call, fragment), signal);
    const read = bytes && readFragment(bytes);
    if (read === null) {
      const { tenantId, sessionId: session } = call;
      log.warn({ tenantId, session, ...fragment }, "a fragment of a recording is missing or damaged: it is left out");
      continue;
    }
    found++;
    yield read;
  }
  if (found === 0)
    throw new NoFragments("The store has no fragment of this call. Do the API and the worker use one store?");
}

type FileOfCall = PlannedRecording & { path: string; media: JoinedMedia };

/** Signs a file and stores it. */
const store = async (
  { storage, sign }: AttemptOptions,
  call: ClaimedRecordings,
  { id, mode, role, path, media }: FileOfCall,
  signal: AbortSignal,
): Promise<RecordingFile> => {
  const source = role === "user" ? VOICE_OF_A_PERSON : CALL_WITH_AN_AVATAR;
  await sign({ path, createdAt: new Date(), source, signal });
  const key = recordingKey(call, id, call.attemptCount);
  const { size: sizeBytes } = await stat(path);
  await storage.put(key, { path }, mode === "audio" ? "audio/mp4" : "video/mp4");
  // Makes room on the disk for the next file.
  await rm(path);
  const [mediaStartedAt, mediaEndedAt] = [new Date(media.mediaStartedAt), new Date(media.mediaEndedAt)];
  return { id, key, sizeBytes, durationMs: media.durationMs, mediaStartedAt, mediaEndedAt };
};

/** Deletes files that no row names. The sweep of files without a row removes the rest. */
export const deleteFiles = async (
  { storage, log }: Pick<AttemptOptions, "storage" | "log">,
  keys: readonly string[],
): Promise<void> => {
  for (const key of keys)
    await storage
      .delete(key)
      .catch((error: unknown) => log.warn({ error: errorText(error) }, "failed to delete a file of a recording"));
};

/** Joins the fragments of a call into the files of its recordings, and stores these. An attempt that throws leaves no file. */
export const joinRecordings = (
  options: AttemptOptions,
  call: ClaimedRecordings,
  signal: AbortSignal,
): Promise<Exclude<JoinOutcome, { kind: "retry" }>> =>
  options.temporary.use(async (folder) => {
    const planned = call.recordings.map((recording) => ({ ...recording, path: join(folder, recording.id) }));
    const joined = await joinFragments(
      readFragments(options, call, signal),
      planned.map(({ path, role, mode }) => ({ path, role: role ?? "both", hasPictures: mode === "audio_video" })),
    );
    const files: RecordingFile[] = [];
    try {
      for (const [index, recording] of planned.entries()) {
        const media = joined[index] ?? null;
        if (media !== null) files.push(await store(options, call, { ...recording, media }, signal));
      }
      return files.length === 0 ? { kind: "failed", code: "recording_unavailable" } : { kind: "ready", files };
    } catch (error) {
      await deleteFiles(
        options,
        files.map(({ key }) => key),
      );
      throw error;
    }
  });
