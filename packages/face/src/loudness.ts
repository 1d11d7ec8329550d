/** The loudness of a piece of sound. */

/** The root mean square of 16-bit PCM, from 0 to 1. */
export const loudness = (pcm: Int16Array): number => {
  let sum = 0;
  for (let index = 0; index < pcm.length; index++) sum += (pcm[index] as number) ** 2;
  return pcm.length === 0 ? 0 : Math.sqrt(sum / pcm.length) / 32_768;
};

/** About -40 dB: above the noise of a quiet room, below speech. */
const LOUD = 0.01;

export const isLoud = (pcm: Int16Array): boolean => loudness(pcm) > LOUD;
