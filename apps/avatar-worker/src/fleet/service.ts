/** The requests of the worker to the service. */
import { createHash } from "node:crypto";
import { readPreparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { callFilePath, type SyncRequest, SyncResponse, syncPath } from "@realtime-avatar/domain/calls/worker-sync";
import { isValid } from "@realtime-avatar/domain/schema";
import type { AvatarWorkerConfig } from "../config.ts";

/** The service holds a sync for at most a second. */
const SYNC_MS = 5000;
const FILE_MS = 10_000;
const MAX_FILE_BYTES = 32 * 1024 * 1024;

export type Service = {
  /** Throws when there is no valid response. `signal` ends the wait for it. */
  sync(request: SyncRequest, signal: AbortSignal): Promise<SyncResponse>;
  /** A prepared file of the avatar of a call. Throws unless it has the digest that is in its name. */
  file(sessionId: string, file: string): Promise<Uint8Array>;
};

export const createService = ({
  serviceUrl,
  secret,
  workerId,
}: Pick<AvatarWorkerConfig, "serviceUrl" | "secret"> & { workerId: string }): Service => {
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { ...init.headers, authorization: `Bearer ${secret.reveal()}` };
    const response = await fetch(serviceUrl + path, { ...init, headers, redirect: "error" });
    if (!response.ok) throw new Error(`the service responded with ${response.status}`);
    return response;
  };
  return {
    sync: async (body, signal) => {
      const response = await request(syncPath(workerId), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(SYNC_MS)]),
      });
      const content: unknown = await response.json();
      if (!isValid(SyncResponse, content)) throw new Error("the service sent an invalid response");
      return content;
    },
    file: async (sessionId, file) => {
      const name = readPreparedFile(file);
      if (!name) throw new Error("the manifest names an invalid file");
      const signal = AbortSignal.timeout(FILE_MS);
      const response = await request(callFilePath(workerId, sessionId, file), { signal });
      if (Number(response.headers.get("content-length")) > MAX_FILE_BYTES) throw new Error("the file is too large");
      const bytes = new Uint8Array(await response.arrayBuffer());
      const digest = createHash("sha256").update(bytes).digest("hex");
      if (digest !== name.sha256) throw new Error("the file has another digest than its name");
      return bytes;
    },
  };
};
