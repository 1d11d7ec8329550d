/** Who watches the pictures of an avatar. */
import { type Room, RoomEvent, type Track, TrackKind } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/**
 * Returns whether the pictures of a call are watched now. In a room of the service, the person watches while it is there. In the room
 * of an agent's owner, every other participant may; one that is hidden shows itself only by the first subscription to the pictures,
 * and from then on they count as watched.
 */
export const watchAudience = (
  room: Room,
  { agent_identity }: Pick<AssignedCall, "agent_identity">,
): (() => boolean) => {
  let hasHidden = false;
  const hasVisible = (): boolean => [...room.remoteParticipants.keys()].some((identity) => identity !== agent_identity);
  room.on(RoomEvent.LocalTrackSubscribed, ({ kind }: Track) => {
    if (agent_identity !== null && kind === TrackKind.KIND_VIDEO && !hasVisible()) hasHidden = true;
  });
  return () => hasHidden || hasVisible();
};
