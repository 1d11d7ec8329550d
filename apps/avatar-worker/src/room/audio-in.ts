/** The sound of a participant. */
import {
  AudioStream,
  type RemoteTrack,
  type RemoteTrackPublication,
  type Room,
  RoomEvent,
  TrackKind,
} from "@livekit/rtc-node";
import { FRAME_MS, SAMPLE_RATE } from "../renderer/renderer.ts";

/** Changes of tracks within this time cause one change of subscription. */
const BATCH_MS = 100;

/** Opens the sound of a track, as frames. */
type OpenSound = (track: RemoteTrack) => AsyncIterable<{ data: Int16Array }>;

/** Frames of 16-bit PCM, mono. */
export const openFrames =
  (frameSizeMs: number): OpenSound =>
  (track) =>
    new AudioStream(track, { sampleRate: SAMPLE_RATE, numChannels: 1, frameSizeMs });

/**
 * Calls `onSound` with the sound of the participant `identity`: a frame of 16-bit PCM, mono, by default every 20 ms.
 * Subscribes to the newest track only. A participant can publish any number of tracks, and each one costs as much as a
 * call.
 */
export const listenTo = (
  room: Room,
  identity: string,
  onSound: (pcm: Int16Array) => void,
  openSound: OpenSound = openFrames(FRAME_MS),
): void => {
  // Identified by its sid, because the library replaces the object when it reports a publication from before the join.
  let current: RemoteTrackPublication | undefined;
  let heard: RemoteTrack | undefined;
  let isWaiting = false;

  const choose = (): void => {
    isWaiting = false;
    if (!room.isConnected) return;
    const published = [...(room.remoteParticipants.get(identity)?.trackPublications.values() ?? [])];
    const newest = published.findLast(({ kind }) => kind === TrackKind.KIND_AUDIO);
    if (newest === current) return;
    // The library has closed publications that ended.
    const before = published.find(({ sid }) => sid === current?.sid);
    if (before?.sid !== newest?.sid) before?.setSubscribed(false);
    current = newest;
    current?.setSubscribed(true);
  };

  const listen = async (track: RemoteTrack, publication: RemoteTrackPublication): Promise<void> => {
    if (publication.sid !== current?.sid) return;
    heard = track;
    // The library ends the stream with the track. Remaining sound is heard only while the track is the newest.
    for await (const { data } of openSound(track))
      if (heard === track && publication.sid === current?.sid) onSound(data);
  };
  room.on(RoomEvent.TrackSubscribed, (track, publication) => void listen(track, publication).catch(() => {}));
  // Closed now, because its threads and files would stay until the next garbage collection.
  room.on(RoomEvent.TrackUnsubscribed, (track) => void track.close());
  const chooseSoon = (): void => {
    if (!isWaiting) setTimeout(choose, BATCH_MS);
    isWaiting = true;
  };
  room.on(RoomEvent.TrackPublished, chooseSoon);
  room.on(RoomEvent.TrackUnpublished, chooseSoon);
  // The participant can already be present, from the time of an earlier worker.
  choose();
};
