/** Decodes the sound of an agent: bytes of 16-bit PCM at any supported rate become frames for the renderer. */
import { AudioFrame, AudioResampler } from "@livekit/rtc-node";
import { FRAME_MS, SAMPLE_RATE } from "../renderer/renderer.ts";

/** Number of samples of a frame. */
const FRAME_SAMPLES = (SAMPLE_RATE * FRAME_MS) / 1000;
const RATES = { min: 8000, max: SAMPLE_RATE };
export const SAMPLE_BYTES = 2;

export type SoundFormat = { sampleRate: number; channels: 1 | 2 };

/** The format from the attributes of a stream; null when it is unsupported. */
export const readFormat = (attributes: Record<string, string> = {}): SoundFormat | null => {
  const { sample_rate: rate = "", num_channels: channels = "" } = attributes;
  if (!/^\d{4,5}$/.test(rate) || !/^[12]$/.test(channels)) return null;
  const sampleRate = Number(rate);
  if (sampleRate < RATES.min || sampleRate > RATES.max) return null;
  return { sampleRate, channels: channels === "1" ? 1 : 2 };
};

export type SoundDecoder = {
  /** Returns the frames that these bytes complete. A stream can be cut anywhere, even within a sample. */
  push(bytes: Uint8Array): Int16Array[];
  /** Returns the rest, which can be shorter than a frame. */
  flush(): Int16Array[];
  close(): void;
};

/** Cuts samples into frames. An incomplete frame waits for the next samples. */
const createFramer = () => {
  let rest = new Int16Array(0);
  return {
    take: (samples: Int16Array): Int16Array[] => {
      const all = new Int16Array(rest.length + samples.length);
      all.set(rest);
      all.set(samples, rest.length);
      const frames: Int16Array[] = [];
      let start = 0;
      for (; start + FRAME_SAMPLES <= all.length; start += FRAME_SAMPLES) {
        frames.push(all.slice(start, start + FRAME_SAMPLES));
      }
      rest = all.slice(start);
      return frames;
    },
    rest: (): Int16Array[] => (rest.length === 0 ? [] : [rest]),
  };
};

/** The mean of the channels of each sample. `bytes` contains whole samples, and may be at an odd address. */
const toMono = (bytes: Buffer, channels: 1 | 2): Int16Array => {
  const mono = new Int16Array(bytes.length / SAMPLE_BYTES / channels);
  for (let index = 0; index < mono.length; index++) {
    const at = index * channels * SAMPLE_BYTES;
    const left = bytes.readInt16LE(at);
    mono[index] = channels === 1 ? left : (left + bytes.readInt16LE(at + SAMPLE_BYTES)) >> 1;
  }
  return mono;
};

export const createSoundDecoder = ({ sampleRate, channels }: SoundFormat): SoundDecoder => {
  const resampler = sampleRate === SAMPLE_RATE ? null : new AudioResampler(sampleRate, SAMPLE_RATE);
  const framer = createFramer();
  let waiting = Buffer.alloc(0);
  const take = (frames: AudioFrame[]): Int16Array[] => frames.flatMap(({ data }) => framer.take(data));
  return {
    push: (bytes) => {
      const all = Buffer.concat([waiting, bytes]);
      const whole = all.length - (all.length % (SAMPLE_BYTES * channels));
      waiting = all.subarray(whole);
      if (whole === 0) return [];
      const mono = toMono(all.subarray(0, whole), channels);
      return resampler ? take(resampler.push(new AudioFrame(mono, sampleRate, 1, mono.length))) : framer.take(mono);
    },
    flush: () => [...(resampler ? take(resampler.flush()) : []), ...framer.rest()],
    close: () => resampler?.close(),
  };
};
