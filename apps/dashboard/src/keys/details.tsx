import type { ApiKeyWithCreator } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Item, Time } from "../components/text.tsx";
import { useHasRole } from "../layout/context.tsx";
import { LINK, PageLink, useNavigation } from "../layout/navigation.tsx";
import { effectText } from "./changes.ts";
import { Creator } from "./creator.tsx";
import { type Keys, useDescendants, useKey } from "./data.ts";
import type { Open } from "./list.tsx";
import { Expiry, KeyStatus, Scopes, Spent } from "./row.tsx";

/** The active children of a key, wherever they are in the list. */
const Below = ({ id }: { id: string }) => {
  const { data } = useDescendants(id);
  if (!data) return <>…</>;
  const { keys, hasMore } = data;
  if (keys.length === 0) return <>0</>;
  return (
    <>
      {hasMore ? `more than ${keys.length}` : keys.length}
      <ul className="mt-1 max-h-32 overflow-y-auto text-sm">
        {keys.map((key) => (
          <li key={key.id} className="truncate">
            <PageLink to="/keys" search={{ key: key.id, all: true }} className={LINK}>
              {key.name}
            </PageLink>
            {key.environment === "test" && <span className="text-muted"> (test)</span>}
          </li>
        ))}
      </ul>
    </>
  );
};

const Facts = ({ apiKey }: { apiKey: ApiKeyWithCreator }) => {
  const { calls, expiry } = effectText(apiKey, {
    spendLimitCreditMicros: null,
    maxConcurrentSessions: apiKey.effectiveMaxConcurrentSessions,
    expiresAt: apiKey.effectiveExpiresAt,
  });
  return (
    <dl className="grid gap-4 sm:grid-cols-2">
      <Item name="Status">
        <KeyStatus apiKey={apiKey} />
      </Item>
      <Item name="Key">
        <code className="text-sm break-all">{apiKey.redactedKey}</code>
      </Item>
      <Item name="Id">
        <Id id={apiKey.id} />
      </Item>
      <Item name="May do">
        <Scopes scopes={apiKey.scopes} />
      </Item>
      <Item name="Credits">
        <Spent apiKey={apiKey} />
      </Item>
      <Item name="Calls at once">
        {apiKey.maxConcurrentSessions ?? "no limit"}
        {calls && <span className="block text-sm text-muted">{calls}</span>}
      </Item>
      <Item name="Expires">
        {apiKey.expiresAt === null ? "never" : <Expiry at={apiKey.expiresAt} />}
        {expiry && <span className="block text-sm text-muted">{expiry}</span>}
      </Item>
      <Item name="Last used">
        <Time at={apiKey.lastUsedAt} />
      </Item>
      <Item name="Created">
        <Time at={apiKey.createdAt} />
      </Item>
      <Item name="Created by">
        <Creator apiKey={apiKey} />
      </Item>
      <Item name="Active keys below it">
        <Below id={apiKey.id} />
      </Item>
    </dl>
  );
};

type Props = { id: string; keys: Keys; onOpen: (open: Open) => void; onClose: () => void };

export const KeyDetails = ({ id, keys, onOpen, onClose }: Props) => {
  const { go } = useNavigation();
  const canWrite = useHasRole("developer");
  const listed = keys.byId.get(id);
  const query = useKey(id, listed === undefined);
  const key = listed ?? query.data;
  return (
    <Dialog
      title={key?.name ?? "API key"}
      onClose={onClose}
      isWide
      actions={
        <>
          <Button onClick={() => go("/audit", { target: id })}>Its audit trail</Button>
          <Button onClick={() => go("/audit", { actor: id })}>What it did</Button>
          {canWrite && key?.status === "active" && (
            <Button onClick={() => onOpen({ kind: "change", key })}>Change</Button>
          )}
        </>
      }
    >
      {listed ? (
        <Facts apiKey={listed} />
      ) : (
        <Loaded query={query} skeleton={<Skeleton label="the key" />}>
          {(apiKey) => <Facts apiKey={apiKey} />}
        </Loaded>
      )}
    </Dialog>
  );
};
