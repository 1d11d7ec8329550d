/** The sound of a participant. */
import {
  AudioStream,
  type RemoteParticipant,
  type RemoteTrack,
  type Room,
  RoomEvent,
  TrackKind,
} from "@livekit/rtc-node";
import { FRAME_MS, SAMPLE_RATE } from "../renderer/renderer.ts";

/** Calls `onSound` with what the participant `identity` says: a frame of 16-bit PCM, mono, every 20 ms. */
export const listenTo = (room: Room, identity: string, onSound: (pcm: Int16Array) => void): void => {
  const listen = async (track: RemoteTrack | undefined, from: RemoteParticipant): Promise<void> => {
    if (from.identity !== identity || track?.kind !== TrackKind.KIND_AUDIO) return;
    const stream = new AudioStream(track, { sampleRate: SAMPLE_RATE, numChannels: 1, frameSizeMs: FRAME_MS });
    // Ends when the track does, or the room.
    for await (const { data } of stream) onSound(data);
  };
  room.on(RoomEvent.TrackSubscribed, (track, _publication, from) => void listen(track, from).catch(() => {}));
  // The participant can be there already, with an earlier worker.
  for (const from of room.remoteParticipants.values()) {
    for (const { track } of from.trackPublications.values()) void listen(track, from).catch(() => {});
  }
};
