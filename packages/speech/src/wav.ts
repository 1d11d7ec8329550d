/** A WAV file of 16-bit PCM, mono (RIFF WAVE, format tag 1). */

const HEADER_BYTES = 44;

/** `rate` is in samples a second. */
export const encodeWav = (pcm: Int16Array, rate: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(HEADER_BYTES + 2 * pcm.length);
  const view = new DataView(bytes.buffer);
  const name = (at: number, text: string): void => {
    new TextEncoder().encodeInto(text, bytes.subarray(at));
  };
  name(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  name(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  name(36, "data");
  view.setUint32(40, 2 * pcm.length, true);
  for (let index = 0; index < pcm.length; index++) view.setInt16(HEADER_BYTES + 2 * index, pcm[index] as number, true);
  return bytes;
};
