/**
 * Benchmark of the face in calls: `bun bench/calls/face.ts`. It starts the LiveKit server of the tests and the built
 * avatar worker, once with faces and once with portraits, and has 1 and 4 calls in which a person speaks and listens.
 * It prints the processor time of the process of a call, of LiveKit and of the persons, and the regularity of the
 * pictures. The persons decode in this process, on the same machine. Then it measures the time from the start of a call
 * to its first picture, with and without a preload, in turns. With `--recording MODE`, the calls are recorded.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RECORDED_MODES } from "@realtime-avatar/domain/recordings/modes";
import { startControlPlane } from "../../apps/avatar-worker/test/support/control-plane.ts";
import { preparedFace, speechFrames } from "../../apps/avatar-worker/test/support/faces.ts";
import { joinAsPerson } from "../../apps/avatar-worker/test/support/person.ts";
import { median, percentile, ROOT, readCpu, start } from "../machine.ts";
import { print } from "../progress.ts";
import { startLivekit, until } from "./livekit.ts";

/** Warm-up, because the code of a process is compiled while it runs. */
const WARM_SECONDS = 12;
const PICTURE_MS = 40;
const COUNTS = [1, 4];
/** The longest time from sending the files of an avatar until it is loaded. */
const LOADED_MS = 4000;

/** The processes of calls: the children of a worker, and the spare one, which has no threads of LiveKit. */
const callProcesses = async (worker: number): Promise<number[]> => {
  const text = await readFile(`/proc/${worker}/task/${worker}/children`, "utf8");
  return text.trim().split(" ").filter(Boolean).map(Number);
};

/** Memory of a process in MiB. Shared memory counts in part. */
const proportionalMiB = async (pid: number): Promise<number> =>
  Number(/^Pss:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => ""))?.[1] ?? 0) / 1024;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    starts: { type: "string", default: "10" },
    recording: { type: "string" },
  },
});
const [seconds, starts] = [Number(values.seconds), Number(values.starts)];
const mode = RECORDED_MODES.find((one) => one === values.recording);
const recorded = mode && { recording: { mode } };
const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
const server = await startLivekit(folder);
const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = server.variables;
const control = await startControlPlane({ url, apiUrl: url.replace("ws", "http"), apiKey, apiSecret });
const { image, file, manifest } = await preparedFace();
control.files.set(file, image);
const voice = await speechFrames();

/**
 * Runs `count` calls at once. Prints the medians over their processes, and the times between the pictures at all
 * persons.
 */
const measureCalls = async (worker: number, renderer: string, count: number): Promise<void> => {
  const avatar = { avatar_id: "ava_x", manifest };
  const before = new Set(await callProcesses(worker));
  const startedAt = performance.now();
  const calls = await Promise.all(
    Array.from({ length: count }, () => control.start({ mode: "avatar", avatar, ...recorded })),
  );
  const persons = await Promise.all(calls.map(({ personToken }) => joinAsPerson(url, personToken, { voice })));
  await Promise.all(persons.map((person) => person.until(() => person.seen.some(({ width }) => width === 512))));
  const firstMs = Math.max(...persons.map(({ seen }) => seen[0]?.at ?? 0)) - startedAt;
  for (const person of persons) {
    await person.publishMicrophone();
    person.speak(true);
  }
  await Bun.sleep(1000 * WARM_SECONDS);
  const all = await callProcesses(worker);
  const from = await Promise.all(all.map(readCpu));
  const [peopleFrom, livekitFrom] = await Promise.all([readCpu(process.pid), readCpu(server.pid)]);
  const marks = persons.map(({ seen }) => seen.length);
  await Bun.sleep(1000 * seconds);
  const cores = (await Promise.all(all.map(readCpu))).map((used, index) => (used - (from[index] ?? 0)) / seconds);
  const people = ((await readCpu(process.pid)) - peopleFrom) / seconds;
  const livekit = ((await readCpu(server.pid)) - livekitFrom) / seconds;
  const memory = await Promise.all(all.map(proportionalMiB));
  // Excludes the spare process, which is idle.
  const busy = all
    .map((pid, index) => ({ pid, cores: cores[index] ?? 0, mib: memory[index] ?? 0 }))
    .filter((one) => one.cores > 0.01);
  const gaps = persons.flatMap(({ seen }, index) =>
    seen
      .slice(marks[index])
      .map(({ at }, picture, own) => at - (own[picture - 1]?.at ?? at))
      .slice(1),
  );
  const rate = gaps.length / seconds / count;
  const late = gaps.filter((gap) => gap > 2 * PICTURE_MS).length;
  print(
    [
      `${renderer.padEnd(9)} ${count} ${count === 1 ? "call " : "calls"}`,
      `${median(busy.map((one) => one.cores)).toFixed(3)} core, ${median(busy.map(({ mib }) => mib)).toFixed(0)} MiB PSS a call`,
      `${rate.toFixed(1)} pictures/s, p99 between two ${percentile(gaps, 0.99).toFixed(0)} ms, ${late} of ${gaps.length} later than ${2 * PICTURE_MS} ms`,
      `all calls ${busy.reduce((sum, one) => sum + one.cores, 0).toFixed(2)} core, their persons ${people.toFixed(2)}, LiveKit ${livekit.toFixed(2)}`,
      `first picture after ${firstMs.toFixed(0)} ms, ${busy.length} of ${before.size + count} processes busy`,
    ].join("; "),
  );
  for (const { session } of calls) control.end(session, "user_ended");
  await Promise.all(calls.map(({ session }) => control.untilReported(session, "ended")));
  await Promise.all(persons.map((person) => person.leave()));
};

/** The milliseconds from the start of a call with a face to its first picture at the person. `isLoaded`: the avatar was loaded before. */
const measureStart = async (number: number, isLoaded: boolean): Promise<number> => {
  const avatar = { avatar_id: `ava_${number}`, manifest };
  if (isLoaded) {
    const sent = control.filesSent.length;
    control.preload(avatar);
    await until(() => control.filesSent.length > sent);
    await Bun.sleep(LOADED_MS);
  }
  const startedAt = performance.now();
  const call = await control.start({ mode: "avatar", avatar });
  const person = await joinAsPerson(url, call.personToken);
  await person.until(() => person.seen.length > 0);
  const firstMs = (person.seen[0]?.at ?? 0) - startedAt;
  control.end(call.session, "user_ended");
  await control.untilReported(call.session, "ended");
  await person.leave();
  return firstMs;
};

/** Starts calls with and without a preload in turns, and prints the medians. */
const compareStarts = async (): Promise<void> => {
  const times: [number[], number[]] = [[], []];
  for (let number = 0; number < 2 * starts; number++) {
    times[number % 2]?.push(await measureStart(number, number % 2 === 1));
    // Waits while the next spare process starts.
    await Bun.sleep(1500);
  }
  const [without, loaded] = times.map((all) =>
    all
      .toSorted((a, b) => a - b)
      .map((ms) => ms.toFixed(0))
      .join(", "),
  );
  print(
    `start to first picture: ${median(times[0]).toFixed(0)} ms, loaded before ${median(times[1]).toFixed(0)} ms (${without}; ${loaded})`,
  );
};

try {
  for (const renderer of ["face", "portrait"]) {
    const program = [process.execPath, join(ROOT, "apps/avatar-worker/dist/main.js")];
    const variables = { ...control.variables, AVATAR_SLOTS: "8", RENDERER: renderer, RUST_LOG: "off" };
    const worker = await start(program, join(folder, `${renderer}.log`), variables);
    await measureCalls(worker.pid, `(${renderer})`, 1);
    for (const count of COUNTS) await measureCalls(worker.pid, renderer, count);
    if (renderer === "face") await compareStarts();
    await worker.end();
  }
  print(`load of the machine: ${loadavg()[0]?.toFixed(1)} on ${cpus().length} cores`);
} finally {
  await control.stop();
  await server.end();
  await rm(folder, { recursive: true });
}
process.exit(0);
