/** The metrics of an avatar worker. Loaded only when metrics are configured. */
import type { ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { createRegistry, type ServedMetrics, served } from "@realtime-avatar/runtime/metrics/registry";
import type { ProvidersHealth } from "@realtime-avatar/runtime/providers/check";
import { FAILURES, PROVIDERS } from "./conversation/providers/errors.ts";
import { TURN_STAGES, totalMs } from "./conversation/timings/turn-timings.ts";
import type { CallWatcher } from "./fleet/call-parts.ts";

const JOIN_SECONDS = [0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120];
const STAGE_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10];
const CALL_SECONDS = [5, 15, 30, 60, 120, 300, 600, 1200, 1800];

export type WorkerMetrics = ServedMetrics & {
  watcher: CallWatcher;
  syncFailed(): void;
  /** Adds the slots and the calls of the worker. */
  show(slots: number, calls: () => readonly ReportedCall[]): void;
  /** Adds the providers of conversations. */
  showProviders(health: () => ProvidersHealth): void;
};

/** Returns a function that counts what conversations use. */
const countUsage = ({ counter }: ReturnType<typeof createRegistry>): CallWatcher["used"] => {
  const tokens = counter("realtime_avatar_llm_tokens_total", "Tokens read and written by the language model.", [
    "kind",
  ]);
  for (const kind of ["input", "output"]) tokens.inc({ kind }, 0);
  const estimated = counter(
    "realtime_avatar_llm_tokens_estimated_total",
    "Tokens that were estimated, because the language model did not report them.",
    [],
  );
  const heard = counter("realtime_avatar_recognized_seconds_total", "Seconds of sound sent to the recognizer.", []);
  const spoken = counter("realtime_avatar_spoken_characters_total", "Characters sent to the voice.", []);
  return (growth) => {
    tokens.inc({ kind: "input" }, growth.input_tokens);
    tokens.inc({ kind: "output" }, growth.output_tokens);
    estimated.inc({}, growth.estimated_tokens);
    heard.inc({}, growth.heard_seconds);
    spoken.inc({}, growth.spoken_characters);
  };
};

/** Returns a function that counts the failures of providers. */
const countProviderFailures = ({ counter }: ReturnType<typeof createRegistry>): CallWatcher["providerFailed"] => {
  const failures = counter(
    "realtime_avatar_provider_failures_total",
    "Failures of the language model, the recognizer of speech and the voice.",
    ["provider", "why"],
  );
  // Prometheus does not see the first failure of a series that begins with 1.
  for (const provider of PROVIDERS) for (const why of FAILURES) failures.inc({ provider, why }, 0);
  return (provider, why) => failures.inc({ provider, why });
};

/** Returns functions that count the fragments of recordings. */
const countFragments = ({ counter }: ReturnType<typeof createRegistry>) => {
  const fragments = counter(
    "realtime_avatar_recording_fragments_total",
    "Fragments of recordings, of ten seconds each: sent to the service, or lost.",
    ["result"],
  );
  for (const result of ["sent", "lost"]) fragments.inc({ result }, 0);
  return {
    fragmentSent: () => fragments.inc({ result: "sent" }),
    fragmentLost: () => fragments.inc({ result: "lost" }),
  };
};

export const createMetrics = (version: string): WorkerMetrics => {
  const own = createRegistry();
  const { counter, histogram, readGauge, readGauges } = own;
  const joins = histogram(
    "realtime_avatar_call_join_seconds",
    "From the start of a call until the avatar is published and the person is present.",
    JOIN_SECONDS,
  );
  const lengths = histogram(
    "realtime_avatar_call_seconds",
    "Seconds of calls, from the join to the end.",
    CALL_SECONDS,
    ["reason"],
  );
  const turns = counter(
    "realtime_avatar_conversation_turns_total",
    "Turns of people that were sent to the language model.",
    [],
  );
  const interruptions = counter(
    "realtime_avatar_conversation_interruptions_total",
    "Turns that interrupted the avatar.",
    [],
  );
  const stages = histogram(
    "realtime_avatar_conversation_stage_seconds",
    "Stages of turns. Their sum is the time from the last sound of the person to the first sound of the answer.",
    STAGE_SECONDS,
    ["stage"],
  );
  const responses = histogram(
    "realtime_avatar_conversation_response_seconds",
    "From the last sound of the person to the first sound of the answer, as the person hears it.",
    STAGE_SECONDS,
  );
  const counts = { turn: turns, interruption: interruptions };
  const failed = counter("realtime_avatar_syncs_failed_total", "Syncs that the service did not answer.", []);
  return {
    ...served(own, version),
    watcher: {
      joined: (milliseconds) => joins.observe(milliseconds / 1000),
      ended: (reason, seconds) => lengths.observe({ reason }, seconds),
      used: countUsage(own),
      counted: (what) => counts[what].inc(),
      turnTimed: (timings) => {
        for (const stage of TURN_STAGES) {
          const milliseconds = timings[stage];
          if (milliseconds !== undefined) stages.observe({ stage }, milliseconds / 1000);
        }
        const isSpokenAndHeard = timings.end_of_speech !== undefined && timings.heard !== undefined;
        if (isSpokenAndHeard) responses.observe(totalMs(timings) / 1000);
      },
      providerFailed: countProviderFailures(own),
      ...countFragments(own),
    },
    syncFailed: () => failed.inc(),
    showProviders: (health) => {
      const help = "Whether a provider of conversations responds: 1 or 0, checked once a minute.";
      readGauges("realtime_avatar_provider_up", help, "provider", () =>
        Object.fromEntries(Object.entries(health()).map(([provider, state]) => [provider, Number(state === "ok")])),
      );
    },
    show: (slots, calls) => {
      readGauge("realtime_avatar_worker_slots", "How many calls this worker can have at once.", () => slots);
      const states = { joining: 0, joined: 0, started: 0 };
      readGauges("realtime_avatar_worker_calls", "Calls of this worker.", "state", () => {
        const counts: Record<string, number> = { ...states };
        for (const { state } of calls()) if (state !== "ended") counts[state] = (counts[state] ?? 0) + 1;
        return counts;
      });
    },
  };
};
