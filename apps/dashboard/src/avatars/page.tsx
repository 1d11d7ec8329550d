import type { Avatar } from "@realtime-avatar/client";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Prose } from "../components/prose.tsx";
import { More, SearchBar } from "../components/search-bar.tsx";
import { Empty, Loaded } from "../components/state.tsx";
import { Badge, PageHead } from "../components/text.tsx";
import { Windowed } from "../components/windowed.tsx";
import { totalText } from "../format.ts";
import { CreateButton } from "../keyboard/create-button.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useNavigation, useParameters } from "../layout/navigation.tsx";
import { useFileDrop } from "../layout/use-file-drop.ts";
import { useListSearch } from "../layout/use-list-search.ts";
import type { Search } from "../search.ts";
import { CreateAvatarDialog } from "./create.tsx";
import { avatarPages, STATUS_TONES, statusName, useAvatars, useAvatarTotal } from "./data.ts";
import { AvatarDetails } from "./details.tsx";
import { Portrait, useAttention } from "./portrait.tsx";
import { useRequirements } from "./use-source.ts";

const GRID = "grid grid-cols-2 gap-4 md:grid-cols-3 lg:grid-cols-4";

const CardSkeletons = () => (
  <div role="status" className={GRID}>
    <span className="sr-only">Loading avatars</span>
    {["a", "b", "c", "d"].map((name) => (
      <div key={name} aria-hidden="true" className="shimmer aspect-[3/4] rounded-2xl" />
    ))}
  </div>
);

const AvatarCard = ({ avatar, onShow }: { avatar: Avatar; onShow: () => void }) => {
  const failed = avatar.checks.find(({ verdict }) => verdict === "fail");
  const { hasAttention, handlers } = useAttention();
  return (
    <li {...handlers} className="relative flex flex-col overflow-hidden rounded-2xl border border-line bg-surface">
      <div className="aspect-square bg-raised">
        <Portrait avatar={avatar} moves={hasAttention} />
      </div>
      <div className="flex flex-1 flex-col gap-2 p-3">
        <button
          type="button"
          onClick={onShow}
          className="truncate text-left font-medium after:absolute after:inset-0 after:rounded-2xl"
        >
          {avatar.displayName}
        </button>
        <div className="relative flex flex-wrap items-center justify-between gap-2">
          <Badge tone={STATUS_TONES[avatar.status]}>{statusName(avatar.status)}</Badge>
          <CopyButton text={avatar.id} name="Copy id" label={`Copy id of ${avatar.displayName}`} />
        </div>
        {avatar.status === "failed" && (
          <p className="text-sm text-bad">
            <Prose text={failed?.detail ?? avatar.error ?? "The source could not be used."} />
          </p>
        )}
      </div>
    </li>
  );
};

const NoAvatars = ({ onCreate }: { onCreate: () => void }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const create = (
    <Button kind="primary" onClick={onCreate}>
      Create your first avatar
    </Button>
  );
  return (
    <Empty title={`No ${environment} avatars yet`} action={canWrite && create}>
      An avatar is built from a photo or a video of one face.
      {canWrite && " Drop one anywhere on this page, and watch the avatar become ready."}
    </Empty>
  );
};

/** The statuses that can be selected. The first stands for all except `deleted`. */
const STATUSES = [
  ["", "Any status"],
  ...(["draft", "preprocessing", "ready", "failed", "disabled", "deleted"] as const).map(
    (status) => [status, statusName(status).replace(/^./, (first) => first.toUpperCase())] as const,
  ),
] as const;
const statusOf = (text: string | undefined) => STATUSES.map(([status]) => status).find((status) => status === text);

/** Reads the list at an address. */
export const listAt = ({ environment, filter = "", since, until, status }: Search) =>
  avatarPages(environment ?? "live", { filter, since, until, status: statusOf(status) || undefined });

/** Number of cards that are rendered or hidden together: whole rows for any number of columns. */
const PART = 24;

type ListProps = {
  avatars: Avatar[];
  hasMore: boolean;
  isFiltered: boolean;
  onCreate: () => void;
  more: { run: () => void; isBusy: boolean };
};

const AvatarList = ({ avatars, hasMore, isFiltered, onCreate, more }: ListProps) => {
  const { change } = useNavigation();
  if (avatars.length === 0 && !hasMore && !isFiltered) return <NoAvatars onCreate={onCreate} />;
  return (
    <>
      {avatars.length === 0 && !hasMore && <p className="py-6 text-muted">No avatar matches.</p>}
      <div className="grid gap-4">
        <Windowed items={avatars} size={PART} label="Avatars" className={GRID}>
          {(avatar) => <AvatarCard key={avatar.id} avatar={avatar} onShow={() => change({ avatar: avatar.id })} />}
        </Windowed>
      </div>
      {hasMore && <More isFound={avatars.length > 0} name="avatars" {...more} />}
    </>
  );
};

/** The open dialog that creates an avatar. `first`: the file that was dropped on the page. */
type Creating = { first: File | null };

export const AvatarsPage = () => {
  const canWrite = useHasRole("developer");
  const { avatar: shownId, status: named } = useParameters();
  const status = statusOf(named) || undefined;
  const list = useListSearch();
  const isFiltered = list.isFiltered || status !== undefined;
  const query = useAvatars({ ...list.search, status });
  const total = useAvatarTotal({ ...list.search, status }, query.hasMore && !query.isPlaceholderData);
  const { change } = useNavigation();
  const [creating, setCreating] = useState<Creating | null>(null);
  // Loaded early, so that the dialog opens complete, but after the list, which is visible first.
  useRequirements(undefined, query.data !== undefined);
  const isFree = canWrite && creating === null && shownId === undefined;
  const isOver = useFileDrop(isFree ? (first) => setCreating({ first }) : null);
  const create = () => setCreating({ first: null });
  const more = { run: () => void query.fetchNextPage(), isBusy: query.isFetchingNextPage };
  return (
    <div className={isOver ? "rounded-2xl outline-2 outline-offset-8 outline-accent outline-dashed" : ""}>
      <PageHead title="Avatars" actions={canWrite && <CreateButton onClick={create}>Create an avatar</CreateButton>}>
        Your application names an avatar by its id when it opens a call.
      </PageHead>
      <SearchBar
        list={list}
        status={{ value: status ?? "", values: STATUSES, set: (value) => change({ status: value || undefined }, true) }}
        isFiltered={isFiltered}
      >
        {!query.isPlaceholderData && query.data && totalText(query.data.length, "avatar", query.hasMore, total)}
      </SearchBar>
      <Loaded query={query} skeleton={<CardSkeletons />}>
        {(found) => (
          <div aria-busy={query.isPlaceholderData} className="aria-busy:opacity-60">
            <AvatarList avatars={found} hasMore={query.hasMore} isFiltered={isFiltered} onCreate={create} more={more} />
          </div>
        )}
      </Loaded>
      {creating && (
        <CreateAvatarDialog
          first={creating.first}
          onClose={() => setCreating(null)}
          onCreated={({ id }) => {
            setCreating(null);
            change({ avatar: id });
          }}
        />
      )}
      {shownId && (
        <AvatarDetails
          key={shownId}
          id={shownId}
          listed={query.data?.find(({ id }) => id === shownId)}
          onClose={() => change({ avatar: undefined })}
        />
      )}
    </div>
  );
};
