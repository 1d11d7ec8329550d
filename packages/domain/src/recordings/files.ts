/** The stored files of recordings: their keys, and their bounds. */
import { MAX_CALL_SECONDS } from "../calls/limits.ts";
import type { RecordingId, SessionId, TenantId } from "../id.ts";
import { FRAGMENT_MS } from "./fragment.ts";

/** The folder of the store. */
export const RECORDINGS_FOLDER = "recordings";

/** Maximum size of the fragments of a call, together. Later fragments are refused. */
export const MAX_RECORDING_BYTES = 2 * 1024 ** 3;

/**
 * Exclusive bound of the number of a fragment: twice the number that the longest call needs, because fragments can be
 * short.
 */
export const MAX_FRAGMENTS = (2 * MAX_CALL_SECONDS) / (FRAGMENT_MS / 1000);

type RecordedCall = { tenantId: TenantId; sessionId: SessionId };

const folder = ({ tenantId, sessionId }: RecordedCall): string => `${RECORDINGS_FOLDER}/${tenantId}/${sessionId}`;

/** The key of a fragment. The functions of the database write the same key. */
export const fragmentKey = (call: RecordedCall, { generation, n }: { generation: number; n: number }): string =>
  `${folder(call)}/${generation}-${n}`;

/**
 * The key of a file of a recording. `attempt`: counts the attempts to join the fragments. Each attempt has another key,
 * so that an attempt whose lease is lost overwrites nothing.
 */
export const recordingKey = (call: RecordedCall, id: RecordingId, attempt: number): string =>
  `${folder(call)}/${id}-${attempt}`;
