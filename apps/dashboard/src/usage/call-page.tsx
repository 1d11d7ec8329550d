/** A call: its end, its transcript, and its cost. */
import { Loaded, Skeleton } from "../components/state.tsx";
import { Card, HOME, PageHead } from "../components/text.tsx";
import { dateTime } from "../format.ts";
import { useUsageSession } from "./data.ts";
import { SessionDetails } from "./session.tsx";
import { TranscriptCard } from "./transcript.tsx";

export const CallPage = ({ id }: { id: string }) => {
  const query = useUsageSession(id);
  const session = query.data;
  return (
    <>
      <PageHead
        title={session?.avatarName ? `Call with ${session.avatarName}` : "Call"}
        above={[HOME, ["/usage", "Usage"]]}
      >
        {session ? dateTime(session.createdAt) : ""}
      </PageHead>
      <Loaded query={query} skeleton={<Skeleton label="the call" rows={6} />}>
        {(call) => (
          <div className="grid items-start gap-x-5 lg:grid-cols-[3fr_2fr]">
            <TranscriptCard id={id} startedAt={call.startedAt} />
            <Card title="Details">
              <SessionDetails session={call} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
};
