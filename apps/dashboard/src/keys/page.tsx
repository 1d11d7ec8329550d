import type { ApiKeyWithSecret } from "@realtime-avatar/client";
import { useState } from "react";
import { Loaded, Skeleton } from "../components/state.tsx";
import { PageHead } from "../components/text.tsx";
import { totalText } from "../format.ts";
import { CreateButton } from "../keyboard/create-button.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useNavigation, useParameters } from "../layout/navigation.tsx";
import { useListSearch } from "../layout/use-list-search.ts";
import type { Search } from "../search.ts";
import { ChangeKeyDialog } from "./change.tsx";
import { CreateKeyDialog } from "./create.tsx";
import { type KeyStatus, type Keys, keyPages, useKeys, useKeyTotal } from "./data.ts";
import { KeyDetails } from "./details.tsx";
import { RevokeDialog, RotateDialog } from "./end.tsx";
import { KeyList, KeySearchBar, type Open } from "./list.tsx";
import { KeySecretDialog } from "./secret.tsx";

const Dialogs = ({ open, keys, onOpen }: { open: Open | null; keys: Keys; onOpen: (open: Open | null) => void }) => {
  const close = () => onOpen(null);
  const show = (issued: ApiKeyWithSecret) => onOpen({ kind: "secret", issued });
  switch (open?.kind) {
    case "create":
      return <CreateKeyDialog onClose={close} onCreated={show} />;
    case "secret":
      return <KeySecretDialog issued={open.issued} onClose={close} />;
    case "change":
      return <ChangeKeyDialog apiKey={open.key} keys={keys} onClose={close} />;
    case "rotate":
      return <RotateDialog apiKey={open.key} onClose={close} onRotated={show} />;
    case "revoke":
      return <RevokeDialog apiKey={open.key} onClose={close} />;
    case undefined:
      return null;
  }
};

/** The status filter of an address; null for all. */
const statusAt = ({ all, status }: Search): KeyStatus | null => {
  if (all) return null;
  return status === "revoked" || status === "expired" ? status : "active";
};

/** Reads the list at an address. */
export const listAt = (parameters: Search) => {
  const { environment, filter = "", since, until } = parameters;
  return keyPages(environment ?? "live", { filter, since, until, status: statusAt(parameters) });
};

export const KeysPage = () => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const status = statusAt(useParameters());
  const list = useListSearch();
  const isFiltered = list.isFiltered || status !== "active";
  const query = useKeys({ ...list.search, status });
  const hasMore = query.data?.hasMore === true && !query.isPlaceholderData;
  const total = useKeyTotal({ ...list.search, status }, hasMore);
  const { change } = useNavigation();
  const { key: shownId } = useParameters();
  const [open, setOpen] = useState<Open | null>(null);
  const more = { run: () => void query.fetchNextPage(), isBusy: query.isFetchingNextPage };
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          canWrite && (
            <CreateButton onClick={() => setOpen({ kind: "create" })}>Create a {environment} key</CreateButton>
          )
        }
      >
        Your applications call the API with these keys. When a key is revoked, the keys that it created end with it.
      </PageHead>
      <KeySearchBar list={list} status={status ?? "all"}>
        {!query.isPlaceholderData && query.data && totalText(query.data.all.length, "key", query.data.hasMore, total)}
      </KeySearchBar>
      <Loaded query={query} skeleton={<Skeleton label="keys" height="h-24" />}>
        {(keys) => (
          <div aria-busy={query.isPlaceholderData} className="aria-busy:opacity-60">
            <KeyList keys={keys} isFiltered={isFiltered} onOpen={setOpen} more={more} />
            {shownId && (
              <KeyDetails
                key={shownId}
                id={shownId}
                keys={keys}
                onOpen={setOpen}
                onClose={() => change({ key: undefined })}
              />
            )}
            <Dialogs open={open} keys={keys} onOpen={setOpen} />
          </div>
        )}
      </Loaded>
    </>
  );
};
