/** Simulates the echo of the avatar's voice in a microphone: delayed, quieter, through a loudspeaker and a room. */
import { VAD_RATE } from "../vad.ts";
import { concat, createRandom, mix, roomNoise, say, silence } from "./sounds-testing.ts";

export type EchoPath = {
  gain: number;
  delayMs: number;
  /** Time in which the echo of the room fades by 60 dB. 0: no room. */
  roomMs?: number;
  /** Distortion of the loudspeaker: peaks above this share of the full scale are flattened. */
  clip?: number;
};

/** The impulse response of a path: the direct sound and, in a room, fading noise after it. */
const impulse = ({ gain, delayMs, roomMs = 0 }: EchoPath): { at: number; value: number }[] => {
  const delay = Math.round((delayMs * VAD_RATE) / 1000);
  const random = createRandom(delayMs + 1);
  const length = (roomMs * VAD_RATE) / 1000;
  const echoes = Array.from({ length: Math.round(length / 8) }, (_, index) => {
    const at = 32 + index * 8;
    return { at: delay + at, value: 0.25 * gain * random() * Math.exp((-6.9 * at) / length) };
  });
  return [{ at: delay, value: gain }, ...echoes];
};

export const hearThrough = (voice: Float32Array, path: EchoPath): Float32Array => {
  const { clip = 1 } = path;
  const heard = new Float32Array(voice.length);
  for (const { at, value } of impulse(path)) {
    for (let index = at; index < heard.length; index++) {
      heard[index] = (heard[index] as number) + value * Math.max(-clip, Math.min(clip, voice[index - at] as number));
    }
  }
  return heard;
};

/** Ten seconds of the avatar's voice, with short pauses. */
export const avatarVoice = (): Float32Array =>
  concat(
    ...[say("Could you please tell me", 1.6), say("whether the kitchen is open after nine?", 1.6), silence(200)],
    ...[say("I would like to book a table", 1.6), say("for four people on Friday evening.", 1.6), silence(300)],
    ...[say("Could you please tell me", 1.6), silence(100)],
  );

export { mix, roomNoise };
