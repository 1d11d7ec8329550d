/** Jobs: work that the worker does outside of a request. */
import type { Environment } from "./environment.ts";
import type { JobId, TenantId } from "./id.ts";

/**
 * The kinds of jobs. `process_asset`: fetch a remote file, decode the file of an asset, and write its public file.
 * `prepare_avatar`: check the source of an avatar, and write its prepared files. `render_video`: render a video, and write its
 * file.
 */
export const JOB_KINDS = ["process_asset", "prepare_avatar", "render_video"] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** A new job. */
export type JobRecord = {
  id: JobId;
  tenantId: TenantId;
  environment: Environment;
  kind: JobKind;
  /** The id of the asset, the avatar or the video that the job processes. */
  targetId: string;
  /**
   * The number of the target's preparation: 1 for an asset and a video, which are processed once. An avatar counts its
   * preparations.
   */
  generation: number;
  /** When a worker may claim the job. */
  runAt: Date;
};
