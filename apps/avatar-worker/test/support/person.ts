/** A person in a call, without a browser. Speaks a tone, and records pictures and sound. */
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
import { loudness } from "@realtime-avatar/face/loudness";
import { until } from "@realtime-avatar/testing/until";
import { leaveRoom } from "../../src/room/join.ts";

const SAMPLE_RATE = 48_000;
const FRAME_MS = 20;
const FRAME_SAMPLES = (SAMPLE_RATE * FRAME_MS) / 1000;
/** One of this many pixels is measured. */
const LUMINANCE_STEP = 61;

/** A received picture: its time, size, mean luminance, and a digest that identifies it. */
export type Seen = { at: number; width: number; height: number; luminance: number; digest: string };

const tone = (start: number): Int16Array =>
  Int16Array.from({ length: FRAME_SAMPLES }, (_, index) =>
    Math.round(12_000 * Math.sin(((start + index) / SAMPLE_RATE) * 2 * Math.PI * 440)),
  );

type Received = {
  /** The media streams, by the numbers of their senders. */
  senders: number[];
  /**
   * Lost packets of sound, and losses of pictures (RFC 4585 §6.3.1). A lost packet of a picture is sent again, so no
   * frame is lost.
   */
  lostFrames: number;
  /** The sound that the library made up in place of late or lost packets. */
  concealedSeconds: number;
};

/** The media that the participant of the room has received. */
export const receivedBy = async (room: Room): Promise<Received> => {
  const { publisherStats, subscriberStats } = await room.getRtcStats();
  const streams = [...publisherStats, ...subscriberStats].flatMap(({ stats }) =>
    stats?.case === "inboundRtp" ? [stats.value] : [],
  );
  const lostIn = ({ stream, received, inbound }: (typeof streams)[number]): number =>
    Number(stream?.kind === "audio" ? received?.packetsLost : inbound?.pliCount);
  const concealedIn = ({ inbound }: (typeof streams)[number]): number =>
    Number(inbound?.concealedSamples ?? 0) -
    Number(inbound?.silentConcealedSamples ?? 0) +
    Number(inbound?.insertedSamplesForDeceleration ?? 0);
  const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    senders: streams.map(({ stream }) => stream?.ssrc ?? 0).sort(),
    lostFrames: sum(streams.map(lostIn)),
    concealedSeconds: sum(streams.map(concealedIn)) / SAMPLE_RATE,
  };
};

type PersonOptions = {
  /** Whether the person receives the tracks. Otherwise, only messages arrive, for a tenth of the processor time. */
  subscribes?: boolean;
  /** The frames that the person says in a loop; a tone by default. */
  voice?: readonly Int16Array[];
};

export const joinAsPerson = async (
  url: string,
  token: string,
  { subscribes = true, voice = [] }: PersonOptions = {},
) => {
  const room = new Room();
  const seen: Seen[] = [];
  const heard: { at: number; level: number }[] = [];
  const messages: LifecycleMessage[] = [];
  const attributes: Record<string, string>[] = [];
  let picture: Uint8Array = new Uint8Array();
  let disconnected: string | null = null;

  const watch = async (track: RemoteTrack): Promise<void> => {
    for await (const { frame } of new VideoStream(track)) {
      const at = performance.now();
      const { data, width, height } = frame.type === VideoBufferType.I420 ? frame : frame.convert(VideoBufferType.I420);
      picture = data;
      const plane = data.subarray(0, width * height);
      let sum = 0;
      for (let index = 0; index < plane.length; index += LUMINANCE_STEP) sum += plane[index] ?? 0;
      const luminance = (sum * LUMINANCE_STEP) / plane.length;
      seen.push({ at, width, height, luminance, digest: Bun.hash(plane).toString() });
    }
  };
  const listen = async (track: RemoteTrack): Promise<void> => {
    const options = { sampleRate: SAMPLE_RATE, numChannels: 1, frameSizeMs: FRAME_MS };
    for await (const { data } of new AudioStream(track, options)) {
      heard.push({ at: performance.now(), level: loudness(data) });
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
  await room.connect(url, token, { autoSubscribe: subscribes, dynacast: false });

  let isSpeaking = false;
  const words: Int16Array[] = [];
  let isGone = false;
  const speakLoop = async (source: AudioSource, isSilent: boolean): Promise<void> => {
    for (let start = 0; !isGone; start += FRAME_SAMPLES) {
      const said = voice[(start / FRAME_SAMPLES) % voice.length] ?? tone(start);
      const pcm = words.shift() ?? (isSpeaking && !isSilent ? said : new Int16Array(FRAME_SAMPLES));
      await source.captureFrame(new AudioFrame(pcm, SAMPLE_RATE, 1, FRAME_SAMPLES));
    }
  };

  return {
    room,
    seen,
    /** The latest picture, in I420. */
    picture: () => picture,
    heard,
    /** The number of seconds of heard sound. */
    heardSeconds: (): number => (heard.filter(({ level }) => level > 0.05).length * FRAME_MS) / 1000,
    /** Whether the last `seconds` were silent. */
    hasSilence: (seconds: number): boolean =>
      heard.slice((-seconds * 1000) / FRAME_MS).every(({ level }) => level < 0.01),
    messages,
    attributes,
    disconnectReason: () => disconnected,
    /** Returns the id of the track. `isSilent`: the track stays silent while the person speaks. */
    publishMicrophone: async (isSilent = false): Promise<string> => {
      const source = new AudioSource(SAMPLE_RATE, 1, 100);
      const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE });
      const track = LocalAudioTrack.createAudioTrack("microphone", source);
      const published = await room.localParticipant?.publishTrack(track, options);
      void speakLoop(source, isSilent).catch(() => {});
      return published?.sid ?? "";
    },
    /** Says these frames once, into all microphones. */
    say: (frames: readonly Int16Array[]) => void words.push(...frames),
    speak: (speaks: boolean) => {
      isSpeaking = speaks;
    },
    until,
    leave: async (): Promise<void> => {
      isGone = true;
      await leaveRoom(room);
    },
  };
};
export type Person = Awaited<ReturnType<typeof joinAsPerson>>;
