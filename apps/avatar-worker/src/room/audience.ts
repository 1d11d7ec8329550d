/** Viewers of the pictures of an avatar. */
import { type Room, RoomEvent, type Track, TrackKind } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/**
 * Returns a function that tells whether the pictures of a call have viewers now. In a room of the service, the person
 * is the viewer. In a brought room, each participant except the agent counts as a viewer. LiveKit reports a hidden
 * participant only by its first subscription, so the pictures count as viewed from then on.
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
