/**
 * Transcripts of calls: the words of both sides, sent to a URL of the tenant after the call. `verifyTranscript` of the
 * published SDK reads the body and the signature. Until then a transcript is stored in parts, the receiver and each
 * segment, sealed (`secrets/sealed.ts`) under a key of the call, which HKDF-SHA-256 (RFC 5869) derives from the key of
 * `WEBHOOK_SECRET_KEY`. Each call has its own key, because one key may seal at most 2^32 texts with random
 * initialization vectors.
 */
import { createHmac, hkdfSync } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import type { RandomBytes, SessionId } from "../id.ts";
import type { FieldError } from "../problem.ts";
import { ClosedObject, Count, isValid, JsonObject, OneOf, Text } from "../schema.ts";
import { openSealed, seal } from "../secrets/sealed.ts";
import { webhookUrlErrors } from "../webhooks/url.ts";
import { withoutUnknownFields } from "./known-fields.ts";
import type { CallMode, TranscriptWebhook } from "./schemas.ts";

/** The errors of the URL in the body of a start. `allowHttpLocalhost`: for development. */
export const transcriptUrlErrors = (webhook: TranscriptWebhook, allowHttpLocalhost: boolean): FieldError[] =>
  webhookUrlErrors(webhook.url, allowHttpLocalhost).map((error) => ({ ...error, pointer: "#/transcript_webhook/url" }));

/** Bounds of a transcript. Segments beyond them are dropped, and the transcript says `truncated`. */
export const MAX_TRANSCRIPT_SEGMENTS = 2000;
export const MAX_TRANSCRIPT_BYTES = 256 * 1024;
/** In UTF-16 units, so that a segment has at most as many code points. */
export const MAX_SEGMENT_LENGTH = 8000;
/**
 * Maximum number of transcripts of a tenant that wait for another attempt. At this number, calls with a transcript are
 * refused.
 */
export const MAX_WAITING_TRANSCRIPTS = 1000;

/** How a turn of the person came in, in the words of the published SDK. */
const InputProvenance = ClosedObject({
  version: Count({ minimum: 1, maximum: 1 }),
  observed_source: OneOf(["text", "server_stt"]),
  observed_by: OneOf(["sdk", "worker"]),
  declared_source: Type.Optional(OneOf(["text", "client_stt"])),
  declaration_scope: Type.Optional(OneOf(["turn", "adapter"])),
  ingress: OneOf(["room_text", "room_audio_stt"]),
});
export type InputProvenance = Static<typeof InputProvenance>;

const turnId = Text({ minLength: 1, maxLength: 160 });

/** Maximum number of tool calls in one answer of a language model. */
export const MAX_TOOL_CALLS = 8;
/** Bound of the arguments of a tool call, and of its result, in UTF-16 units. */
export const MAX_TOOL_LENGTH = 8192;
/** Bounds of a segment with tool calls, and of all such segments of a transcript from one worker, as JSON in bytes. */
export const MAX_TOOL_SEGMENT_BYTES = 16 * 1024;
export const MAX_TOOL_SEGMENTS_BYTES = 64 * 1024;

/** A tool call of the language model. `args`: a JSON object as text. `result`: as the model gets it. */
export const RecordedToolCall = ClosedObject({
  id: Text({ minLength: 1, maxLength: 128 }),
  name: Text({ minLength: 1, maxLength: 64 }),
  args: Text({ minLength: 2, maxLength: MAX_TOOL_LENGTH }),
  result: Type.Optional(Text({ minLength: 0, maxLength: MAX_TOOL_LENGTH })),
});
export type RecordedToolCall = Static<typeof RecordedToolCall>;

const segmentText = (minLength: number) => Text({ minLength, maxLength: MAX_SEGMENT_LENGTH });

/**
 * A segment: a turn of the person, or the words of the avatar that were heard. `ts`: milliseconds since 1970. One with
 * `tool_calls` has no text.
 */
export const TranscriptSegment = ClosedObject({
  role: OneOf(["user", "assistant"]),
  text: segmentText(0),
  ts: Count(),
  interrupted: Type.Optional(Type.Boolean()),
  turn_id: Type.Optional(turnId),
  retry_of_turn_id: Type.Optional(turnId),
  input_provenance: Type.Optional(InputProvenance),
  timings: Type.Optional(JsonObject({ "x-maxBytes": 2048, description: "The stages of the turn, in milliseconds." })),
  own: Type.Optional(
    Type.Boolean({
      description: "The service said these words. The language model does not get them. Not sent to receivers.",
    }),
  ),
  tool_calls: Type.Optional(
    Type.Array(RecordedToolCall, {
      minItems: 1,
      maxItems: MAX_TOOL_CALLS,
      description:
        "Tool calls of the language model, without `result` while they run. Each is sent again with its result. Only for the next process of the call.",
    }),
  ),
});
export type TranscriptSegment = Static<typeof TranscriptSegment>;
const { own: _own, tool_calls: _calls, ...shown } = TranscriptSegment.properties;
/** The fields that a tenant sees. */
export const SHOWN_FIELDS = { ...shown, text: segmentText(1) };

/** Segments in one report of a worker. */
export const MAX_REPORTED_SEGMENTS = 64;

/**
 * The maximum number of segments, the newest, that the next process of a call gets. The language model gets fewer
 * messages.
 */
export const MAX_HISTORY_SEGMENTS = 64;

/** The segments of a call from the place `first` on: the worker counts those of its generation, from 0. */
export const TranscriptReport = ClosedObject({
  generation: Count({ minimum: 1, maximum: 2 ** 31 - 1 }),
  first: Count({ maximum: 2 ** 31 - 1 }),
  segments: Type.Array(TranscriptSegment, { minItems: 0, maxItems: MAX_REPORTED_SEGMENTS }),
  is_complete: Type.Boolean({ description: "Whether this report is the last one of the call." }),
  speaking: Type.Optional(
    Type.Unsafe<TranscriptSegment>({
      ...TranscriptSegment,
      description:
        "The words of the avatar after these segments, as far as they were heard. The next report replaces them. They are stored if the worker is lost. Only of a call with `history`.",
    }),
  ),
});
export type TranscriptReport = Static<typeof TranscriptReport>;

/** `next`: the place of the segment that the service expects next. */
export const TranscriptReceipt = ClosedObject({ next: Count() });
export type TranscriptReceipt = Static<typeof TranscriptReceipt>;

/** The path of `PUT`, to which a worker sends the segments of a call. */
export const transcriptPath = (workerId: string, session: string): string =>
  `/internal/avatar-workers/${workerId}/calls/${session}/transcript`;

/**
 * Seals and opens the parts of the transcript of a call. `sealingKey`: the key of webhooks. The `open…` functions
 * return null when a part cannot be opened.
 */
export const transcriptSeals = (sealingKey: Uint8Array, sessionId: SessionId) => {
  const purpose = `realtime-avatar transcript 1 ${sessionId}`;
  const key = new Uint8Array(hkdfSync("sha256", sealingKey, "", purpose, 32));
  const open = <Part>(sealed: Uint8Array, name: string): Part | null => {
    const text = openSealed(sealed, name, key);
    return text === null ? null : JSON.parse(text);
  };
  return {
    sealReceiver: ({ url, secret }: TranscriptWebhook, random: RandomBytes): Uint8Array =>
      seal(JSON.stringify({ url, secret }), "receiver", key, random),
    openReceiver: (sealed: Uint8Array) => open<TranscriptWebhook>(sealed, "receiver"),
    sealSegment: (segment: TranscriptSegment, random: RandomBytes): Uint8Array =>
      seal(JSON.stringify(segment), "segment", key, random),
    /**
     * Another release may have sealed the segment. Unknown fields are removed; the result is null when the segment is
     * not valid here.
     */
    openSegment: (sealed: Uint8Array): TranscriptSegment | null => {
      const segment = withoutUnknownFields(TranscriptSegment, open(sealed, "segment"));
      return isValid(TranscriptSegment, segment) ? segment : null;
    },
  };
};

/** An ended call, as its transcript describes it. */
export type TranscribedCall = {
  sessionId: SessionId;
  avatarId: string;
  mode: CallMode;
  startedAt: Date;
  endedAt: Date;
  metadata: Record<string, string>;
  isTruncated: boolean;
  segments: readonly TranscriptSegment[];
};

/** A segment with the source of the person's words: the one that the client declares, else the observed one. */
const presentSegment = ({ own: _, tool_calls: __, ...segment }: TranscriptSegment) => {
  const { input_provenance: provenance } = segment;
  if (provenance === undefined) return segment;
  return { ...segment, input_source: provenance.declared_source ?? provenance.observed_source };
};

/** The segments as a tenant sees them: without tool calls. */
export const presentSegments = (segments: readonly TranscriptSegment[]) =>
  segments.filter(({ text }) => text !== "").map(presentSegment);

/** The body that is signed and sent: `TranscriptPayload` of the published SDK. */
export const transcriptBody = (call: TranscribedCall): string => {
  const [startedAt, endedAt] = [call.startedAt.getTime(), call.endedAt.getTime()];
  const segments = presentSegments(call.segments);
  return JSON.stringify({
    type: "session.transcript",
    session_id: call.sessionId,
    avatar_id: call.avatarId,
    mode: call.mode,
    // The service learns of the start some milliseconds after the worker. The worker may have heard a word before.
    started_at: Math.min(startedAt, segments[0]?.ts ?? startedAt),
    ended_at: endedAt,
    seconds: Math.max(0, Math.ceil((endedAt - startedAt) / 1000)),
    truncated: call.isTruncated,
    segments,
    client_metadata: call.metadata,
  });
};

/** The headers that prove the origin of a body: HMAC-SHA-256 over `<seconds>.<body>`, in hexadecimal after `v1=`. */
export const transcriptHeaders = (body: string, secret: string, sentAt: Date) => {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return { "x-rta-timestamp": timestamp, "x-rta-signature": `v1=${signature}` };
};
