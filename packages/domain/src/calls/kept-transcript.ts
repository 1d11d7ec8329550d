/** Transcripts that a tenant keeps, as the API shows them. */
import { type Static, Type } from "@sinclair/typebox";
import type { SessionId } from "../id.ts";
import { Problem } from "../problem.ts";
import { ClosedObject, DateTime, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_TRANSCRIPT_SEGMENTS, presentSegments, SHOWN_FIELDS, type TranscriptSegment } from "./transcript.ts";

const DAY_MS = 86_400_000;

export const Transcript = ClosedObject({
  sessionId: Text({ minLength: 1, maxLength: 64 }),
  status: OneOf(["open", "final", "deleted"], {
    description: "`open`: segments can still be added, until some seconds after the end of the call.",
  }),
  truncated: Type.Boolean({ description: "Whether words are missing." }),
  deletesAt: Nullable(DateTime(), { description: "When the transcript is deleted; null while the call is open." }),
  segments: Type.Array(
    ClosedObject({
      ...SHOWN_FIELDS,
      input_source: Type.Optional(OneOf(["text", "server_stt", "client_stt"])),
    }),
    {
      minItems: 0,
      maxItems: MAX_TRANSCRIPT_SEGMENTS,
      description: "What was said, in its order, as `segments` of the transcript that a webhook gets.",
    },
  ),
});
export type Transcript = Static<typeof Transcript>;

/** A stored transcript. `segments`: null for each segment that cannot be opened. */
export type StoredTranscript = {
  isKept: boolean;
  endedAt: Date | null;
  isTruncated: boolean;
  isOpen: boolean;
  segments: readonly (TranscriptSegment | null)[];
};

/** When the kept transcript of a call is deleted. */
const deletionTime = (endedAt: Date, retentionDays: number): Date =>
  new Date(endedAt.getTime() + retentionDays * DAY_MS);

export const transcriptNotKept = (): Problem =>
  new Problem(
    "transcript_not_kept",
    "The tenant did not keep transcripts when the call began, or the transcript was deleted, or the session is no call.",
  );

/** The transcript of a session. Throws the problem `transcript_not_kept`, also when the retention has ended. */
export const presentTranscript = (
  sessionId: SessionId,
  stored: StoredTranscript,
  { now, retentionDays }: { now: Date; retentionDays: number },
): Transcript => {
  const deletesAt = stored.endedAt && deletionTime(stored.endedAt, retentionDays);
  if (!stored.isKept || (deletesAt !== null && deletesAt <= now)) throw transcriptNotKept();
  const segments = stored.segments.filter((segment) => segment !== null);
  return {
    sessionId,
    status: stored.isOpen ? "open" : "final",
    truncated: stored.isTruncated || segments.length < stored.segments.length,
    deletesAt: deletesAt?.toISOString() ?? null,
    segments: presentSegments(segments),
  };
};

/** A transcript that was just deleted. */
export const deletedTranscript = (sessionId: SessionId): Transcript => ({
  sessionId,
  status: "deleted",
  truncated: false,
  deletesAt: null,
  segments: [],
});
