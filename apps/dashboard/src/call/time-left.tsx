/** The last minute of a call, counted down. */
import { useEffect, useState } from "react";
import { duration } from "../format.ts";
import type { TimeLeft } from "./room.ts";

const TICK_MS = 250;

const REASONS: Record<NonNullable<TimeLeft>["reason"], string> = {
  session_cap: "Its time is over then.",
  out_of_credits: "The credits that it can hold are used then.",
};

/** The text at `now`, for a message from `toldAt`. Times are in milliseconds by any steady clock. */
export const timeLeftText = ({ seconds, reason }: NonNullable<TimeLeft>, toldAt: number, now: number): string =>
  `Ends in ${duration(Math.max(0, Math.ceil(seconds - (now - toldAt) / 1000)))}. ${REASONS[reason] ?? ""}`.trim();

/** `left`: the content of the avatar's last message. The message repeats every five seconds. */
export const TimeLeftLine = ({ left }: { left: NonNullable<TimeLeft> }) => {
  const [text, setText] = useState("");
  useEffect(() => {
    const toldAt = performance.now();
    const show = (): void => setText(timeLeftText(left, toldAt, performance.now()));
    show();
    const timer = setInterval(show, TICK_MS);
    return () => clearInterval(timer);
  }, [left]);
  // Screen readers do not announce a timer at each second.
  return (
    <p role="timer" className="mt-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      {text}
    </p>
  );
};
