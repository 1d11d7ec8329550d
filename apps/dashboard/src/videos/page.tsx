/** The videos of the environment, newest first. */

import { useAvatar, useNewestAvatars } from "../avatars/data.ts";
import { buttonClass } from "../components/button.tsx";
import { InlineSelect, Options } from "../components/field.tsx";
import { Empty, ListEnd, Loaded } from "../components/state.tsx";
import { PageHead } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { PageLink, useNavigation, useParameters } from "../layout/navigation.tsx";
import { useNameText } from "../layout/object-name.tsx";
import { VideoCard, VideoDetails } from "./card.tsx";
import { useVideos, type Video, type VideoFilters } from "./data.ts";

const GRID = "grid gap-4 sm:grid-cols-2 lg:grid-cols-3";

/** The statuses that can be selected. The first stands for all except `deleted`. */
const STATUSES = [
  ["", "Any status"],
  ...(["queued", "rendering", "ready", "failed", "canceled", "deleted"] as const).map(
    (status) => [status, status.replace(/^./, (first) => first.toUpperCase())] as const,
  ),
] as const;
const statusOf = (text: string | undefined) =>
  STATUSES.map(([status]) => status).find((status) => status === text) || undefined;

const Skeletons = () => (
  <div role="status" className={GRID}>
    <span className="sr-only">Loading videos</span>
    {["a", "b", "c"].map((name) => (
      <div key={name} aria-hidden="true" className="shimmer h-96 rounded-2xl" />
    ))}
  </div>
);

/** An avatar from a link that is not among the newest. */
const OtherAvatar = ({ id }: { id: string }) => {
  const nameText = useNameText();
  return <option value={id}>{nameText({ id, name: useAvatar(id, undefined).data?.displayName ?? null })}</option>;
};

const AvatarSelect = ({ id }: { id: string | undefined }) => {
  const { change } = useNavigation();
  const { avatars = [], hasMore = false } = useNewestAvatars() ?? {};
  return (
    <InlineSelect
      label="Avatar"
      value={id ?? ""}
      onChange={({ target }) => change({ avatar: target.value || undefined }, true)}
      // Fixed width, because names load later and can be long.
      className="w-44"
    >
      <option value="">Any avatar</option>
      {id !== undefined && !avatars.some((avatar) => avatar.id === id) && <OtherAvatar id={id} />}
      {avatars.map((avatar) => (
        <option key={avatar.id} value={avatar.id}>
          {avatar.displayName}
        </option>
      ))}
      {hasMore && <option disabled>Older ones: open the avatar</option>}
    </InlineSelect>
  );
};

const FilterBar = ({ status, avatarId }: VideoFilters) => {
  const { change } = useNavigation();
  return (
    <search className="mb-4 flex flex-wrap items-center gap-2">
      <InlineSelect
        label="Status"
        value={status ?? ""}
        onChange={({ target }) => change({ status: target.value || undefined }, true)}
      >
        <Options of={STATUSES} />
      </InlineSelect>
      <AvatarSelect id={avatarId} />
    </search>
  );
};

const NoVideos = ({ isFiltered }: { isFiltered: boolean }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  if (isFiltered) return <Empty title="No video matches">Choose another status or avatar.</Empty>;
  const action = canWrite && (
    <PageLink to="/avatars" className={buttonClass("primary")}>
      Choose an avatar
    </PageLink>
  );
  return (
    <Empty title={`No ${environment} videos yet`} action={action}>
      Open an avatar that is ready, type a sentence, and it says it in a video.
    </Empty>
  );
};

const VideoList = ({ videos, isFiltered }: { videos: readonly Video[]; isFiltered: boolean }) =>
  videos.length === 0 ? (
    <NoVideos isFiltered={isFiltered} />
  ) : (
    <ul aria-label="Videos" className={GRID}>
      {videos.map((video) => (
        <VideoCard key={video.id} video={video} />
      ))}
    </ul>
  );

export const VideosPage = () => {
  const { video: shownId, status: named, avatar } = useParameters();
  const { change } = useNavigation();
  const status = statusOf(named);
  const filters: VideoFilters = { ...(status && { status }), ...(avatar && { avatarId: avatar }) };
  const query = useVideos(filters);
  const videos = query.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <PageHead title="Videos">An avatar says a text, or a recording, in a file.</PageHead>
      <FilterBar {...filters} />
      <Loaded query={query} skeleton={<Skeletons />}>
        {() => <VideoList videos={videos ?? []} isFiltered={Object.keys(filters).length > 0} />}
      </Loaded>
      <ListEnd query={{ ...query, total: undefined }} noun="video" />
      {shownId && (
        <VideoDetails
          key={shownId}
          id={shownId}
          listed={videos?.find(({ id }) => id === shownId)}
          onClose={() => change({ video: undefined })}
        />
      )}
    </>
  );
};
