/** The keys as a tree: each behind the key that created it. */
import type { ApiKey, ApiKeyWithSecret } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { FilterField } from "../components/field.tsx";
import { Empty } from "../components/state.tsx";
import { Time } from "../components/text.tsx";
import { counted } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, useNavigation, useParameters } from "../layout/navigation.tsx";
import { useFilter } from "../layout/use-filter.ts";
import { creatorText } from "./creator.tsx";
import { type Keys, type Row, treeOf } from "./data.ts";
import { Expiry, KeyStatus, Scopes, Spent } from "./row.tsx";

/** The dialog that is open. */
export type Open =
  | { kind: "create" }
  | { kind: "secret"; issued: ApiKeyWithSecret }
  | { kind: "change"; key: ApiKey }
  | { kind: "rotate"; key: ApiKey }
  | { kind: "revoke"; key: ApiKey };

/** A key has at most 8 ancestors: on a phone all levels still leave room for a name. */
const Guides = ({ depth }: { depth: number }) => (
  <span aria-hidden="true" className="flex shrink-0">
    {["a", "b", "c", "d", "e", "f", "g", "h"].slice(0, depth).map((level) => (
      <span key={level} className="ml-1 w-1.5 border-l border-line sm:ml-2 sm:w-3" />
    ))}
  </span>
);

const Name = ({ row: { key, depth }, creator, onShow }: { row: Row; creator: string | null; onShow: () => void }) => (
  <div className="min-w-0">
    <p className="flex items-center gap-2">
      {depth > 0 && (
        <span className="text-muted" title="Created by the key above">
          <span aria-hidden="true">↳</span>
          <span className="sr-only">level {depth + 1}</span>
        </span>
      )}
      <button type="button" className={`${LINK} min-w-0 truncate text-left`} onClick={onShow}>
        {key.name}
      </button>
      <KeyStatus apiKey={key} />
    </p>
    {creator && <p className="truncate text-sm text-muted">{creator}</p>}
    <p className="mt-0.5 mb-1">
      <code className="text-xs break-all text-muted">{key.redactedKey}</code>
    </p>
    <Scopes scopes={key.scopes} />
  </div>
);

type RowProps = {
  row: Row;
  creator: string | null;
  canWrite: boolean;
  onOpen: (open: Open) => void;
  onShow: (id: string) => void;
};

const KeyRow = ({ row, creator, canWrite, onOpen, onShow }: RowProps) => {
  const { key, depth } = row;
  return (
    <li className="flex border-b border-line px-3 last:border-0 sm:px-4">
      <Guides depth={depth} />
      <div
        className={`grid min-w-0 flex-1 gap-x-4 gap-y-2 py-3 lg:grid-cols-[minmax(0,1fr)_13rem_9rem_17rem] lg:items-center ${depth > 0 ? "pl-1.5 sm:pl-3" : ""}`}
      >
        <Name row={row} creator={creator} onShow={() => onShow(key.id)} />
        <div className="min-w-0">
          <Spent apiKey={key} />
        </div>
        <div className="flex flex-wrap gap-x-4 text-sm text-muted lg:block">
          <p>
            {key.lastUsedAt === null ? "Never used" : "Used "}
            {key.lastUsedAt !== null && <Time at={key.lastUsedAt} />}
          </p>
          <p>
            {key.effectiveExpiresAt === null ? "Never expires" : "Expires "}
            {key.effectiveExpiresAt !== null && <Expiry at={key.effectiveExpiresAt} />}
          </p>
        </div>
        {canWrite && key.status === "active" && (
          <div className="flex flex-wrap gap-2 lg:justify-end">
            {(["change", "rotate", "revoke"] as const).map((kind) => {
              const name = kind.charAt(0).toUpperCase() + kind.slice(1);
              return (
                <Button key={kind} onClick={() => onOpen({ kind, key })} aria-label={`${name} ${key.name}`}>
                  {name}
                </Button>
              );
            })}
          </div>
        )}
      </div>
    </li>
  );
};

const NoKeys = ({ onOpen }: { onOpen: (open: Open) => void }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const create = (
    <Button kind="primary" onClick={() => onOpen({ kind: "create" })}>
      Create your first key
    </Button>
  );
  return (
    <Empty title={`No ${environment} keys yet`} action={canWrite && create}>
      A key lets your application call the API. You choose what it may do, and it works at once.
    </Empty>
  );
};

const KEY_ID = /^key_[0-9a-z]{26}$/;

/** What a filter that matches no loaded key leaves to do. */
const NoMatch = ({ filter, hasMore, onShow }: { filter: string; hasMore: boolean; onShow: (id: string) => void }) => (
  <div className="flex flex-wrap items-center gap-3 rounded-2xl border border-dashed border-line px-4 py-6 text-muted">
    <p>{hasMore ? "None of the loaded keys matches." : "No key matches."}</p>
    {KEY_ID.test(filter) && <Button onClick={() => onShow(filter)}>Look up this id</Button>}
  </div>
);

/** From how many keys on a filter is worth its place. */
const FILTERED_FROM = 8;

type ListProps = { keys: Keys; onOpen: (open: Open) => void; more: { run: () => void; isBusy: boolean } };

export const KeyList = ({ keys, onOpen, more }: ListProps) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const { change } = useNavigation();
  const { all = false } = useParameters();
  const [filter, setFilter] = useFilter();
  const show = (id: string) => change({ key: id });
  const rows = treeOf(keys, { environment, withEnded: all, filter });
  const count = (withEnded: boolean) => treeOf(keys, { environment, withEnded, filter: "" }).length;
  const [listed, active] = [count(true), count(false)];
  if (listed === 0 && !keys.hasMore) return <NoKeys onOpen={onOpen} />;
  return (
    <>
      {(listed >= FILTERED_FROM || filter !== "") && (
        <div className="mb-3 flex min-h-9 flex-wrap items-center gap-3">
          <FilterField label="Filter by name or id" value={filter} onChange={setFilter} />
          <span role="status" className="text-sm text-muted">
            {filter !== "" && `${counted(rows.length, "key")} of ${listed}${keys.hasMore ? " that are loaded" : ""}`}
          </span>
        </div>
      )}
      {rows.length === 0 && filter !== "" && <NoMatch filter={filter} hasMore={keys.hasMore} onShow={show} />}
      {rows.length === 0 && filter === "" && <p className="py-6 text-muted">No loaded key is active.</p>}
      {rows.length > 0 && (
        <ul aria-label="API keys" className="rounded-2xl border border-line bg-surface">
          {rows.map((row) => (
            <KeyRow
              key={row.key.id}
              row={row}
              creator={row.depth === 0 ? creatorText(row.key) : null}
              canWrite={canWrite}
              onOpen={onOpen}
              onShow={show}
            />
          ))}
        </ul>
      )}
      <div className="mt-3 flex min-h-9 flex-wrap items-center justify-between gap-2 text-sm text-muted">
        {listed > active && (
          <label className="flex cursor-pointer items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-fill"
              checked={all}
              onChange={({ target }) => change({ all: target.checked ? true : undefined })}
            />
            Show revoked and expired keys ({listed - active})
          </label>
        )}
        {keys.hasMore && (
          <span className="flex flex-wrap items-center gap-3">
            The newest {keys.all.length} keys are loaded.
            <Button isBusy={more.isBusy} onClick={more.run}>
              Load older ones
            </Button>
          </span>
        )}
      </div>
    </>
  );
};
