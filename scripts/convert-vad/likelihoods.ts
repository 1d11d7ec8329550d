/**
 * bun scripts/convert-vad/likelihoods.ts SOUND LIKELIHOODS
 *
 * Writes the likelihood of speech in each 32 ms of a sound (32 bit floats at 16 kHz), and the processor time that it took.
 */
import { readFile, writeFile } from "node:fs/promises";
import { loadNetwork } from "../../apps/avatar-worker/src/conversation/hearing/network.ts";
import { createVad, VAD_RATE, WINDOW_SAMPLES } from "../../apps/avatar-worker/src/conversation/hearing/vad.ts";

const [input, output] = process.argv.slice(2);
if (input === undefined || output === undefined) {
  process.stderr.write("Usage: bun scripts/convert-vad/likelihoods.ts SOUND LIKELIHOODS\n");
  process.exit(1);
}
const { buffer, byteOffset, byteLength } = await readFile(input);
const sound = new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
const vad = createVad(loadNetwork());
const likelihoods = new Float32Array(Math.floor(sound.length / WINDOW_SAMPLES));
const before = process.cpuUsage();
for (let index = 0; index < likelihoods.length; index++) {
  likelihoods[index] = vad.hear(sound.subarray(index * WINDOW_SAMPLES, (index + 1) * WINDOW_SAMPLES));
}
const { user, system } = process.cpuUsage(before);
const milliseconds = (user + system) / 1000 / (sound.length / VAD_RATE);
process.stdout.write(`TypeScript: ${milliseconds.toFixed(1)} ms a second of sound\n`);
await writeFile(output, likelihoods);
