/** The keys as a tree: each below the key that created it. */
import type { ApiKey, ApiKeyWithSecret } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { Menu } from "../components/menu.tsx";
import { type BarProps, More, SearchBar } from "../components/search-bar.tsx";
import { Empty } from "../components/state.tsx";
import { Time } from "../components/text.tsx";
import { Windowed } from "../components/windowed.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, useNavigation } from "../layout/navigation.tsx";
import { creatorText } from "./creator.tsx";
import { type Keys, keyTree, type Row } from "./data.ts";
import { Expiry, KeyStatus, Spent } from "./row.tsx";

/** The open dialog. */
export type Open =
  | { kind: "create" }
  | { kind: "secret"; issued: ApiKeyWithSecret }
  | { kind: "change"; key: ApiKey }
  | { kind: "rotate"; key: ApiKey }
  | { kind: "revoke"; key: ApiKey };

/** A key has at most 8 ancestors, so even on a phone all levels leave room for a name. */
const Guides = ({ depth }: { depth: number }) => (
  <span aria-hidden="true" className="flex shrink-0">
    {["a", "b", "c", "d", "e", "f", "g", "h"].slice(0, depth).map((level) => (
      <span key={level} className="ml-1 w-1.5 border-l border-line sm:ml-2 sm:w-3" />
    ))}
  </span>
);

const Name = ({ row: { key, depth }, onShow }: { row: Row; onShow: () => void }) => (
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
      {depth === 0 && key.parentId !== null && (
        <span className="hidden min-w-0 truncate text-sm text-muted sm:inline">{creatorText(key)}</span>
      )}
    </p>
    <p className="truncate text-xs text-muted" title={key.scopes.join(", ")}>
      <code>{key.redactedKey}</code> · {key.scopes.join(", ")}
    </p>
  </div>
);

const ACTIONS = [
  { kind: "change", name: "Change", isDestructive: false },
  { kind: "rotate", name: "Rotate", isDestructive: false },
  { kind: "revoke", name: "Revoke", isDestructive: true },
] as const;

type RowProps = {
  row: Row;
  canWrite: boolean;
  onOpen: (open: Open) => void;
  onShow: (id: string) => void;
};

const KeyRow = ({ row, canWrite, onOpen, onShow }: RowProps) => {
  const { key, depth } = row;
  return (
    <li className="flex border-b border-line px-3 sm:px-4">
      <Guides depth={depth} />
      <div
        className={`grid min-w-0 flex-1 gap-x-4 gap-y-1 py-2 lg:grid-cols-[minmax(0,1fr)_13rem_10rem] lg:items-center ${depth > 0 ? "pl-1.5 sm:pl-3" : ""}`}
      >
        <Name row={row} onShow={() => onShow(key.id)} />
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
      </div>
      {canWrite && key.status === "active" && (
        <div className="flex shrink-0 items-center">
          <Menu
            label={`Actions for ${key.name}`}
            items={ACTIONS.map(({ kind, name, isDestructive }) => ({
              name,
              label: `${name} ${key.name}`,
              run: () => onOpen({ kind, key }),
              isDestructive,
            }))}
          />
        </div>
      )}
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
    <Empty title={`No active ${environment} keys`} action={canWrite && create}>
      A key lets your application call the API. You choose its permissions. It works at once.
    </Empty>
  );
};

const STATUSES = [
  ["active", "Active"],
  ["revoked", "Revoked"],
  ["expired", "Expired"],
  ["all", "All"],
] as const;

/** Number of rows that are rendered or hidden together. */
const PART = 25;

type ListProps = {
  keys: Keys;
  isFiltered: boolean;
  onOpen: (open: Open) => void;
  more: { run: () => void; isBusy: boolean };
};

export const KeyList = ({ keys, isFiltered, onOpen, more }: ListProps) => {
  const canWrite = useHasRole("developer");
  const { change } = useNavigation();
  const { all } = keys;
  if (all.length === 0 && !keys.hasMore && !isFiltered) return <NoKeys onOpen={onOpen} />;
  return (
    <>
      {all.length === 0 && !keys.hasMore && <p className="py-6 text-muted">No key matches.</p>}
      {all.length > 0 && (
        <div className="overflow-hidden rounded-2xl border border-line bg-surface">
          <Windowed items={keyTree(all)} size={PART} label="API keys" className="-mb-px">
            {(row) => (
              <KeyRow
                key={row.key.id}
                row={row}
                canWrite={canWrite}
                onOpen={onOpen}
                onShow={(id) => change({ key: id })}
              />
            )}
          </Windowed>
        </div>
      )}
      {keys.hasMore && <More isFound={all.length > 0} name="keys" {...more} />}
    </>
  );
};

/** The filters of the list. */
export const KeySearchBar = ({ list, status, children }: Pick<BarProps, "list" | "children"> & { status: string }) => {
  const { change } = useNavigation();
  return (
    <SearchBar
      list={list}
      status={{
        value: status,
        values: STATUSES,
        set: (value) =>
          change(
            { all: value === "all" || undefined, status: ["all", "active"].includes(value) ? undefined : value },
            true,
          ),
      }}
      isFiltered={list.isFiltered || status !== "active"}
    >
      {children}
    </SearchBar>
  );
};
