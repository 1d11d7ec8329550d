/** What happens in the room of a call: the picture of the avatar comes, stops and comes back, and the call ends. */
import { LIFECYCLE_TOPIC, type LifecycleMessage, type TimeLeftReason } from "@realtime-avatar/domain/calls/lifecycle";
import { type RemoteTrack, type Room, RoomEvent } from "livekit-client";
import type { RefObject } from "react";

export type Media = { video: RefObject<HTMLVideoElement | null>; audio: RefObject<HTMLAudioElement | null> };
/** In how many seconds the call ends, and why; null when it goes on for longer after all. */
export type TimeLeft = { seconds: number; reason: TimeLeftReason } | null;
type Events = {
  onPicture: () => void;
  onLost: () => void;
  onEnd: () => void;
  onTimeLeft: (left: TimeLeft) => void;
};

/** An avatar sends 25 pictures a second. One that sends none for so long is lost. */
const SILENT_MS = 2000;
const LOOK_MS = 500;

/** The bytes of pictures that have arrived. The element does not tell: it shows the last picture of an avatar that is lost. */
const receivedBytes = async (track: RemoteTrack): Promise<number> => {
  let bytes = 0;
  for (const report of (await track.getRTCStatsReport())?.values() ?? []) {
    if (report.type === "inbound-rtp") bytes += report.bytesReceived ?? 0;
  }
  return bytes;
};

/** Looks whether pictures arrive, until the returned function is called. */
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

/** Calls `onShown` once the element has a picture to show. */
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

/** Passes on what the avatar tells about the end. Other messages, and those that cannot be read, are ignored. */
const handleMessage = (data: Uint8Array, { onEnd, onTimeLeft }: Pick<Events, "onEnd" | "onTimeLeft">): void => {
  const message = readMessage(data);
  if (message?.kind === "ended") onEnd();
  if (message?.kind !== "time_left") return;
  const { seconds, reason } = message;
  if (seconds === null) onTimeLeft(null);
  else if (typeof seconds === "number" && seconds >= 0 && reason) onTimeLeft({ seconds, reason });
};

/** Shows the avatar in the elements, and tells what happens in the room. */
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
