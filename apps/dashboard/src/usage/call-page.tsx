/** A call: its end, its transcript, and its cost. */
import { useState } from "react";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Card, HOME, PageHead } from "../components/text.tsx";
import { dateTime } from "../format.ts";
import { useRecordings, useUsageSession } from "./data.ts";
import { chooseRecording, type Played } from "./played.ts";
import { RecordingsCard } from "./recordings.tsx";
import { SessionDetails } from "./session.tsx";
import { type Segment, TranscriptCard } from "./transcript.tsx";

export const CallPage = ({ id }: { id: string }) => {
  const query = useUsageSession(id);
  const session = query.data;
  const recordings = useRecordings(id).data ?? [];
  const [played, setPlayed] = useState<Played | null>(null);
  const playAt = ({ ts: at, role }: Segment): void => {
    const recording = chooseRecording(recordings, role, played?.id ?? null);
    if (recording !== null) setPlayed({ id: recording.recordingId, at });
  };
  const isPlayable = recordings.some(({ status }) => status === "ready");
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
            <TranscriptCard id={id} startedAt={call.startedAt} onPlay={isPlayable ? playAt : undefined} />
            <div>
              {recordings.length > 0 && <RecordingsCard recordings={recordings} played={played} onPlay={setPlayed} />}
              <Card title="Details">
                <SessionDetails session={call} />
              </Card>
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
};
