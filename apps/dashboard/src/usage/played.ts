/** Which recording of a call plays, and where. */
import type { Recording } from "@realtime-avatar/client";

/** `at`: a moment of the call, in milliseconds since 1970. */
export type Played = { id: string; at: number };

/** In seconds of the file. A sentence begins a moment before its first word is recognized. */
const LEAD_SECONDS = 1;

const NAMES = { user: "The person", avatar: "The avatar" };

export const recordingName = ({ participant }: Pick<Recording, "participant">): string =>
  participant ? NAMES[participant.role] : "The whole call";

/** The seconds of a file at a moment of the call. */
export const playPosition = (
  { mediaStartedAt, durationMs = 0 }: Pick<Recording, "mediaStartedAt" | "durationMs">,
  at: number,
): number => {
  const startedAt = Date.parse(mediaStartedAt ?? "");
  if (Number.isNaN(startedAt) || at <= startedAt) return 0;
  return Math.min(durationMs / 1000, Math.max(0, (at - startedAt) / 1000 - LEAD_SECONDS));
};

/** The recording in which a sentence of `role` is heard: that which plays, that of both, or that of the speaker; null when none is ready. */
export const chooseRecording = (
  recordings: readonly Recording[],
  role: "user" | "assistant",
  playing: string | null,
): Recording | null => {
  const ready = recordings.filter(({ status }) => status === "ready");
  const speaker = role === "user" ? "user" : "avatar";
  const heard = ready.filter(({ participant }) => participant === undefined || participant.role === speaker);
  return heard.find(({ recordingId }) => recordingId === playing) ?? heard[0] ?? null;
};
