/** How a call ended, in words, and what to do about it. */
import type { UsageSession } from "@realtime-avatar/client";
import type { Tone } from "../components/text.tsx";
import { creditAmount, duration } from "../format.ts";

type EndReason = NonNullable<UsageSession["endReason"]>;
type Call = Pick<
  UsageSession,
  | "status"
  | "startedAt"
  | "billedCreditMicros"
  | "closedBy"
  | "endReason"
  | "releaseReason"
  | "mustEnd"
  | "reservedCreditMicros"
  | "priceCreditMicrosPerSecond"
>;

/** `text`: a short text. `detail`: the meaning, and what to do. */
export type Outcome = { text: string; tone: Tone; detail: string };

/** The reasons that the SDK sends when it ends a call. Other reasons come from the program. */
const SDK_WORDS: Record<string, string> = {
  page_hide: "the page was closed or hidden",
  disconnected: "its connection was lost",
  superseded: "a newer call took its place",
  unmount: "the page showed something else",
  manual: "the person hung up",
  idle_timeout: "nobody spoke",
};

/** How long the held credits would have lasted. */
const heldFor = ({ reservedCreditMicros, priceCreditMicrosPerSecond }: Call): string =>
  duration(reservedCreditMicros / priceCreditMicrosPerSecond);

const released = ({ startedAt, billedCreditMicros, releaseReason }: Call): Outcome => {
  // The reason that the SDK and the page of calls send when the person hangs up.
  if (releaseReason === "manual" && startedAt !== null) {
    return { text: "Hung up", tone: "plain", detail: "The person hung up, and the page or its server ended the call." };
  }
  const words = releaseReason === null ? "gave no reason" : `said: ${SDK_WORDS[releaseReason] ?? releaseReason}`;
  // An engine can report the whole usage of a call at its end.
  return startedAt === null && billedCreditMicros === 0
    ? {
        text: "Ended before it began",
        tone: "plain",
        detail: `Your program ended it before anyone joined, and ${words}.`,
      }
    : { text: "Ended by your program", tone: "plain", detail: `Your program ended it, and ${words}.` };
};

const failed = ({ startedAt, closedBy }: Call): Outcome => {
  if (startedAt !== null) {
    return {
      text: "The avatar failed",
      tone: "bad",
      detail:
        "The avatar worker was lost during the call, or its engine failed, and no other could take over. Only what it had reported is charged. If it happens again, give the operator the id of the call.",
    };
  }
  return closedBy === "sweep"
    ? {
        text: "The avatar did not come",
        tone: "bad",
        detail:
          "The avatar worker could not join the room, so nothing is charged. Start the call again. If it happens again, give the operator the id of the call: the log of the avatar worker says why.",
      }
    : {
        text: "The room was not created",
        tone: "bad",
        detail:
          "LiveKit did not create the room in time, so nothing is charged. The start was answered with 503: the same request again starts a new call. If it happens again, the operator has to look at LiveKit.",
      };
};

const OUTCOMES: Record<EndReason, (call: Call) => Outcome> = {
  released,
  failed,
  user_ended: () => ({ text: "Hung up", tone: "plain", detail: "The person ended the call on the page." }),
  disconnected: () => ({
    text: "The person left",
    tone: "plain",
    detail:
      "The page was closed, or its network was lost, and the person did not come back within 60 seconds. Three absences of a call, 120 seconds in all, are not charged.",
  }),
  idle: () => ({
    text: "Nobody spoke",
    tone: "plain",
    detail:
      "Nobody spoke or sent anything for 120 seconds. If people write instead of speaking, send their text as data.",
  }),
  session_cap: (call) => ({
    text: "Time was up",
    tone: "plain",
    detail: `The call has used the ${heldFor(call)} for which it was started. For a longer one, start it with a greater max_session_seconds, as far as the operator allows.`,
  }),
  out_of_credits: (call) => ({
    text: "Out of credits",
    tone: "warn",
    detail: `The call has used the ${creditAmount(call.reservedCreditMicros)} that it held, which lasted ${heldFor(call)}. It asked for more time, but the balance or the spend cap of its key allowed no more. Have the operator add credits (\`credits grant\`), or raise the cap on the page of the key. With a threshold, webhook endpoints are told before credits run out.`,
  }),
  agent_ended: () => ({
    text: "Ended by the avatar",
    tone: "warn",
    detail:
      "The engine of the avatar ended the call. The one that comes with the service does so when a page sends too much: more than 100 messages or 64 KiB a second.",
  }),
  not_started: () => ({
    text: "Nobody joined",
    tone: "bad",
    detail:
      "Nobody joined in time, or your engine did not report its first usage, so nothing is charged. Let the page connect as soon as it has the grant: it needs https for the microphone, the permission of the person, and a network that reaches LiveKit.",
  }),
  lease_expired: () => ({
    text: "Lost contact",
    tone: "bad",
    detail:
      "No usage was reported any more: the engine of the call has stopped, or has lost its network. Only what was reported is charged. An engine of your own has to report at least once a minute, and to release the call at its end.",
  }),
  key_ended: () => ({
    text: "Its key ended",
    tone: "warn",
    detail:
      "The key of the call, or a key above it, was revoked, has expired, or is over its spend cap. Its page says which. Start calls with another key, or raise the cap.",
  }),
  operator_ended: () => ({
    text: "Ended by the operator",
    tone: "warn",
    detail: "The operator of the service ended the call. Only what was reported is charged.",
  }),
};

/** The ends of a call that a program or a person has caused. */
const INTENDED: readonly (EndReason | null)[] = ["released", "user_ended", "key_ended", "operator_ended"];

/** Whether a call failed to begin. A call that its own program has ended is not a failure. */
export const isFailure = ({ status, endReason }: Pick<Call, "status" | "endReason">): boolean =>
  status === "failed" && !INTENDED.includes(endReason);

export const callOutcome = (call: Call): Outcome => {
  const { status, endReason, mustEnd } = call;
  if (status === "reserved") {
    return {
      text: "Connecting",
      tone: "plain",
      detail: "Nobody has joined yet. The call holds credits until it begins or its time to join is over.",
    };
  }
  if (status === "started") {
    return mustEnd
      ? { text: "About to end", tone: "warn", detail: "The call is to end, and is charged when it does." }
      : { text: "In progress", tone: "good", detail: "The call is charged when it ends. Until then it holds credits." };
  }
  // A newer version can write a reason that this page does not know.
  const known = endReason === null ? undefined : OUTCOMES[endReason];
  if (known) return known(call);
  const detail = "When this call ended, the service did not record the reasons of ends yet.";
  return status === "failed" ? { text: "Never began", tone: "bad", detail } : { text: "Ended", tone: "plain", detail };
};
