/** The events in the room of a call: the avatar's picture appears, is lost and returns, and the call ends. */
import { LIFECYCLE_TOPIC, type LifecycleMessage, type TimeLeftReason } from "@realtime-avatar/domain/calls/lifecycle";
import { type RemoteTrack, type Room, RoomEvent } from "livekit-client";
import type { RefObject } from "react";

export type Media = { video: RefObject<HTMLVideoElement | null>; audio: RefObject<HTMLAudioElement | null> };
/** The remaining seconds of the call, and the reason of its end; null when the call continues for longer. */
export type TimeLeft = { seconds: number; reason: TimeLeftReason } | null;
type Events = {
  onPicture: () => void;
  onLost: () => void;
  onEnd: () => void;
  onTimeLeft: (left: TimeLeft) => void;
};

/** An avatar sends 25 pictures a second. After this time without pictures, it counts as lost. */
const SILENT_MS = 2000;
const LOOK_MS = 500;

/**
 * The received bytes of pictures. The video element does not report a lost avatar: it keeps showing the last picture.
 */
const receivedBytes = async (track: RemoteTrack): Promise<number> => {
  let bytes = 0;
  for (const report of (await track.getRTCStatsReport())?.values() ?? []) {
    if (report.type === "inbound-rtp") bytes += report.bytesReceived ?? 0;
  }
  return bytes;
};

/** Checks whether pictures arrive, until the returned function is called. */
const watchPictures = (track: RemoteTrack, { onPicture, onLost }: Pick<Events, "onPicture" | "onLost">) => {
  let [bytes, changedAt, isLost] = [-1, performance.now(), false];
  const look = async (): Promise<void> => {
    const [received, now] = [await receivedBytes(track), performance.now()];
    if (received !== bytes) {
      [bytes, changedAt] = [received, now];
      if (isLost) onPicture();
      isLost = false;
    } else if (!isLost && now - changedAt >= SILENT_MS) {
      isLost = true;
      onLost();
    }
  };
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS);
  return () => clearInterval(timer);
};

/** Calls `onShown` when the element has a picture to show. */
const whenShown = (element: HTMLMediaElement, onShown: () => void): void => {
  if (element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) onShown();
  else element.addEventListener("loadeddata", onShown, { once: true });
};

const readMessage = (data: Uint8Array): Partial<LifecycleMessage> | null => {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return null;
  }
};

/** Passes on the avatar's messages about the end. Other messages, and malformed ones, are ignored. */
const handleMessage = (data: Uint8Array, { onEnd, onTimeLeft }: Pick<Events, "onEnd" | "onTimeLeft">): void => {
  const message = readMessage(data);
  if (message?.kind === "ended") onEnd();
  if (message?.kind !== "time_left") return;
  const { seconds, reason } = message;
  if (seconds === null) onTimeLeft(null);
  else if (typeof seconds === "number" && seconds >= 0 && reason) onTimeLeft({ seconds, reason });
};

/** Shows the avatar in the elements, and reports the events of the room. */
export const watchRoom = (room: Room, { video, audio }: Media, events: Events): void => {
  const { onPicture, onLost, onEnd } = events;
  let unwatch = (): void => {};
  room.on(RoomEvent.TrackSubscribed, (track) => {
    const element = track.kind === "video" ? video.current : audio.current;
    if (!element) return;
    track.attach(element);
    if (track.kind !== "video") return;
    unwatch();
    unwatch = watchPictures(track, { onPicture, onLost });
    whenShown(element, onPicture);
  });
  room.on(RoomEvent.TrackUnsubscribed, (track) => {
    if (track.kind !== "video") return;
    unwatch();
    onLost();
  });
  room.on(RoomEvent.Reconnecting, onLost);
  room.on(RoomEvent.DataReceived, (data, _participant, _kind, topic) => {
    if (topic === LIFECYCLE_TOPIC) handleMessage(data, events);
  });
  room.on(RoomEvent.Disconnected, () => {
    unwatch();
    onEnd();
  });
};
