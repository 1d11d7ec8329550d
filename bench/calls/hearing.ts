/**
 * bun bench/calls/hearing.ts [SECONDS]
 *
 * The processor time of hearing in one call, for a second of silence, of the person's speech, and of the avatar's speech.
 */
import { createHearing } from "../../apps/avatar-worker/src/conversation/hearing/hearing.ts";
import {
  concat,
  mix,
  roomNoise,
  say,
} from "../../apps/avatar-worker/src/conversation/hearing/testing/sounds-testing.ts";

/** Samples of 20 ms at 48 kHz. */
const PIECE = 960;
const seconds = Number(process.argv[2] ?? 120);
const speech = concat(say("whether the kitchen is open after nine?"), say("for four people on Friday evening."));
const length = seconds * 16_000;
const spoken = Float32Array.from({ length }, (_, index) => speech[index % speech.length] ?? 0);
const silent = new Float32Array(length);

const toCall = (samples: Float32Array): Int16Array =>
  Int16Array.from({ length: samples.length * 3 }, (_, index) =>
    Math.round((samples[Math.floor(index / 3)] ?? 0) * 32_000),
  );

const CASES = [
  { name: "silence", person: silent, avatar: null },
  { name: "the person speaks", person: spoken, avatar: null },
  { name: "the avatar speaks", person: silent, avatar: spoken },
  { name: "both speak", person: spoken, avatar: spoken },
];
for (const { name, person, avatar } of CASES) {
  const heard = toCall(mix(person, roomNoise(length)));
  const played = avatar && toCall(avatar);
  const hearing = createHearing({ isAvatarActive: () => played !== null, onEvent: () => {} });
  const before = process.cpuUsage();
  for (let at = 0; at + PIECE <= heard.length; at += PIECE) {
    if (played) hearing.play(played.subarray(at, at + PIECE), 60);
    hearing.hear(heard.subarray(at, at + PIECE));
  }
  const { user, system } = process.cpuUsage(before);
  hearing.close();
  process.stdout.write(`${name}: ${((user + system) / 1000 / seconds).toFixed(1)} ms of processor time a second\n`);
}
