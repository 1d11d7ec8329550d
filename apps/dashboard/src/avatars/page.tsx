import type { Avatar } from "@realtime-avatar/client";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { FilterField } from "../components/field.tsx";
import { Empty, Loaded } from "../components/state.tsx";
import { Badge, PageHead } from "../components/text.tsx";
import { counted } from "../format.ts";
import { CreateButton } from "../keyboard/create-button.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useNavigation, useParameters } from "../layout/navigation.tsx";
import { useFileDrop } from "../layout/use-file-drop.ts";
import { useFilter } from "../layout/use-filter.ts";
import { CreateAvatarDialog } from "./create.tsx";
import { type Avatars, STATUS_TONES, statusName, useAvatars } from "./data.ts";
import { AvatarDetails } from "./details.tsx";
import { Portrait } from "./portrait.tsx";
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
  return (
    <li className="relative flex flex-col overflow-hidden rounded-2xl border border-line bg-surface">
      <div className="aspect-square bg-raised">
        <Portrait avatar={avatar} />
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
          <p className="text-sm text-bad">{failed?.detail ?? avatar.error ?? "The source could not be used."}</p>
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

const AVATAR_ID = /^ava_[0-9a-z]{26}$/;
/** From how many avatars on a filter is worth its place. */
const FILTERED_FROM = 8;

const matches = ({ displayName, id }: Avatar, filter: string): boolean =>
  [displayName, id].some((text) => text.toLowerCase().includes(filter));

type ListProps = { list: Avatars; onCreate: () => void; more: { run: () => void; isBusy: boolean } };

const AvatarList = ({ list: { avatars, hasMore }, onCreate, more }: ListProps) => {
  const { change } = useNavigation();
  const [filter, setFilter] = useFilter();
  const query = filter.trim().toLowerCase();
  const shown = avatars.filter((avatar) => matches(avatar, query));
  if (avatars.length === 0 && !hasMore) return <NoAvatars onCreate={onCreate} />;
  return (
    <>
      {(avatars.length >= FILTERED_FROM || filter !== "") && (
        <div className="mb-4 flex min-h-9 flex-wrap items-center gap-3">
          <FilterField label="Filter by name or id" value={filter} onChange={setFilter} />
          <span role="status" className="text-sm text-muted">
            {query !== "" &&
              `${counted(shown.length, "avatar")} of ${avatars.length}${hasMore ? " that are loaded" : ""}`}
          </span>
          {shown.length === 0 && AVATAR_ID.test(query) && (
            <Button onClick={() => change({ avatar: query })}>Look up this id</Button>
          )}
        </div>
      )}
      <ul aria-label="Avatars" className={GRID}>
        {shown.map((avatar) => (
          <AvatarCard key={avatar.id} avatar={avatar} onShow={() => change({ avatar: avatar.id })} />
        ))}
      </ul>
      {hasMore && (
        <p className="mt-4 flex flex-wrap items-center gap-3 text-sm text-muted">
          The newest {avatars.length} avatars are loaded.
          <Button isBusy={more.isBusy} onClick={more.run}>
            Load older ones
          </Button>
        </p>
      )}
    </>
  );
};

/** The dialog that creates an avatar is open, with the file that was dropped on the page, if one was. */
type Creating = { first: File | null };

export const AvatarsPage = () => {
  const canWrite = useHasRole("developer");
  const query = useAvatars();
  const { change } = useNavigation();
  const { avatar: shownId } = useParameters();
  const [creating, setCreating] = useState<Creating | null>(null);
  // Read before they are needed, so that the dialog opens whole.
  useRequirements();
  const isFree = canWrite && creating === null && shownId === undefined;
  const isOver = useFileDrop(isFree ? (first) => setCreating({ first }) : null);
  const create = () => setCreating({ first: null });
  const more = { run: () => void query.fetchNextPage(), isBusy: query.isFetchingNextPage };
  return (
    <div className={isOver ? "rounded-2xl outline-2 outline-offset-8 outline-accent outline-dashed" : ""}>
      <PageHead title="Avatars" actions={canWrite && <CreateButton onClick={create}>Create an avatar</CreateButton>}>
        Your application names an avatar by its id when it opens a call.
      </PageHead>
      <Loaded query={query} skeleton={<CardSkeletons />}>
        {(list) => <AvatarList list={list} onCreate={create} more={more} />}
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
          listed={query.data?.avatars.find(({ id }) => id === shownId)}
          onClose={() => change({ avatar: undefined })}
        />
      )}
    </div>
  );
};
