/**
 * WebRTC's echo canceller: removes the avatar's voice from the sound of a person's microphone. LiveKit's native library
 * contains it. Its package for Node has no class for it, but exports the messages and the function that sends them. At
 * 16 kHz it takes 7 ms of processor time a second, at 48 kHz 10 ms. At 16 kHz it also keeps more of a person who speaks
 * at the same time.
 */
import { FfiHandle, FfiRequest, FfiResponse, livekitFfiRequest, livekitRetrievePtr } from "@livekit/rtc-ffi-bindings";
import { VAD_RATE } from "./vad.ts";

/** The library takes frames of 10 ms. */
export const FRAME_SAMPLES = VAD_RATE / 100;
const SAMPLES_PER_MS = VAD_RATE / 1000;
/** The longest time after which the avatar's last sound can come back. After it, the canceller rests. */
const TAIL_FRAMES = 100;
/** The longest time between the moment when the avatar's sound is known and the moment when it is sent. */
const MAX_AHEAD_MS = 1000;
/** The clocks of the two sounds are aligned again when they differ by more than this. */
const MAX_SLIP_SAMPLES = 100 * SAMPLES_PER_MS;

export type EchoCanceller = {
  /** Takes the avatar's sound at 16 kHz, between -1 and 1. Its first sample is sent in `aheadMs`. */
  play(sound: Float32Array, aheadMs: number): void;
  /** Drops the sound that was not sent yet. */
  clear(): void;
  /** Cleans 10 ms of the person's sound in place, at 16 kHz, between -1 and 1. */
  clean(frame: Float32Array): void;
  /** Frees the memory of the library. */
  close(): void;
};

const toPcm = (samples: Float32Array, pcm: Int16Array): void => {
  for (let index = 0; index < samples.length; index++) {
    pcm[index] = Math.max(-32_768, Math.min(32_767, Math.round((samples[index] as number) * 32_768)));
  }
};

/** The avatar's sound that was not sent yet, ordered by time. Holds at most two seconds: older sound is dropped. */
const createReference = () => {
  const samples = new Int16Array(2 * MAX_AHEAD_MS * SAMPLES_PER_MS);
  let length = 0;
  const drop = (count: number): void => {
    samples.copyWithin(0, count, length);
    length -= count;
  };
  const makeRoom = (count: number): void => {
    if (length + count > samples.length) drop(length + count - samples.length);
  };
  const addSilence = (count: number): void => {
    makeRoom(count);
    samples.fill(0, length, length + count);
    length += count;
  };
  return {
    isEmpty: () => length === 0,
    /** Adds sound that is sent after `ahead` samples. */
    add: (sound: Float32Array, ahead: number): void => {
      const late = length - ahead;
      if (late > MAX_SLIP_SAMPLES) drop(late);
      else if (length === 0 || late < -MAX_SLIP_SAMPLES) addSilence(-late);
      const last = sound.subarray(Math.max(0, sound.length - samples.length));
      makeRoom(last.length);
      toPcm(last, samples.subarray(length, length + last.length));
      length += last.length;
    },
    /** Copies the next frame into `frame`, padded with silence at the end. */
    take: (frame: Int16Array): void => {
      const count = Math.min(frame.length, length);
      frame.fill(0);
      frame.set(samples.subarray(0, count));
      drop(count);
    },
    clear: (): void => {
      length = 0;
    },
  };
};

const ask = (request: FfiRequest): FfiResponse => FfiResponse.fromBinary(livekitFfiRequest(request.toBinary()));

/** The native canceller; null when the library lacks it. */
const createNative = (): { id: bigint; handle: FfiHandle } | null => {
  const value = {
    echoCancellerEnabled: true,
    gainControllerEnabled: false,
    highPassFilterEnabled: true,
    noiseSuppressionEnabled: false,
  };
  const { message } = ask(new FfiRequest({ message: { case: "newApm", value } }));
  const id = message.case === "newApm" ? message.value.apm?.handle?.id : undefined;
  return id === undefined ? null : { id, handle: new FfiHandle(id) };
};

/** A frame that the library reads and changes in place, and the message that requests it. */
const createFrame = (apmHandle: bigint, kind: "apmProcessStream" | "apmProcessReverseStream") => {
  // The library gets the address. An ArrayBuffer of this size does not move.
  const frame = new Int16Array(new ArrayBuffer(2 * FRAME_SAMPLES));
  const dataPtr = livekitRetrievePtr(new Uint8Array(frame.buffer));
  const value = { apmHandle, dataPtr, size: frame.byteLength, sampleRate: VAD_RATE, numChannels: 1 };
  return { frame, request: new FfiRequest({ message: { case: kind, value } }).toBinary() };
};

/** Returns null when the library has no canceller. The echo must come back within 500 ms after the sound was sent. */
export const createEchoCanceller = (): EchoCanceller | null => {
  const native = createNative();
  if (native === null) return null;
  const { id, handle } = native;
  const heard = createFrame(id, "apmProcessStream");
  const played = createFrame(id, "apmProcessReverseStream");
  const reference = createReference();
  let restingFrames = TAIL_FRAMES;
  let isClosed = false;
  return {
    play: (sound, aheadMs) => reference.add(sound, Math.round(Math.min(MAX_AHEAD_MS, aheadMs) * SAMPLES_PER_MS)),
    clear: reference.clear,
    clean: (frame) => {
      restingFrames = reference.isEmpty() ? restingFrames + 1 : 0;
      if (isClosed || restingFrames > TAIL_FRAMES) return;
      if (frame.length !== FRAME_SAMPLES) throw new Error(`a frame has ${frame.length} samples`);
      reference.take(played.frame);
      livekitFfiRequest(played.request);
      toPcm(frame, heard.frame);
      livekitFfiRequest(heard.request);
      for (let index = 0; index < FRAME_SAMPLES; index++) frame[index] = (heard.frame[index] as number) / 32_768;
    },
    close: () => {
      if (!isClosed) handle.dispose();
      isClosed = true;
    },
  };
};
