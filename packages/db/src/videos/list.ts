/** The list of videos. */
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import type { VIDEO_LIST } from "@realtime-avatar/domain/videos/schemas";
import { listedVideoStatuses } from "@realtime-avatar/domain/videos/status";
import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { boundedPage, inputBefore, newestPage, pageReader } from "../query/list.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { videos } from "../schema/videos.ts";
import { VIDEO } from "./text.ts";
import type { VideoOwner } from "./videos.ts";

const LIST = { table: videos, id: videos.id, prefix: "vid", item: VIDEO } as const;
const OWNER = [
  [videos.environment, inputColumn("environment")],
  [videos.tenantId, inputColumn("tenantId")],
] as const;

type ListParameters = VideoOwner & { origin: string; before: string | null; limit: number };
const NAMES = ["tenantId", "environment", "origin", "before", "limit"] as const;

/** Without filters: `videos_newest_index`, which leaves deleted videos out. */
const ALL = pageReader<ListParameters>(
  "list_videos",
  newestPage(LIST, OWNER, sql`${videos.status} <> 'deleted'`),
  NAMES,
);

/** A status is a range of `videos_list_index`. */
const OF_STATUS = pageReader<ListParameters & { status: string }>(
  "list_videos",
  newestPage(LIST, [...OWNER, [videos.status, inputColumn("status")]]),
  [...NAMES, "status"],
);

/** The maximum number of videos of an avatar that a page reads when a status filter omits some. */
const MAX_ROWS_READ = 5000;
const ofAvatar = (): SQL => {
  const { where, orderBy } = newestRows(
    [...OWNER, [videos.avatarId, inputColumn("avatarId")]],
    videos.id,
    inputBefore("vid"),
  );
  return boundedPage(LIST, { where, orderBy }, [sql`${videos.status} = any(${inputColumn("statuses")}::text[])`]);
};
/** The videos of an avatar: `videos_avatar_index`. */
const OF_AVATAR = pageReader<ListParameters & { avatarId: string; statuses: readonly string[]; maxRead: number }>(
  "list_videos",
  ofAvatar(),
  [...NAMES, "avatarId", "statuses", "maxRead"],
);

/**
 * The owner's newest videos that `page` asks for. `origin`: scheme, host and port of public URLs. One statement, shared
 * by requests for the same page.
 */
export const listVideos = (
  db: Db,
  { tenantId, environment }: VideoOwner,
  { filters: { status, avatarId }, before, limit }: PageRequest<typeof VIDEO_LIST>,
  origin: string,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, origin, before, limit };
  if (avatarId !== undefined) {
    const ofAvatar = { ...page, avatarId, statuses: listedVideoStatuses(status), maxRead: MAX_ROWS_READ };
    return db.batch(OF_AVATAR, ofAvatar, tenantId);
  }
  return status === undefined ? db.batch(ALL, page, tenantId) : db.batch(OF_STATUS, { ...page, status }, tenantId);
};
