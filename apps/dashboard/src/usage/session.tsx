import type { UsageSessionWithNames } from "@realtime-avatar/client";
import { Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Prose } from "../components/prose.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Amount, Badge, Item } from "../components/text.tsx";
import { creditAmount, credits, duration, exactTime } from "../format.ts";
import { ObjectName } from "../layout/object-name.tsx";
import { useSessionEntries, useUsageSession } from "./data.ts";
import { KINDS } from "./entries.tsx";
import { callOutcome } from "./outcome.ts";

/** The caller that reported or ended a call: a key, or the sweep. */
const By = ({ id, name, none }: { id: string | null; name: string | null; none: string }) => {
  if (id === null) return none;
  return id === "sweep" ? "the service" : <ObjectName id={id} name={name} />;
};

/** The length of the call. It is unknown for an engine that reports only at the end. */
export const callLength = ({ startedAt, activeSeconds, billedCreditMicros }: UsageSessionWithNames): string => {
  if (startedAt === null) return billedCreditMicros ? "not known" : "0 s";
  return activeSeconds === null ? "in progress" : duration(activeSeconds);
};

/** The hold of an open session and, for a call, how long it lasts. */
export const heldBy = ({
  videoId,
  reservedCreditMicros,
  priceCreditMicrosPerSecond,
}: Pick<UsageSessionWithNames, "videoId" | "reservedCreditMicros" | "priceCreditMicrosPerSecond">): string => {
  const amount = creditAmount(reservedCreditMicros);
  return videoId ? amount : `${amount}, for ${duration(Math.floor(reservedCreditMicros / priceCreditMicrosPerSecond))}`;
};

const Facts = ({ session }: { session: UsageSessionWithNames }) => {
  const { avatarId, videoId } = session;
  return (
    <dl className="grid gap-4 sm:grid-cols-2">
      <Item name="Id">
        <Id id={session.sessionId} />
      </Item>
      <Item name="Key">
        <ObjectName id={session.apiKeyId} name={session.apiKeyName} />
      </Item>
      <Item name="Avatar">{avatarId ? <ObjectName id={avatarId} name={session.avatarName} /> : "none"}</Item>
      {videoId && (
        <Item name="Video">
          <ObjectName id={videoId} name={null} />
        </Item>
      )}
      <Item name="Opened">{exactTime(session.createdAt)}</Item>
      {!videoId && <Item name="Began">{session.startedAt === null ? "never" : exactTime(session.startedAt)}</Item>}
      <Item name="Ended">{session.endedAt === null ? "still open" : exactTime(session.endedAt)}</Item>
      {!videoId && <Item name="Length">{callLength(session)}</Item>}
      <Item name="Charged">
        {session.billedCreditMicros === null
          ? `nothing yet; holds ${heldBy(session)}`
          : `${credits(session.billedCreditMicros)} of ${creditAmount(session.reservedCreditMicros)} that it held`}
      </Item>
      <Item name="Price of a second">{creditAmount(session.priceCreditMicrosPerSecond)}</Item>
      {!videoId && (
        <Item name="Usage reported by">
          <By id={session.reportedBy} name={session.reportedByName} none="no report yet" />
        </Item>
      )}
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

/** The metadata that the program has set for the call, such as the id of its user. */
const OwnData = ({ metadata }: Pick<UsageSessionWithNames, "metadata">) =>
  Object.keys(metadata).length > 0 && (
    <dl className="grid gap-4 sm:grid-cols-2">
      {Object.entries(metadata).map(([name, value]) => (
        <Item key={name} name={name}>
          {value}
        </Item>
      ))}
    </dl>
  );

const EntriesOf = ({ id }: { id: string }) => (
  <Loaded query={useSessionEntries(id)} skeleton={<Skeleton label="the entries" rows={2} height="h-6" />}>
    {(entries) => (
      <ul aria-label="Entries of this session">
        {entries.toReversed().map((entry) => (
          <li key={entry.id} className="flex flex-wrap justify-between gap-x-4 border-t border-line py-1 text-sm">
            <span>
              {KINDS[entry.kind]?.name ?? entry.kind}
              {entry.reference && <span className="text-muted"> · {entry.reference}</span>}
              <span className="text-muted"> · {exactTime(entry.createdAt)}</span>
            </span>
            <span className="tabular-nums">
              <Amount micros={entry.amountCreditMicros} sign={KINDS[entry.kind]?.sign ?? ""} />
            </span>
          </li>
        ))}
      </ul>
    )}
  </Loaded>
);

/** How a call ended, in words. */
const OutcomeText = ({ call }: { call: UsageSessionWithNames }) => {
  const { text, tone, detail } = callOutcome(call);
  return (
    <div>
      <Badge tone={tone}>{text}</Badge>
      <p className="mt-1 max-w-prose">
        <Prose text={detail} />
      </p>
    </div>
  );
};

/** The facts and the entries of a session, and how its call ended. For a video, the end is shown with the video. */
export const SessionDetails = ({ session }: { session: UsageSessionWithNames }) => (
  <div className="grid gap-4">
    {session.videoId === null && <OutcomeText call={session} />}
    <Facts session={session} />
    <OwnData metadata={session.metadata} />
    <EntriesOf id={session.sessionId} />
  </div>
);

export const SessionDialog = ({ id, onClose }: { id: string; onClose: () => void }) => {
  const query = useUsageSession(id);
  return (
    <Dialog title={query.data?.videoId ? "Credits of a video" : "Call"} onClose={onClose} isWide>
      <Loaded query={query} skeleton={<Skeleton label="the session" />}>
        {(session) => <SessionDetails session={session} />}
      </Loaded>
    </Dialog>
  );
};
