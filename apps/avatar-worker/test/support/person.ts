/** A person in a call, without a browser. Speaks a tone, and records what can be seen and heard. */
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  DisconnectReason,
  LocalAudioTrack,
  type RemoteTrack,
  Room,
  RoomEvent,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
  VideoBufferType,
  VideoStream,
} from "@livekit/rtc-node";
import { LIFECYCLE_TOPIC, type LifecycleMessage } from "@realtime-avatar/domain/calls/lifecycle";

const SAMPLE_RATE = 48_000;
const FRAME_SAMPLES = 960;
const POLL_MS = 20;
/** Of so many pixels, one is measured. */
const LUMINANCE_STEP = 61;

/** A picture: when it came, its size, its mean luminance, and a digest that tells pictures apart. */
export type Seen = { at: number; width: number; height: number; luminance: number; digest: string; pixels: Uint8Array };

const tone = (start: number): Int16Array =>
  Int16Array.from({ length: FRAME_SAMPLES }, (_, index) =>
    Math.round(12_000 * Math.sin(((start + index) / SAMPLE_RATE) * 2 * Math.PI * 440)),
  );

export const joinAsPerson = async (url: string, token: string) => {
  const room = new Room();
  const seen: Seen[] = [];
  const heard: { at: number; level: number }[] = [];
  const messages: LifecycleMessage[] = [];
  const attributes: Record<string, string>[] = [];
  let disconnected: string | null = null;

  const watch = async (track: RemoteTrack): Promise<void> => {
    for await (const { frame } of new VideoStream(track)) {
      const at = performance.now();
      const { data, width, height } = frame.convert(VideoBufferType.I420);
      const plane = data.subarray(0, width * height);
      let sum = 0;
      for (let index = 0; index < plane.length; index += LUMINANCE_STEP) sum += plane[index] ?? 0;
      const luminance = (sum * LUMINANCE_STEP) / plane.length;
      seen.push({ at, width, height, luminance, digest: Bun.hash(plane).toString(), pixels: data.slice() });
    }
  };
  const listen = async (track: RemoteTrack): Promise<void> => {
    for await (const { data } of new AudioStream(track, SAMPLE_RATE, 1)) {
      const level = Math.sqrt(data.reduce((sum, value) => sum + value ** 2, 0) / data.length) / 32_768;
      heard.push({ at: performance.now(), level });
    }
  };
  room.on(RoomEvent.TrackSubscribed, (track) => {
    void (track.kind === TrackKind.KIND_VIDEO ? watch(track) : listen(track)).catch(() => {});
  });
  room.on(RoomEvent.DataReceived, (payload, _participant, _kind, topic) => {
    if (topic === LIFECYCLE_TOPIC) messages.push(JSON.parse(new TextDecoder().decode(payload)));
  });
  room.on(RoomEvent.ParticipantAttributesChanged, (changed) => attributes.push(changed));
  room.on(RoomEvent.Disconnected, (reason) => {
    disconnected = DisconnectReason[reason] ?? "UNKNOWN";
  });
  await room.connect(url, token, { autoSubscribe: true, dynacast: false });

  let isSpeaking = false;
  let isGone = false;
  const speakLoop = async (source: AudioSource, isSilent: boolean): Promise<void> => {
    for (let start = 0; !isGone; start += FRAME_SAMPLES) {
      const pcm = isSpeaking && !isSilent ? tone(start) : new Int16Array(FRAME_SAMPLES);
      await source.captureFrame(new AudioFrame(pcm, SAMPLE_RATE, 1, FRAME_SAMPLES));
    }
  };

  return {
    room,
    seen,
    heard,
    messages,
    attributes,
    disconnectReason: () => disconnected,
    /** Returns the id of the track. `isSilent`: also while the person speaks. */
    publishMicrophone: async (isSilent = false): Promise<string> => {
      const source = new AudioSource(SAMPLE_RATE, 1, 100);
      const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE });
      const track = LocalAudioTrack.createAudioTrack("microphone", source);
      const published = await room.localParticipant?.publishTrack(track, options);
      void speakLoop(source, isSilent).catch(() => {});
      return published?.sid ?? "";
    },
    speak: (speaks: boolean) => {
      isSpeaking = speaks;
    },
    /** Waits until `condition` holds. The test has a time limit. */
    until: async (condition: () => boolean): Promise<void> => {
      while (!condition()) await Bun.sleep(POLL_MS);
    },
    leave: async (): Promise<void> => {
      isGone = true;
      await room.disconnect();
    },
  };
};
export type Person = Awaited<ReturnType<typeof joinAsPerson>>;
