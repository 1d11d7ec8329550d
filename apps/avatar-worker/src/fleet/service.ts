/** The worker's requests to the service. */
import { createHash } from "node:crypto";
import { readPreparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { TranscriptReceipt, type TranscriptReport, transcriptPath } from "@realtime-avatar/domain/calls/transcript";
import {
  callFilePath,
  fragmentPath,
  preloadFilePath,
  readSyncResponse,
  type SyncRequest,
  type SyncResponse,
  syncPath,
} from "@realtime-avatar/domain/calls/worker-sync";
import { isValid } from "@realtime-avatar/domain/schema";
import type { AvatarWorkerConfig } from "../config.ts";

/**
 * Maximum times of requests: of a sync, which the service holds for at most a second, of a file, and of parts of
 * transcripts and recordings.
 */
const LIMITS = { syncMs: 5000, fileMs: 10_000, transcriptMs: 5000, fragmentMs: 10_000 };
const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** A problem has a few hundred bytes. */
const MAX_PROBLEM_BYTES = 16 * 1024;
/** A response has up to a thousand calls, each with a manifest of up to 64 KiB. */
const MAX_RESPONSE_BYTES = 128 * 1024 * 1024;

/** The operator's mistake, by the code of the problem. */
const FAULTS: Record<string, string> = {
  realtime_not_configured: ": it has no LiveKit server, or no AVATAR_WORKER_SECRET",
  invalid_credentials: ": its AVATAR_WORKER_SECRET is another one",
};

/**
 * The service has responded with an error. `status`: the HTTP status. `code`: the code of the problem; null when the
 * response is not a problem of the service.
 */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly code: string | null;
  constructor(status: number, code: string | null = null) {
    super(`the service responded with ${status}${FAULTS[code ?? ""] ?? ""}`);
    this.name = "RefusedRequest";
    this.status = status;
    this.code = code;
  }
}

/** The bytes of a response. Throws above `maxBytes`, even if `Content-Length` is smaller. */
const readBytes = async ({ body }: Response, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.length;
    // Leaving the loop cancels the body.
    if (sizeBytes > maxBytes) throw new Error("the response is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** The `code` of a problem response (RFC 9457); null for any other. */
const problemCode = async (response: Response): Promise<string | null> => {
  try {
    const { code } = JSON.parse((await readBytes(response, MAX_PROBLEM_BYTES)).toString());
    return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? code : null;
  } catch {
    return null;
  }
};

export type Service = {
  /** Throws when the response is invalid, and `RefusedRequest` when it is an error. `signal` aborts the request. */
  sync(request: SyncRequest, signal: AbortSignal): Promise<SyncResponse>;
  /** Sends segments of a call. Throws like `sync`, with status 404 when the worker does not have the call. */
  transcript(sessionId: string, report: TranscriptReport): Promise<TranscriptReceipt>;
  /** Sends a fragment of the recording of a call. Throws as `sync` does. */
  fragment(sessionId: string, id: { generation: number; n: number }, bytes: Uint8Array): Promise<void>;
  /** A prepared file of the avatar of a call. Throws when its digest differs from its name. */
  file(sessionId: string, file: string): Promise<Uint8Array>;
  /** A prepared file of an avatar that is loaded before its call. Throws as `file`. */
  preloadFile(avatarId: string, file: string): Promise<Uint8Array>;
};

export const createService = (
  { serviceUrl, secret, workerId }: Pick<AvatarWorkerConfig, "serviceUrl" | "secret"> & { workerId: string },
  { syncMs, fileMs, transcriptMs, fragmentMs } = LIMITS,
): Service => {
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { ...init.headers, authorization: `Bearer ${secret.reveal()}` };
    const response = await fetch(serviceUrl + path, { ...init, headers, redirect: "error" });
    if (!response.ok) throw new RefusedRequest(response.status, await problemCode(response));
    return response;
  };
  const readFile = async (path: string, file: string): Promise<Uint8Array> => {
    const name = readPreparedFile(file);
    if (!name) throw new Error("the manifest names an invalid file");
    const response = await request(path, { signal: AbortSignal.timeout(fileMs) });
    const bytes = await readBytes(response, MAX_FILE_BYTES);
    const digest = createHash("sha256").update(bytes).digest("hex");
    if (digest !== name.sha256) throw new Error("the file has another digest than its name");
    return bytes;
  };
  return {
    sync: async (body, signal) => {
      const response = await request(syncPath(workerId), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(syncMs)]),
      });
      const content = readSyncResponse(JSON.parse((await readBytes(response, MAX_RESPONSE_BYTES)).toString()));
      if (content === null) throw new Error("the service sent an invalid response");
      return content;
    },
    transcript: async (sessionId, report) => {
      const response = await request(transcriptPath(workerId, sessionId), {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(report),
        signal: AbortSignal.timeout(transcriptMs),
      });
      const content: unknown = JSON.parse((await readBytes(response, MAX_PROBLEM_BYTES)).toString());
      if (!isValid(TranscriptReceipt, content)) throw new Error("the service sent an invalid response");
      return content;
    },
    fragment: async (sessionId, { generation, n }, bytes) => {
      const response = await request(fragmentPath(workerId, sessionId, generation, n), {
        method: "PUT",
        headers: { "content-type": "application/octet-stream" },
        body: new Uint8Array(bytes),
        signal: AbortSignal.timeout(fragmentMs),
      });
      await response.body?.cancel();
    },
    file: (sessionId, file) => readFile(callFilePath(workerId, sessionId, file), file),
    preloadFile: (avatarId, file) => readFile(preloadFilePath(workerId, avatarId, file), file),
  };
};
