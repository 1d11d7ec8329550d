/** The metrics of webhooks: of the worker, which sends them. */
import type { TranscriptStats } from "@realtime-avatar/db/calls/transcripts";
import type { WebhookStats } from "@realtime-avatar/db/webhooks/sending";
import { cachedReads } from "./cached-reads.ts";
import { type OwnRegistry, SECONDS } from "./registry.ts";

/** An attempt to send a delivery. `class`: `delivered`, or the class of the failure. */
export type WebhookAttempt = { class: string; durationMs: number };

export type WebhookMetrics = {
  webhookAttempted(attempt: WebhookAttempt): void;
  /** Adds the metrics of the queue. `read` asks the database; it is called at most once in ten seconds. */
  showWebhooks(read: () => Promise<WebhookStats>): void;
  /** An attempt to send the transcript of a call. */
  transcriptAttempted(attempt: WebhookAttempt): void;
  transcriptEnded(outcome: "delivered" | "given_up"): void;
  /** The same for transcripts. */
  showTranscripts(read: () => Promise<TranscriptStats>): void;
};

const UNKNOWN: WebhookStats = {
  due: Number.NaN,
  pending: Number.NaN,
  oldestDueSeconds: Number.NaN,
  disabledEndpoints: Number.NaN,
};

export const webhookMetrics = ({ counter, histogram, readGauge, readGauges }: OwnRegistry): WebhookMetrics => {
  const help = "Duration of the attempts to send a delivery, by outcome.";
  const attempts = histogram("realtime_avatar_webhook_attempt_duration_seconds", help, SECONDS, ["class"]);
  const transcriptHelp = "Duration of the attempts to send a transcript, by outcome.";
  const transcriptAttempts = histogram("realtime_avatar_transcript_attempt_duration_seconds", transcriptHelp, SECONDS, [
    "class",
  ]);
  const ends = "Transcripts that were delivered, and those that were given up after their last attempt.";
  const transcripts = counter("realtime_avatar_transcripts_total", ends, ["outcome"]);
  return {
    webhookAttempted: ({ class: attemptClass, durationMs }) =>
      attempts.observe({ class: attemptClass }, durationMs / 1000),
    showWebhooks: (read) => {
      const cached = cachedReads(read, UNKNOWN);
      const deliveries = "Deliveries that are due, and all that are not sent yet, up to 10,000.";
      readGauges("realtime_avatar_webhook_deliveries", deliveries, "state", async () => {
        const { due, pending } = await cached();
        return { due, pending };
      });
      const age = "For how long the oldest delivery has been due, among the endpoints without a running attempt.";
      readGauge("realtime_avatar_webhook_oldest_due_seconds", age, async () => (await cached()).oldestDueSeconds);
      const disabled = "Webhook endpoints that are disabled, up to 10,000.";
      readGauge("realtime_avatar_webhook_disabled_endpoints", disabled, async () => (await cached()).disabledEndpoints);
    },
    transcriptAttempted: ({ class: attemptClass, durationMs }) =>
      transcriptAttempts.observe({ class: attemptClass }, durationMs / 1000),
    transcriptEnded: (outcome) => transcripts.inc({ outcome }),
    showTranscripts: (read) => {
      const cached = cachedReads(read, { oldestDueSeconds: Number.NaN });
      const age = "For how long the oldest transcript that no worker is sending has been due.";
      readGauge("realtime_avatar_transcript_oldest_due_seconds", age, async () => (await cached()).oldestDueSeconds);
    },
  };
};
