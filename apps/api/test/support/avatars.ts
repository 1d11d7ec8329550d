/** Calls of the avatar routes, for end-to-end tests, and the end of their preparations. */

import { finishPreparation, type PreparationResult, startPreparation } from "@realtime-avatar/db/avatars/preparations";
import { claimJob } from "@realtime-avatar/db/jobs/jobs";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { manifestId, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import type { Avatar } from "@realtime-avatar/domain/avatars/schemas";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import type { AvatarId } from "@realtime-avatar/domain/id";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import type { Answer, TestApi } from "./api.ts";

export const PATH = "/api/v1/avatars";

export const outcome = ({ status, body }: Answer) => [status, body?.code];

/** `key`: the default API key of the calls. */
export const avatarCalls = (api: TestApi, key: string) => {
  const make = async (request: object = {}, by = key): Promise<Avatar> => {
    const body = { displayName: "x", sourceKind: "image", ...request };
    const answer = await api.call("POST", PATH, { key: by, body });
    if (answer.status !== 201) throw new Error(`an avatar was not created: ${answer.status}`);
    return answer.body;
  };
  /** Sets the status in the database, like the worker. */
  const put = (id: string, status: AvatarStatus) =>
    api.database.db.client`update avatars set status = ${status} where id = ${id}`;
  return {
    make,
    put,
    makeIn: async (status: AvatarStatus, request: object = {}): Promise<Avatar> => {
      const made = await make(request);
      await put(made.id, status);
      return { ...made, status };
    },
    get: (id: string, headers = {}, by = key) => api.call("GET", `${PATH}/${id}`, { key: by, headers }),
    patch: (id: string, body: unknown, headers = {}, by = key) =>
      api.call("PATCH", `${PATH}/${id}`, { key: by, body, headers }),
    remove: (id: string, headers = {}, by = key) => api.call("DELETE", `${PATH}/${id}`, { key: by, headers }),
    /** The audit events of an avatar, oldest first, except its creation. */
    trail: (id: string) => api.database.db.client`
      select action, actor_key_id, changed_fields, environment, request_id from audit_events
      where target_id = ${id} and action <> 'avatar.created' order by id`,
  };
};

export const PASSED: Check = {
  code: "face_count",
  verdict: "pass",
  measured: 1,
  limit: 1,
  detail: "There is one face.",
};
export const FAILED: Check = {
  code: "face_count",
  verdict: "fail",
  measured: 0,
  limit: 1,
  detail: "No face was found.",
};

const hashOf = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Ends preparations like the worker, for tests without a worker. */
export const preparationCalls = (api: TestApi) => {
  /** Claims the job of an avatar, and starts it. Other claimed jobs stay claimed. */
  const start = async (id: string) => {
    const { db } = api.database;
    for (;;) {
      const claim = { lease: crypto.randomUUID(), leaseSeconds: 60, slots: 1000, kinds: ["prepare_avatar"] as const };
      const job = await claimJob(db, claim);
      if (job === null) throw new Error(`the avatar has no job: ${id}`);
      if (job.targetId === id) return { job, started: await startPreparation(db, job) };
    }
  };
  type Started = Awaited<ReturnType<typeof start>>;

  const end = ({ job }: Started, result: PreparationResult) =>
    finishPreparation(api.database.db, job, result, operatorOrigin());

  /** Writes the preview `picture`, and ends the preparation as `ready`. */
  const endReady = async (started: Started, picture: string, checks = [PASSED]) => {
    const { job } = started;
    const bytes = Buffer.from(picture);
    const owner = { tenantId: job.tenantId, id: job.targetId as AvatarId };
    const file = preparedFile(job.generation, hashOf(bytes), "webp");
    const stored = { stream: new Blob([bytes]).stream(), sizeBytes: bytes.length };
    await api.files.storage.put(preparedKey(owner, file), stored, "image/webp");
    const previewToken = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
    const cacheManifestId = manifestId(job.generation, hashOf(bytes));
    return end(started, { kind: "ready", checks, cacheManifestId, previewToken, previewFile: file });
  };
  return {
    start,
    end,
    endReady,
    ready: async (id: string, picture = "a face") => endReady(await start(id), picture),
    fail: async (id: string, error = "No face was found. Use a photo of one face.") =>
      end(await start(id), { kind: "failed", error, checks: [FAILED] }),
    /** Makes an asset `ready`, like the worker. */
    processed: async (id: string) => {
      await api.database.db.client`update assets set status = 'ready', version = version + 1 where id = ${id}`;
    },
    /** The generations of the jobs of an avatar. */
    generationsOf: async (id: string): Promise<number[]> =>
      (await api.database.db.client`select generation from jobs where target_id = ${id}`).map(
        (job) => job["generation"],
      ),
  };
};
