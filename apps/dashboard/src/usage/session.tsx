import type { UsageSession } from "@realtime-avatar/client";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Item, Time } from "../components/text.tsx";
import { credits, duration } from "../format.ts";
import { LINK, PageLink } from "../layout/navigation.tsx";
import { useNames, useUsageSession } from "./data.ts";

/** The key that reported or ended a call, or the sweep. */
const By = ({ id, none }: { id: string | null; none: string }) => {
  const names = useNames().data;
  if (id === null) return none;
  if (id === "sweep") return "the service, at the end of its lease";
  return (
    <PageLink to="/keys" className={LINK} search={{ key: id, all: true }}>
      {names?.get(id) ?? id}
    </PageLink>
  );
};

const Facts = ({ session }: { session: UsageSession }) => {
  const names = useNames().data;
  const { apiKeyId, avatarId } = session;
  return (
    <dl className="grid gap-4 sm:grid-cols-2">
      <Item name="Id">
        <Id id={session.sessionId} />
      </Item>
      <Item name="Status">
        <Badge>{session.status}</Badge>
      </Item>
      <Item name="Key">
        <PageLink to="/keys" className={LINK} search={{ key: apiKeyId, all: true }}>
          {names?.get(apiKeyId) ?? apiKeyId}
        </PageLink>
      </Item>
      <Item name="Avatar">
        {avatarId ? (
          <PageLink to="/avatars" className={LINK} search={{ avatar: avatarId }}>
            {session.avatarName ?? avatarId}
          </PageLink>
        ) : (
          "none"
        )}
      </Item>
      <Item name="Opened">
        <Time at={session.createdAt} />
      </Item>
      <Item name="Ended">
        <Time at={session.endedAt} none="still open" />
      </Item>
      <Item name="Length">{session.activeSeconds === null ? "not known" : duration(session.activeSeconds)}</Item>
      <Item name="Charged">
        {session.billedCreditMicros === null
          ? `nothing yet; holds ${credits(session.reservedCreditMicros)} credits`
          : `${credits(session.billedCreditMicros)} credits`}
      </Item>
      <Item name="Usage reported by">
        <By id={session.reportedBy} none="no report yet" />
      </Item>
      <Item name="Ended by">
        <By id={session.closedBy} none={session.mustEnd ? "still open: it must end" : "still open"} />
      </Item>
    </dl>
  );
};

export const SessionDialog = ({ id, onClose }: { id: string; onClose: () => void }) => (
  <Dialog title="Call" onClose={onClose} isWide>
    <Loaded query={useUsageSession(id)} skeleton={<Skeleton label="the call" />}>
      {(session) => <Facts session={session} />}
    </Loaded>
  </Dialog>
);
