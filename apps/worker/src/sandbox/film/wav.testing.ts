/** WAV files of any form. */

export type WavParts = {
  format?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  /** Bytes of a sample of all channels. By default, the size that the format needs. */
  frameBytes?: number;
  /** The format of an extensible file. */
  extension?: number;
  data?: Uint8Array;
  /** The sizes in the header. By default, the true sizes. */
  dataBytes?: number;
  dataName?: string;
  formatName?: string;
  /** Chunks before the format. */
  before?: Uint8Array;
};

const chunk = (name: string, content: Uint8Array, length = content.length): Buffer => {
  const head = Buffer.alloc(8);
  head.write(name, 0, "latin1");
  head.writeUInt32LE(length, 4);
  return Buffer.concat([head, content]);
};

export const wavFile = (parts: WavParts = {}): Buffer => {
  const { format = 1, channels = 1, rate = 48_000, bits = 16, extension, data = Buffer.alloc(4), before } = parts;
  const { frameBytes = (channels * bits) / 8, dataBytes, dataName = "data", formatName = "fmt " } = parts;
  const description = Buffer.alloc(extension === undefined ? 16 : 40);
  description.writeUInt16LE(format, 0);
  description.writeUInt16LE(channels, 2);
  description.writeUInt32LE(rate, 4);
  description.writeUInt32LE((rate * frameBytes) % 2 ** 32, 8);
  description.writeUInt16LE(frameBytes, 12);
  description.writeUInt16LE(bits, 14);
  if (extension !== undefined) description.writeUInt16LE(extension, 24);
  const chunks = [before ?? Buffer.alloc(0), chunk(formatName, description), chunk(dataName, data, dataBytes)];
  return chunk("RIFF", Buffer.concat([Buffer.from("WAVE", "latin1"), ...chunks]));
};

/** Samples of 16 bits from a function of seconds, which returns -1 to 1. */
export const tone = (seconds: number, rate: number, wave: (seconds: number) => number): Buffer => {
  const samples = Int16Array.from({ length: Math.round(seconds * rate) }, (_, index) => 32_767 * wave(index / rate));
  return Buffer.from(samples.buffer);
};
