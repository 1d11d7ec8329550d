/**
 * The job of a video on a real queue and store: the rendering, the stored files, the charge and the removal.
 * `render.test.ts` tests the rendering itself.
 */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deleteVideo, findVideo } from "@realtime-avatar/db/videos/videos";
import { originalKey } from "@realtime-avatar/domain/assets/asset";
import { manifestId, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import type { AvatarId } from "@realtime-avatar/domain/id";
import type { PlannedVideo } from "@realtime-avatar/domain/videos/video";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { seedVideo, TEXT } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { ROOMY } from "@realtime-avatar/testing/postgres/jobs";
import { seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { eachWorld } from "../../test/support/world.ts";
import { JOB_TIMING, type JobTiming } from "../jobs/run-job.ts";
import { createRenderJob, type RenderJobOptions } from "./job.ts";
import { createRenderVideo, type RenderVideo, type VideoInput, type VideoOutcome } from "./render.ts";

const world = eachWorld();
const FACE = { version: 1, mesh: "x" };

const grant = () =>
  world.database.db.client`
    update credit_accounts set granted = granted + 1000000000 where tenant_id = ${world.caller.tenantId}`;
const put = async (key: string, bytes: string | Uint8Array, type: string): Promise<void> => {
  const blob = new Blob([bytes as string]);
  await world.storage.put(key, { stream: blob.stream(), sizeBytes: blob.size }, type);
};
const digestOf = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A ready avatar, with its manifest and its picture in the store. */
const seedPrepared = async (face: object | null = FACE): Promise<AvatarId> => {
  const { caller, database } = world;
  const id = await readyAvatar(database.db, caller);
  const owner = { tenantId: caller.tenantId, id };
  const picture = preparedFile(1, digestOf("picture"), "webp");
  const manifest = JSON.stringify({ pictures: { normalized: { file: picture } }, ...(face && { face }) });
  await put(preparedKey(owner, picture), "picture", "image/webp");
  await put(preparedKey(owner, preparedFile(1, digestOf(manifest), "json")), manifest, "application/json");
  await database.db
    .client`update avatars set cache_manifest_id = ${manifestId(1, digestOf(manifest))} where id = ${id}`;
  return id;
};
const seed = async (avatarId: AvatarId, fields: Parameters<typeof seedVideo>[3] = {}): Promise<PlannedVideo> => {
  await grant();
  const { video, outcome } = await seedVideo(world.database.db, world.caller, avatarId, fields);
  expect(outcome.kind).toBe("written");
  return video;
};
const shown = async ({ id }: PlannedVideo) =>
  (await findVideo(world.database.db, world.caller, id, "http://x"))?.video as NonNullable<
    Awaited<ReturnType<typeof findVideo>>
  >["video"];

const start = (
  renderVideo: RenderVideo,
  options: Partial<RenderJobOptions> = {},
  timing: Partial<JobTiming> = { retrySeconds: 0 },
) => {
  const signed: string[] = [];
  const sign: RenderJobOptions["sign"] = async ({ path }) => {
    signed.push(await readFile(path, "utf8"));
    await writeFile(path, `${signed.at(-1)} signed`);
  };
  const parts = { ...world.parts(), renderVideo, sign, speech: FLITE_SETTINGS, quota: ROOMY, reportMs: 20, ...options };
  world.loop({ render_video: createRenderJob(parts) }, { timing });
  return signed;
};
/** Renders as a test specifies, and records its inputs. */
const renderer = (
  outcome: (input: VideoInput, control: Parameters<RenderVideo>[1]) => Promise<VideoOutcome> | VideoOutcome,
) => {
  const inputs: VideoInput[] = [];
  const render: RenderVideo = async (input, control) => {
    inputs.push(input);
    return outcome(input, control);
  };
  return { inputs, render };
};
const rendered = async ({ folder }: VideoInput): Promise<VideoOutcome> => {
  const path = join(folder, "film");
  await writeFile(path, "film");
  return { kind: "rendered", path, durationMs: 2100, warnings: ["The sound is Opus."] };
};
const filesOf = async (): Promise<string[]> =>
  (await Array.fromAsync(world.storage.list("originals/"))).map(({ key }) => key);

test("a text: rendered from the prepared avatar, signed, stored and charged", async () => {
  const video = await seed(await seedPrepared());
  const { inputs, render } = renderer(async (input, { onProgress }) => {
    expect(await readFile(input.picture, "utf8")).toBe("picture");
    onProgress(0.5);
    await until(async () => (await shown(video)).progress === 0.5);
    return rendered(input);
  });
  const signed = start(render);
  await world.untilDone();
  await until(async () => (await shown(video)).status === "ready");
  const { assetId, ...rest } = await shown(video);
  expect(rest).toMatchObject({ billedSeconds: 3, durationSeconds: 2.1, warnings: ["The sound is Opus."] });
  const [voice] = [{ id: "flite-slt", provider: "flite" }];
  expect(inputs).toMatchObject([
    { mesh: FACE, sound: { kind: "text", text: TEXT, voice }, isTest: false, seed: video.id },
  ]);
  expect(signed).toEqual(["film"]);
  const key = originalKey({ tenantId: world.caller.tenantId, id: assetId as never });
  const stored = await world.storage.open(key);
  expect(await new Response(stored?.stream).text()).toBe("film signed");
  const [row] = await world.database.db.client`select sha256, size_bytes from assets where id = ${assetId}`;
  expect({ ...row }).toEqual({ sha256: digestOf("film signed"), size_bytes: "11" });
  await world.removed();
});

test("an audio: its file, with its kind; a deleted audio, a disabled avatar, an unknown face: the outcome of each", async () => {
  const wav = Buffer.from("RIFF\x24\x00\x00\x00WAVEfmt ", "latin1");
  const asset = await world.seedReady(wav, "audio");
  const gone = await world.seedReady(Buffer.from("RIFFgoneWAVEfmt "), "audio");
  const avatarId = await seedPrepared(null);
  const disabled = await seedPrepared();
  const sound = { text: null, seconds: null };
  const one = await seed(avatarId, { ...sound, audioAssetId: asset.id });
  const two = await seed(avatarId, { ...sound, audioAssetId: gone.id });
  const three = await seed(disabled);
  const { client } = world.database.db;
  await client`update assets set status = 'deleted' where id = ${gone.id}`;
  await client`update assets set duration_ms = 1001 where id = ${asset.id}`;
  await client`update avatars set status = 'disabled' where id = ${disabled}`;
  const { inputs, render } = renderer(async (input) => {
    if (input.sound.kind === "file") expect(await readFile(input.sound.path)).toEqual(wav);
    return rendered(input);
  });
  start(render);
  await world.untilDone();
  const statuses = await Promise.all(
    [one, two, three].map(async (video) => [(await shown(video)).status, (await shown(video)).error?.code]),
  );
  expect(statuses).toEqual([
    ["ready", undefined],
    ["failed", "audio_unavailable"],
    ["failed", "avatar_unavailable"],
  ]);
  expect(inputs).toMatchObject([
    { mesh: null, sound: { kind: "file", magic: { kind: "audio", contentType: "audio/wav" }, maxSeconds: 2 } },
  ]);
});

test("a voice that the operator has removed: the default voice, and a warning", async () => {
  const video = await seed(await seedPrepared(), { voiceId: "flite-rms" });
  await world.database.db.client`update videos set voice_id = 'voice-gone-1' where id = ${video.id}`;
  const { inputs, render } = renderer(rendered);
  start(render);
  await world.untilDone();
  expect(inputs).toMatchObject([{ sound: { voice: { id: "flite-slt" } } }]);
  expect((await shown(video)).warnings[0]).toContain("voice-gone-1");
});

test("a text with words in letters that the voice does not know: the rest is spoken, with a warning", async () => {
  const video = await seed(await seedPrepared(), { text: "Hello, 世界." });
  start(renderer(rendered).render);
  await world.untilDone();
  const { status, warnings } = await shown(video);
  expect([status, warnings[0]]).toEqual(["ready", expect.stringContaining("flite-slt speaks English")]);
});

test.each([
  ["that will fail again", "failed", 1],
  ["that can succeed later, each time", "retry", 5],
] as const)(
  "a failure %s: failed with its code, after the right number of attempts, and not charged",
  async (_, kind, attempts) => {
    const video = await seed(await seedPrepared());
    const { inputs, render } = renderer(() =>
      kind === "failed"
        ? { kind, code: "voice_refused", detail: "No." }
        : { kind, code: "voice_busy", error: "It is busy." },
    );
    start(render);
    await world.untilDone();
    const code = kind === "failed" ? "voice_refused" : "voice_busy";
    expect(await shown(video)).toMatchObject({ status: "failed", error: { code }, billedCreditMicros: 0 });
    expect([inputs.length, await filesOf()]).toEqual([attempts, []]);
    await world.removed();
  },
);

test("a server of voices that is busy five times: asked after increasing pauses; then failed, not charged", async () => {
  const { client } = world.database.db;
  const asked: number[] = [];
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      asked.push(Date.now());
      return new Response("Secret words of the server.", { status: 503 });
    },
  });
  const provider = { url: server.url.href.replace(/\/$/, ""), apiKey: null, model: "x", sampleRate: 24_000 } as const;
  const voice = { id: "operator-1", name: "Nova", language: null, provider: "openai", providerVoice: "nova" } as const;
  const speech = { ...FLITE_SETTINGS, provider, voices: [voice] };
  const video = await seed(await seedPrepared());
  await client`update videos set voice_id = ${voice.id} where id = ${video.id}`;
  start(createRenderVideo({ log: world.log, speech }), { speech }, JOB_TIMING);
  for (const [at, pauseMs] of [5000, 20_000, 80_000, 320_000].entries()) {
    const waiting = () => client<{ run_at: Date }[]>`
      select run_at from jobs where lease is null and attempts = ${at + 1}`;
    await until(async () => (await waiting()).length === 1, { state: () => client`select * from jobs` });
    const runAt = Number((await waiting())[0]?.run_at);
    expect(runAt - (asked.at(-1) ?? 0)).toBeGreaterThanOrEqual(0.5 * pauseMs);
    expect(runAt - Date.now()).toBeLessThanOrEqual(1.5 * pauseMs);
    expect(await shown(video)).toMatchObject({ status: "queued", error: null, billedCreditMicros: null });
    await world.expire();
  }
  await world.untilDone();
  expect(asked).toHaveLength(5);
  expect(await shown(video)).toMatchObject({ status: "failed", error: { code: "voice_busy" }, billedCreditMicros: 0 });
  const held = await client`select from credit_accounts where tenant_id = ${world.caller.tenantId} and reserved > 0`;
  expect(held).toHaveLength(0);
  expect(JSON.stringify([await shown(video), world.lines])).not.toContain("Secret words");
  await world.removed();
});

test("a file beyond the quota: failed, removed from the store", async () => {
  const video = await seed(await seedPrepared());
  start(renderer(rendered).render, { quota: { maxAssets: 10, maxBytes: 3 } });
  await world.untilDone();
  await until(async () => (await filesOf()).length === 0);
  expect(await shown(video)).toMatchObject({ status: "failed", error: { code: "quota_exceeded" } });
});

test.each(["deleted", "released"])("a video that is %s during the rendering: aborted, no file kept", async (how) => {
  const { caller, database } = world;
  const video = await seed(await seedPrepared());
  const rendering = Promise.withResolvers<AbortSignal>();
  const { render } = renderer(async (input, { signal }) => {
    rendering.resolve(signal);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    // The rendering ends late, with a file.
    return rendered(input);
  });
  start(render);
  const signal = await rendering.promise;
  if (how === "deleted") {
    await deleteVideo(database.db, video.id, { versions: null, managesFiles: true }, caller, seedOrigin(caller));
  } else {
    await database.db.client`update usage_sessions set must_end = true where id = ${video.sessionId}`;
  }
  await until(() => signal.aborted);
  await world.ended();
  expect(await shown(video)).toMatchObject({ status: "canceled", billedCreditMicros: 0 });
  expect(await filesOf()).toEqual([]);
  await world.removed();
});

test("a worker that stops: the video is queued again, and another worker renders it", async () => {
  const video = await seed(await seedPrepared());
  const rendering = Promise.withResolvers<void>();
  const { render } = renderer(async (_, { signal }) => {
    rendering.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { kind: "retry", code: "internal", error: "canceled" };
  });
  const parts = { ...world.parts(), speech: FLITE_SETTINGS, quota: ROOMY, sign: async () => {}, renderVideo: render };
  const loop = world.loop({ render_video: createRenderJob(parts) }, { timing: { stopMs: 10 } });
  await rendering.promise;
  await loop.stop();
  expect(await shown(video)).toMatchObject({ status: "queued", progress: 0 });
  start(renderer(rendered).render);
  await world.untilDone();
  expect(await shown(video)).toMatchObject({ status: "ready", billedSeconds: 3 });
  expect(await readdir(world.temporary)).toEqual([]);
});
