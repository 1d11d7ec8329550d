import type { UsageSessionWithNames } from "@realtime-avatar/client";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Item, Time } from "../components/text.tsx";
import { credits, duration } from "../format.ts";
import { ObjectName } from "../layout/object-name.tsx";
import { useUsageSession } from "./data.ts";

/** The key that reported or ended a call, or the sweep. */
const By = ({ id, name, none }: { id: string | null; name: string | null; none: string }) => {
  if (id === null) return none;
  return id === "sweep" ? "the service, at the end of its lease" : <ObjectName id={id} name={name} />;
};

const Facts = ({ session }: { session: UsageSessionWithNames }) => {
  const { avatarId } = session;
  return (
    <dl className="grid gap-4 sm:grid-cols-2">
      <Item name="Id">
        <Id id={session.sessionId} />
      </Item>
      <Item name="Status">
        <Badge>{session.status}</Badge>
      </Item>
      <Item name="Key">
        <ObjectName id={session.apiKeyId} name={session.apiKeyName} />
      </Item>
      <Item name="Avatar">{avatarId ? <ObjectName id={avatarId} name={session.avatarName} /> : "none"}</Item>
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
        <By id={session.reportedBy} name={session.reportedByName} none="no report yet" />
      </Item>
      <Item name="Ended by">
        <By
          id={session.closedBy}
          name={session.closedByName}
          none={session.mustEnd ? "still open: it must end" : "still open"}
        />
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
