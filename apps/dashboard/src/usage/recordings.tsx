/** The recordings of a call, and the player of one of them. */
import type { Recording } from "@realtime-avatar/client";
import { useEffect, useRef, useState } from "react";
import { EndDialog } from "../components/action-dialog.tsx";
import { Button, buttonClass } from "../components/button.tsx";
import { Failure, Skeleton } from "../components/state.tsx";
import { Badge, Card } from "../components/text.tsx";
import { bytes, duration, exactTime } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useRecordingAccess } from "./data.ts";
import { type Played, playPosition, recordingName } from "./played.ts";

const STATES: Record<Exclude<Recording["status"], "ready">, string> = {
  pending: "Nothing is recorded so far.",
  recording: "The call is being recorded.",
  processing: "The file is being made.",
  failed: "The recording has failed.",
  expired: "The file was deleted because of its age.",
};

/** `played`: a moment of the call at which it plays. */
const Player = ({ recording, played }: { recording: Recording; played: Played }) => {
  const { data, error, refetch } = useRecordingAccess(recording.recordingId);
  const media = useRef<HTMLVideoElement>(null);
  const url = data?.url;
  const [attempt, setAttempt] = useState(1);
  /** The URL has expired, or the file is gone. */
  const [failedAttempt, setFailedAttempt] = useState(0);
  const tryAgain = async (): Promise<void> => {
    await refetch();
    setAttempt(attempt + 1);
  };
  useEffect(() => {
    if (url === undefined || media.current === null) return;
    media.current.currentTime = playPosition(recording, played.at);
    // The browser may want the person to start it.
    void media.current.play().catch(() => {});
  }, [url, recording, played, attempt]);
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (url === undefined) return <Skeleton label="the recording" rows={1} />;
  return (
    <div className="mt-3">
      {/* biome-ignore lint/a11y/useMediaCaption: the transcript is shown beside it */}
      <video
        key={attempt}
        ref={media}
        src={url}
        controls
        playsInline
        aria-label={recordingName(recording)}
        onError={() => setFailedAttempt(attempt)}
        className={`w-full rounded-xl bg-raised ${recording.mode === "audio" ? "h-14" : "aspect-square max-w-sm"}`}
      />
      {failedAttempt === attempt && (
        <p className="mt-2 flex items-center gap-3 rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad">
          The recording cannot be played. <Button onClick={() => void tryAgain()}>Try again</Button>
        </p>
      )}
      <a href={url} download={`${recording.recordingId}.mp4`} className={`${buttonClass("quiet")} mt-2 -ml-3.5`}>
        Download
      </a>
    </div>
  );
};

const DeleteRecording = ({ recording, onClose }: { recording: Recording; onClose: () => void }) => {
  const { client } = useAccount();
  const id = recording.recordingId;
  return (
    <EndDialog
      title="Delete the recording"
      confirm="Delete it for good"
      end={() => client.DELETE("/api/v1/recordings/{id}", { params: { path: { id } } })}
      refreshes={["recordings", "audit"]}
      notice="The recording is deleted."
      onClose={onClose}
    >
      <p>Its file is deleted. It cannot be brought back. The call, its transcript and its charge stay.</p>
    </EndDialog>
  );
};

const noteOf = ({ durationMs = 0, sizeBytes = 0, retainedUntil }: Recording): string =>
  `${duration(Math.round(durationMs / 1000))}, ${bytes(sizeBytes)}. Will be deleted on ${exactTime(retainedUntil)}.`;

type Props = {
  recordings: readonly Recording[];
  /** The recording that plays, and from which moment of the call on. */
  played: Played | null;
  onPlay: (played: Played) => void;
};

/** Shown only for a call that is recorded. */
export const RecordingsCard = ({ recordings, played, onPlay }: Props) => {
  const canDelete = useHasRole("owner");
  const [deleted, setDeleted] = useState<Recording | null>(null);
  return (
    <Card title={recordings.length === 1 ? "Recording" : "Recordings"}>
      <ul className="grid gap-4">
        {recordings.map((recording) => {
          const { recordingId: id, status, mediaStartedAt } = recording;
          const name = recordingName(recording);
          return (
            <li key={id}>
              <div className="flex flex-wrap items-center gap-2">
                <span className="font-semibold">{name}</span>
                {status !== "ready" && <Badge tone={status === "failed" ? "bad" : "plain"}>{status}</Badge>}
                <span className="grow" />
                {status === "ready" && played?.id !== id && (
                  <Button
                    aria-label={`Play: ${name}`}
                    onClick={() => onPlay({ id, at: Date.parse(mediaStartedAt ?? "") })}
                  >
                    Play
                  </Button>
                )}
                {canDelete && (
                  <Button kind="quiet" aria-label={`Delete: ${name}`} onClick={() => setDeleted(recording)}>
                    Delete
                  </Button>
                )}
              </div>
              <p className="text-sm text-muted">{status === "ready" ? noteOf(recording) : STATES[status]}</p>
              {status === "ready" && played !== null && played.id === id && (
                <Player recording={recording} played={played} />
              )}
            </li>
          );
        })}
      </ul>
      {deleted && <DeleteRecording recording={deleted} onClose={() => setDeleted(null)} />}
    </Card>
  );
};
