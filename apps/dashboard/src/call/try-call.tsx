/** The link to the page of calls, or the reason why calls are impossible. */
import type { Avatar } from "@realtime-avatar/client";
import { callAddress } from "../avatars/call-line.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { LINK } from "../layout/navigation.tsx";
import { hasCalls } from "../page-settings.ts";

const REASON = "no-calls";

/** Shown beside `TryCall`, and instead of the page of calls. Empty when calls can be started. */
export const NoCalls = ({ className = "" }: { className?: string }) =>
  hasCalls() ? null : (
    <p id={REASON} className={`text-sm text-muted ${className}`}>
      Calls need{" "}
      <a href="/docs/guides/calls" className={LINK}>
        LiveKit
      </a>
      , which this service does not have.
    </p>
  );

type Props = { avatar: Pick<Avatar, "id" | "environment">; kind?: "primary" | "plain" };

export const TryCall = ({ avatar, kind = "primary" }: Props) =>
  hasCalls() ? (
    <a href={callAddress(avatar)} className={buttonClass(kind)}>
      Try a call
    </a>
  ) : (
    // Not `disabled`, so that the keyboard reaches it, and a screen reader reads the reason.
    <Button aria-disabled aria-describedby={REASON}>
      Try a call
    </Button>
  );
