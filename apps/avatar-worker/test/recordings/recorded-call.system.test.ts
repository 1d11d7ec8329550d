/**
 * Recordings from calls to files: a LiveKit server, the API, two avatar workers and a worker. Each call loses its avatar
 * worker. The fragments and the files are in an S3 if Swift is installed, otherwise on the disk.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { StartCall } from "@realtime-avatar/domain/calls/schemas";
import type { Recording, RecordingAccess } from "@realtime-avatar/domain/recordings/schemas";
import { startSwiftBucket } from "@realtime-avatar/storage/testing";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { missingForSwift } from "@realtime-avatar/testing/storage/swift";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { NOTICE } from "../../src/recording/notice.ts";
import { ffmpeg } from "../../src/recording/recorded.testing.ts";
import { joinAsPerson } from "../support/person.ts";
import { type Service, startService } from "../support/service.ts";
import { watchTranscript } from "../support/transcript.ts";
import { findGaps, findWord, readFilePicture, readFileSound, WORD } from "./recorded-file.ts";

setDefaultTimeout(120_000);

const binary = await livekitBinary();
const reason = binary.kind === "missing" ? binary.reason : ffmpeg === null ? "without ffmpeg" : "";
const store = missingForSwift.length === 0 ? "an S3" : "the disk";
const title = `recordings in ${store}${reason === "" ? "" : ` (skipped: ${reason})`}`;
/** Each word and its echo are over when the next word begins. */
const WORD_INTERVAL_MS = 1200;
const ECHO_MS = 600;
/** A busy machine sends and receives sound late. The gap is longer. */
const MAX_JITTER_MS = 300;

describe.skipIf(reason !== "" || process.platform !== "linux")(title, () => {
  let service: Service;
  let folder: string;
  let worker: RunningProcess;
  let closeStore = async (): Promise<void> => {};

  beforeAll(async () => {
    folder = await temporaryFolder();
    let apiVariables = {};
    if (missingForSwift.length === 0) {
      const { swift, config } = await startSwiftBucket();
      closeStore = swift.close;
      apiVariables = {
        ...{ STORAGE_URL: `s3://${config.bucket}`, AWS_ENDPOINT_URL_S3: swift.endpoint, AWS_REGION: swift.region },
        ...{ AWS_ACCESS_KEY_ID: swift.accessKeyId, AWS_SECRET_ACCESS_KEY: swift.secretAccessKey },
      };
    }
    const program = binary.kind === "found" ? binary.path : "";
    service = await startService(program, { slots: 2, apiVariables });
    await seedEndpoint(service.db, service.tenantId);
    worker = await service.startWorker();
  });
  afterAll(async () => {
    await service?.stop();
    await closeStore();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts a call whose person says a word again and again. `saidAt`: the times, in milliseconds since 1970. */
  const startCall = async (fields: Partial<StartCall>) => {
    const call = await service.start(service.operatorKey, fields);
    const person = await joinAsPerson(call.url, call.token);
    const { said } = watchTranscript(person.room);
    await person.publishMicrophone();
    const saidAt: number[] = [];
    const timer = setInterval(() => {
      saidAt.push(Date.now());
      person.say(WORD);
    }, WORD_INTERVAL_MS);
    const leave = async (): Promise<void> => {
      clearInterval(timer);
      await person.leave();
    };
    return { ...call, person, said, saidAt, leave };
  };
  type StartedCall = Awaited<ReturnType<typeof startCall>>;

  const untilStatus = async ({ id }: StartedCall, status: string): Promise<void> => {
    const find = async () =>
      (await service.db.client`select status, error_code from recordings where session_id = ${id}`)[0];
    await until(async () => (await find())?.["status"] === status, { state: find, pollMs: 200 });
  };
  /** Waits until the process of this generation has sent as many fragments. */
  const untilFragments = async ({ id }: StartedCall, generation: number, count: number): Promise<void> => {
    const find = () =>
      service.db.client`select n from recording_fragments where session_id = ${id} and generation = ${generation}`;
    await until(async () => (await find()).length >= count, { state: find, pollMs: 200 });
  };
  /** A response of the API. On a busy machine, the API may ask to try again. */
  const call = async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const send = () => service.call(method, path, service.operatorKey, body);
    const response = await until(async () => [await send()].find(({ status }) => status === 200), { pollMs: 1000 });
    return (await response.json()) as Body;
  };
  /** Waits until the person has said this word this often from now on. */
  const untilSaid = async ({ saidAt }: StartedCall, count: number): Promise<void> => {
    const before = saidAt.length;
    await until(() => saidAt.length >= before + count, { pollMs: 100 });
  };
  const endCall = async ({ id, leave }: StartedCall): Promise<void> => {
    await call("POST", "/realtime/livekit/session/release", { session_id: id });
    await leave();
  };
  type Downloaded = { recording: Recording; path: string };
  const download = async (started: StartedCall): Promise<Downloaded> => {
    await untilStatus(started, "ready");
    const { data } = await call<{ data: Recording[] }>("GET", `/recordings?sessionId=${started.id}`);
    const [recording] = data as [Recording];
    const { url } = await call<RecordingAccess>("GET", `/recordings/${recording.recordingId}/access`);
    const path = join(folder, `${recording.recordingId}.mp4`);
    const file = await fetch(url);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, recording.mediaType as string]);
    expect(await Bun.write(path, file)).toBe(recording.sizeBytes as number);
    expect(await deliveredTypes(service.db, service.tenantId, recording.recordingId)).toEqual(["recording.ready"]);
    return { recording, path };
  };

  /** The moments of a file, in milliseconds: of words before and after its gap, and of the middle of the gap. */
  type Moments = { before: number; gap: number; after: number };
  /** Checks that each side says the word at its time, before and after a marked gap. */
  const checkSound = async ({ saidAt }: StartedCall, { recording, path }: Downloaded): Promise<Moments> => {
    const startedAt = Date.parse(recording.mediaStartedAt ?? "");
    const pcm = await readFileSound(path);
    const lengthMs = pcm.length / 48;
    expect(Math.abs(lengthMs - (recording.durationMs ?? 0))).toBeLessThan(50);
    expect(Math.abs(lengthMs - (Date.parse(recording.mediaEndedAt ?? "") - startedAt))).toBeLessThan(600);
    const gaps = findGaps(pcm);
    expect(gaps).toHaveLength(1);
    const [[from, to]] = gaps as [[number, number]];
    const words = saidAt.map((at) => at - startedAt).filter((at) => at > 0);
    /** How late the words are, and the moments of those before and after the gap. */
    const find = (delayMs: number) => {
      const found = words.flatMap((at) => {
        const lateMs = findWord(pcm, at + delayMs);
        return lateMs === null ? [] : [{ at: at + delayMs + lateMs, lateMs }];
      });
      const lateMs = found.map((word) => word.lateMs);
      return { before: found.find(({ at }) => at < from), after: found.findLast(({ at }) => at > to), lateMs };
    };
    const [person, echo] = [find(0), find(ECHO_MS)];
    for (const { before, after, lateMs } of [person, echo]) {
      expect([before !== undefined, after !== undefined]).toEqual([true, true]);
      expect(Math.max(...lateMs) - Math.min(...lateMs)).toBeLessThan(MAX_JITTER_MS);
    }
    return { before: person.before?.at ?? 0, gap: (from + to) / 2, after: person.after?.at ?? 0 };
  };
  const checkPictures = async ({ path }: Downloaded, { before, gap, after }: Moments): Promise<void> => {
    const brightest = (luma: Uint8Array): number => luma.reduce((most, value) => Math.max(most, value), 0);
    for (const ms of [before, after]) {
      const luma = await readFilePicture(path, ms);
      expect(luma).toHaveLength(512 ** 2);
      // The first letter of REC.
      expect(brightest(luma.subarray(512 * 34 + 430, 512 * 34 + 495))).toBeGreaterThan(200);
    }
    const still = await readFilePicture(path, gap);
    expect([still.length, brightest(still) > 200]).toEqual([512 ** 2, true]);
    expect(still.reduce((sum, value) => sum + value, 0) / still.length).toBeWithin(16, 30);
  };

  test("calls whose avatar worker is killed: files with the words of both sides at their times, and a marked gap", async () => {
    const shown = await startCall({ mode: "avatar", recording: "audio_video" });
    const heard = await startCall({ mode: "voice", recording: "audio" });
    const calls = [shown, heard];
    await service.startWorker();
    await service.startFileWorker();
    // On a busy machine, the first fragment, of two seconds, may have no word.
    for (const call of calls) await untilFragments(call, 1, 2);
    worker.kill("SIGKILL");
    const killedAt = performance.now();
    await shown.person.until(() => shown.person.seen.some(({ at }) => at > killedAt + 1000));
    for (const { id } of calls) {
      await until(async () => {
        const { status, generation } = await service.stateOf(id);
        return status === "started" && generation === 2;
      });
    }
    for (const call of calls) await untilFragments(call, 2, 1);
    await untilSaid(heard, 3);
    await Promise.all(calls.map(endCall));
    expect(heard.said().filter(({ text }) => text === NOTICE)).toHaveLength(1);
    await checkSound(heard, await download(heard));
    const file = await download(shown);
    await checkPictures(file, await checkSound(shown, file));
  });
});
