/** The stored files of recordings: their keys, and their bounds. */
import type { RecordingId, SessionId, TenantId } from "../id.ts";

/** The folder of the store. */
export const RECORDINGS_FOLDER = "recordings";

/** Maximum size of the fragments of a call, together. Later fragments are refused. */
export const MAX_RECORDING_BYTES = 2 * 1024 ** 3;

type RecordedCall = { tenantId: TenantId; sessionId: SessionId };

const folder = ({ tenantId, sessionId }: RecordedCall): string => `${RECORDINGS_FOLDER}/${tenantId}/${sessionId}`;

/** The key of a fragment. The functions of the database write the same. */
export const fragmentKey = (call: RecordedCall, { generation, n }: { generation: number; n: number }): string =>
  `${folder(call)}/${generation}-${n}`;

/**
 * The key of a file of a recording. `attempt`: counts the attempts to join the fragments, so that one whose lease is lost overwrites
 * nothing.
 */
export const recordingKey = (call: RecordedCall, id: RecordingId, attempt: number): string =>
  `${folder(call)}/${id}-${attempt}`;
