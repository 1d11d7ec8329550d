/** Files of recordings in the store, as far as a row names them. */
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import type { Runner } from "../connection/batch.ts";
import { batchStatement, inputColumn } from "../query/statement.ts";
import { recordingFragments, recordings, unneededFiles } from "../schema/recordings.ts";

/** A stored file. `generation` and `n`: of a fragment; null for the file of a recording. */
export type StoredRecordingFile = {
  key: string;
  tenantId: TenantId;
  sessionId: SessionId;
  generation: number | null;
  n: number | null;
};

const bytewise = (name: keyof StoredRecordingFile) => sql`${inputColumn(name)} collate "C"`;

const selectNamed = batchStatement<{ isNamed: boolean }, StoredRecordingFile>(
  "list_named_recording_files",
  ["key", "tenantId", "sessionId", "generation", "n"],
  (inputs) => sql`
    select position::integer as "position", exists (
      select from ${recordingFragments}
      where ${recordingFragments.tenantId} = ${bytewise("tenantId")} and ${recordingFragments.sessionId} = ${bytewise("sessionId")}
        and ${recordingFragments.generation} = ${inputColumn("generation")}::integer
        and ${recordingFragments.n} = ${inputColumn("n")}::integer
    ) or exists (
      select from ${recordings}
      where ${recordings.sessionId} = ${bytewise("sessionId")} and ${recordings.tenantId} = ${bytewise("tenantId")}
        and ${recordings.key} = ${bytewise("key")}
    ) or exists (
      select from ${unneededFiles}
      where ${unneededFiles.tenantId} = ${bytewise("tenantId")} and ${unneededFiles.key} = ${bytewise("key")}
      -- Else the planner reads the whole table into a hash.
      offset 0
    ) as "isNamed"
    from ${inputs}`,
);

/** The keys of the files that a row names: a fragment, a recording, or a file to delete. One statement. */
export const namedRecordingFiles = async (db: Runner, files: readonly StoredRecordingFile[]): Promise<string[]> =>
  (await selectNamed(db, files))
    .filter(({ isNamed }) => isNamed)
    .map(({ position }) => (files[position - 1] as StoredRecordingFile).key);
