import type { ApiKeyWithCreator } from "@realtime-avatar/client";
import { Button } from "../components/button.tsx";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Item, Time } from "../components/text.tsx";
import { useHasRole } from "../layout/context.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { effectText } from "./changes.ts";
import { Creator } from "./creator.tsx";
import { descendantsOf, type Keys, useKey } from "./data.ts";
import type { Open } from "./list.tsx";
import { Expiry, KeyStatus, Scopes, Spent } from "./row.tsx";

const Facts = ({ apiKey, keys }: { apiKey: ApiKeyWithCreator; keys: Keys }) => {
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
        {keys.byId.has(apiKey.id) ? descendantsOf(keys, apiKey.id).length : "not known: older than the loaded keys"}
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
          {canWrite && listed?.status === "active" && (
            <Button onClick={() => onOpen({ kind: "change", key: listed })}>Change</Button>
          )}
        </>
      }
    >
      {listed ? (
        <Facts apiKey={listed} keys={keys} />
      ) : (
        <Loaded query={query} skeleton={<Skeleton label="the key" />}>
          {(apiKey) => <Facts apiKey={apiKey} keys={keys} />}
        </Loaded>
      )}
    </Dialog>
  );
};
