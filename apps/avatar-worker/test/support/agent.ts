/**
 * An agent that speaks through an avatar like the plugins of LiveKit's agents. It sends a tone, and records the calls
 * that it gets.
 */
import { type ByteStreamWriter, Room, TrackKind } from "@livekit/rtc-node";
import { until } from "@realtime-avatar/testing/until";
import { leaveRoom } from "../../src/room/join.ts";

export const AGENT_IDENTITY = "agent";
/** The longest pieces that the plugins send. */
const PIECE_SECONDS = 0.2;

export type Finished = { playback_position: number; interrupted: boolean };

/** 16-bit PCM: a tone in all channels. */
export const createTone = (seconds: number, sampleRate: number, channels: number): Buffer => {
  const samples = Math.round(seconds * sampleRate);
  const pcm = Buffer.alloc(samples * channels * 2);
  for (let index = 0; index < samples; index++) {
    const value = Math.round(12_000 * Math.sin((index / sampleRate) * 2 * Math.PI * 440));
    for (let channel = 0; channel < channels; channel++) pcm.writeInt16LE(value, (index * channels + channel) * 2);
  }
  return pcm;
};

export const joinAsAgent = async (url: string, token: string, avatarIdentity: string) => {
  const room = new Room();
  await room.connect(url, token, { autoSubscribe: false, dynacast: false });
  const finished: Finished[] = [];
  const { localParticipant } = room;
  if (!localParticipant) throw new Error("the agent has not joined");
  let isAnswered = true;
  /** The ends that came before the response to `lk.clear_buffer`. */
  const early: Finished[] = [];
  localParticipant.registerRpcMethod("lk.playback_finished", async ({ payload }) => {
    finished.push(JSON.parse(payload));
    if (!isAnswered) early.push(JSON.parse(payload));
    return "ok";
  });
  let startedSegments = 0;
  localParticipant.registerRpcMethod("lk.playback_started", async () => {
    startedSegments++;
    return "ok";
  });
  const call = (method: string, payload = ""): Promise<string> =>
    localParticipant.performRpc({ destinationIdentity: avatarIdentity, method, payload });
  const open = (attributes: Record<string, string>): Promise<ByteStreamWriter> =>
    localParticipant.streamBytes({
      ...{ name: "AUDIO_x", topic: "lk.audio_stream", destinationIdentities: [avatarIdentity], attributes },
    });

  return {
    room,
    finished,
    early,
    startedSegments: () => startedSegments,
    call,
    open,
    until,
    /** Waits until the avatar's picture is published. The plugins send nothing before. */
    untilSeen: () =>
      until(() => {
        const tracks = room.remoteParticipants.get(avatarIdentity)?.trackPublications.values() ?? [];
        return [...tracks].some(({ kind }) => kind === TrackKind.KIND_VIDEO);
      }),
    /** Sends a segment at once. `pieceBytes`: the length of its pieces; by default they end between samples. */
    say: async (seconds: number, { sampleRate = 24_000, channels = 1, pieceBytes = 0 } = {}): Promise<void> => {
      const pcm = createTone(seconds, sampleRate, channels);
      const writer = await open({ sample_rate: String(sampleRate), num_channels: String(channels) });
      const size = pieceBytes || Math.round(PIECE_SECONDS * sampleRate) * channels * 2;
      for (let start = 0; start < pcm.length; start += size) await writer.write(pcm.subarray(start, start + size));
      await writer.close();
    },
    /** Interrupts the avatar. Returns its response. */
    interrupt: async (): Promise<string> => {
      isAnswered = false;
      const response = await call("lk.clear_buffer");
      isAnswered = true;
      return response;
    },
    untilFinished: async (count: number): Promise<readonly Finished[]> => {
      await until(() => finished.length >= count);
      return finished;
    },
    leave: () => leaveRoom(room),
  };
};
export type Agent = Awaited<ReturnType<typeof joinAsAgent>>;
