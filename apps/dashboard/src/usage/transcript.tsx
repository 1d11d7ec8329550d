/** The transcript of a call: the words of both sides, their times, and the response time of each answer. */
import type { Transcript } from "@realtime-avatar/client";
import { useState } from "react";
import { isProblem } from "../api/client.ts";
import { EndDialog } from "../components/action-dialog.tsx";
import { Button } from "../components/button.tsx";
import { Failure, Skeleton } from "../components/state.tsx";
import { Badge, Card } from "../components/text.tsx";
import { exactTime } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, PageLink } from "../layout/navigation.tsx";
import { useTranscript } from "./data.ts";
import { clockTime, STAGES, timedStages, totalText } from "./timings.ts";

export type Segment = Transcript["segments"][number];

const FILLS = ["fill-muted", "fill-muted", "fill-warn", "fill-accent", "fill-good", "fill-muted"];

/** The timings of an answer: their sum, and the stages when it is opened. */
const Timings = ({ segment }: { segment: Segment }) => {
  const stages = timedStages(segment.timings);
  const total = stages.reduce((sum, { ms }) => sum + ms, 0);
  if (stages.length === 0) return null;
  let left = 0;
  return (
    <details className="mt-1 text-sm text-muted">
      <summary className="w-fit cursor-pointer rounded-md">Answered in {totalText(total)}</summary>
      <svg aria-hidden="true" className="mt-2 block h-2 w-full max-w-md rounded-full" preserveAspectRatio="none">
        {stages.map(({ stage, ms }) => {
          const x = left;
          left += (ms / Math.max(1, total)) * 100;
          const fill = FILLS[Object.keys(STAGES).indexOf(stage)] ?? "fill-muted";
          return <rect key={stage} x={`${x}%`} width={`${left - x}%`} height="100%" className={fill} />;
        })}
      </svg>
      <dl className="mt-2 grid max-w-md grid-cols-[1fr_auto] gap-x-4 tabular-nums">
        {stages.map(({ stage, name, ms }) => (
          <div key={stage} className="contents">
            <dt>{name}</dt>
            <dd className="text-right">{ms} ms</dd>
          </div>
        ))}
      </dl>
    </details>
  );
};

type ListProps = {
  segments: readonly Segment[];
  /** When the call began, in milliseconds. */
  startsAt: number;
  /** Plays the recording from a sentence on. Undefined when the call has no recording. */
  onPlay?: ((segment: Segment) => void) | undefined;
};

const SegmentList = ({ segments, startsAt, onPlay }: ListProps) => (
  <ol aria-label="What was said" className="grid gap-3">
    {segments.map((segment, at) => {
      const time = clockTime(segment.ts - startsAt);
      const isPerson = segment.role === "user";
      return (
        <li key={`${segment.ts} ${at}`} className="grid grid-cols-[3.5rem_1fr] gap-x-3">
          {onPlay ? (
            <button
              type="button"
              aria-label={`Play from ${time}`}
              onClick={() => onPlay(segment)}
              className={`${LINK} h-fit w-fit rounded-md text-left text-sm tabular-nums`}
            >
              {time}
            </button>
          ) : (
            <span className="text-sm leading-6 text-muted tabular-nums">{time}</span>
          )}
          <div className="min-w-0">
            <p className="flex flex-wrap items-center gap-x-2 text-sm">
              <span className={isPerson ? "font-semibold" : "font-semibold text-accent"}>
                {isPerson ? "Person" : "Avatar"}
              </span>
              {segment.input_source === "text" && <Badge>written</Badge>}
              {segment.interrupted && <Badge tone="warn">interrupted</Badge>}
            </p>
            <p className="break-words whitespace-pre-wrap">{segment.text}</p>
            <Timings segment={segment} />
          </div>
        </li>
      );
    })}
  </ol>
);

const DeleteTranscript = ({ id, onClose }: { id: string; onClose: () => void }) => {
  const { client } = useAccount();
  return (
    <EndDialog
      title="Delete the transcript"
      confirm="Delete it for good"
      end={() => client.DELETE("/api/v1/usage/sessions/{id}/transcript", { params: { path: { id } } })}
      refreshes={["transcript", "audit"]}
      notice="The transcript is deleted."
      onClose={onClose}
    >
      <p>What was said in the call is deleted. It cannot be brought back. The call and its charge stay.</p>
    </EndDialog>
  );
};

const NotKept = () => (
  <p className="text-muted">
    No transcript of this call is kept. Transcripts of calls that begin while{" "}
    <PageLink to="/usage" search={{ tab: "calls" }} className={LINK}>
      the setting
    </PageLink>{" "}
    is on are kept until they are deleted.
  </p>
);

const noteOf = ({ status, truncated, deletesAt }: Transcript): string =>
  [
    status === "open" && "The call is not over: more follows.",
    truncated && "Some words are missing.",
    deletesAt && `Will be deleted on ${exactTime(deletesAt)}.`,
  ]
    .filter(Boolean)
    .join(" ");

export const TranscriptCard = ({
  id,
  startedAt,
  onPlay,
}: { id: string; startedAt: string | null } & Pick<ListProps, "onPlay">) => {
  const { data, error, refetch } = useTranscript(id);
  const canDelete = useHasRole("owner");
  const [isDeleting, setDeleting] = useState(false);
  const isNotKept = isProblem(error, "transcript_not_kept");
  const transcript = isNotKept ? undefined : data;
  const startsAt = startedAt === null ? (transcript?.segments[0]?.ts ?? 0) : Date.parse(startedAt);
  return (
    <Card
      title="Transcript"
      actions={transcript && canDelete && <Button onClick={() => setDeleting(true)}>Delete it</Button>}
    >
      {isNotKept && <NotKept />}
      {error && !isNotKept && <Failure error={error} onRetry={() => void refetch()} />}
      {!error && !transcript && <Skeleton label="the transcript" />}
      {transcript && (
        <>
          <p className="mb-3 text-sm text-muted">{noteOf(transcript)}</p>
          {transcript.segments.length === 0 ? (
            <p className="text-muted">Nothing was said.</p>
          ) : (
            <SegmentList segments={transcript.segments} startsAt={startsAt} onPlay={onPlay} />
          )}
        </>
      )}
      {isDeleting && <DeleteTranscript id={id} onClose={() => setDeleting(false)} />}
    </Card>
  );
};
