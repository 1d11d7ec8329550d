/**
 * The transcript of a call, with the whole service as processes. It goes from the published SDK over LiveKit to the
 * receiver, which verifies it.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { type RunningProcess, release, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { isQueued, RealtimeAvatar, verifyTranscript } from "realtime-avatar";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { joinAsPerson } from "./support/person.ts";
import { AVATAR_WORKER } from "./support/service.ts";
import { watchTranscript } from "./support/transcript.ts";

setDefaultTimeout(120_000);

const binary = await livekitBinary();
const title = `a transcript${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;
const SECRET = "a secret about mistletoe";
const ANSWER = Array.from({ length: 30 }, (_, index) => `Heliotrope number ${index} is here.`).join(" ");

type Received = { path: string; headers: Headers; body: string };

/** A receiver of the tenant. `statuses`: the statuses of the next responses, before 204. */
const startReceiver = () => {
  const received: Received[] = [];
  const statuses: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      received.push({ path: new URL(request.url).pathname, headers: request.headers, body: await request.text() });
      return new Response(null, { status: statuses.shift() ?? 204 });
    },
  });
  return { url: server.url.origin, received, statuses, stop: () => server.stop(true) };
};

describe.skipIf(binary.kind === "missing")(title, () => {
  const receiver = startReceiver();
  const AVATAR_WORKER_SECRET = randomBytes(32).toString("hex");
  let folder = "";
  let data = "";
  let livekit: LivekitServer;
  let providers: ScriptedProviders;
  let api: RunningProcess;
  let url = "";
  let sdk: RealtimeAvatar;
  let avatarId = "";
  const workers: RunningProcess[] = [];

  const startWorker = async (): Promise<RunningProcess> => {
    const worker = startProcess(AVATAR_WORKER, {
      ...{ SERVICE_URL: url, AVATAR_WORKER_SECRET, AVATAR_WORKER_PORT: "0", AVATAR_SLOTS: "2" },
      ...providers.variables,
    });
    workers.push(worker);
    await worker.waitFor(/"started"/);
    return worker;
  };

  beforeAll(async () => {
    folder = await temporaryFolder();
    data = await preparedDataDirectory(join(folder, "data"));
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    providers = startProviders({ llmMs: 50, tokenMs: 2, ttsMs: 20, sttMs: 20 });
    api = startProcess(release(), {
      ...{ PORT: "0", DATA_DIR: data, AVATAR_WORKER_SECRET, WEBHOOK_ALLOW_HTTP_LOCALHOST: "true" },
      ...{ LIVEKIT_URL: livekit.url, LIVEKIT_API_KEY: livekit.apiKey, LIVEKIT_API_SECRET: livekit.apiSecret },
      LOG_LEVEL: "trace",
    });
    url = (await api.waitFor(/"url":"(http:[^"]+)"/))[1] ?? "";
    const [, key = ""] = await api.waitFor(/export API_KEY=(\S+)/);
    const post = async (path: string, by: string, body: object) => {
      const headers = { authorization: `Bearer ${by}`, "content-type": "application/json" };
      const response = await fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, string>;
    };
    const { apiKey = "" } = await post("/api-keys", key, { name: "Tests", environment: "test", scopes: ["*"] });
    const avatar = { displayName: "Ada", sourceKind: "image", sourceAssetId: "ast_test_ready" };
    avatarId = (await post("/avatars", apiKey, avatar))["id"] ?? "";
    sdk = new RealtimeAvatar({ apiKey, baseUrl: `${url}/api/v1` });
    await startWorker();
  });
  afterAll(async () => {
    for (const worker of workers) worker.kill("SIGKILL");
    api?.kill("SIGTERM");
    await Promise.all([api?.exited, ...workers.map(({ exited }) => exited)]);
    await Promise.all([livekit?.stop(), providers?.stop(), receiver.stop()]);
    await rm(folder, { recursive: true, force: true });
  });

  /** A call in which the person has typed and the avatar has answered for two seconds. */
  const startCall = async (path: string) => {
    const options = {
      avatarId,
      transcript: { url: `${receiver.url}${path}`, secret: SECRET },
      metadata: { user_id: "ada" },
    };
    const call = await until(async () => {
      try {
        const started = await sdk.startCall(options);
        return isQueued(started) ? null : started;
      } catch {
        // The avatar is not prepared yet.
        return null;
      }
    });
    const person = await joinAsPerson(call.livekitUrl, call.participantToken);
    const { said } = watchTranscript(person.room);
    await person.until(() => person.messages.length > 0);
    const type = (text: string, attributes: Record<string, string>) =>
      person.room.localParticipant?.sendText(text, { topic: "lk.chat", attributes });
    providers.setAnswer(({ messages }) => (messages.at(-1)?.content === "Tell me all." ? ANSWER : "Of course."));
    await type("Tell me all.", { "rta.turn_id": "t-1", "rta.declared_input_source": "client_stt" });
    await person.until(() => person.heardSeconds() > 2);
    return { id: call.sessionId, person, said, type };
  };
  const at = (path: string) => receiver.received.filter((request) => request.path === path);
  const verify = ({ body, headers }: Received) => verifyTranscript(body, headers, SECRET);

  test("of a call with an interruption and a receiver that fails at first: delivered with the heard words, then erased", async () => {
    receiver.statuses.push(503);
    const { id, person, said, type } = await startCall("/interrupted-path");
    await type("Stop.", { "rta.turn_id": "t-2" });
    await person.until(() => said().length === 4);
    expect(await sdk.endCall(id)).toBe(true);
    await until(() => at("/interrupted-path").length === 2);
    const [first, second] = at("/interrupted-path") as [Received, Received];
    expect(second.body).toBe(first.body);
    expect(second.headers.get("x-rta-signature")).not.toBe(first.headers.get("x-rta-signature"));
    await expect(verifyTranscript(second.body, second.headers, "another secret of all")).rejects.toThrow("mismatch");

    const transcript = await verify(second);
    const [, interrupted] = said();
    expect(ANSWER.startsWith(interrupted?.text ?? "?")).toBe(true);
    expect(interrupted?.text.length).toBeLessThan(200);
    const provenance = { version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" };
    expect<object>(transcript).toMatchObject({
      ...{ type: "session.transcript", session_id: id, avatar_id: avatarId, mode: "avatar", truncated: false },
      client_metadata: { user_id: "ada" },
      segments: [
        {
          ...{ role: "user", text: "Tell me all.", turn_id: "t-1", input_source: "client_stt" },
          input_provenance: { ...provenance, declared_source: "client_stt" },
        },
        { role: "assistant", text: interrupted?.text, interrupted: true },
        { role: "user", text: "Stop.", turn_id: "t-2", input_source: "text", input_provenance: provenance },
        { role: "assistant", text: "Of course." },
      ],
    });
    expect(transcript.segments).toHaveLength(4);
    expect(transcript.segments[3]?.interrupted).toBeUndefined();
    const times = transcript.segments.map(({ ts }) => ts);
    expect(times.toSorted((a, b) => a - b)).toEqual(times);
    expect(times[0]).toBeGreaterThanOrEqual(transcript.started_at);
    expect(times.at(-1)).toBeLessThanOrEqual(transcript.ended_at);
    await person.leave();
  });

  test("of a call whose avatar worker is killed while it speaks: delivered up to that moment, marked as incomplete", async () => {
    const reports = () => api.stdout().split(":session/transcript").length;
    const before = reports();
    const { id, person } = await startCall("/killed-path");
    // The service has the first turn. The answer is in progress.
    await until(() => reports() > before, { state: () => api.stdout().slice(-2000) });
    for (const worker of workers) worker.kill("SIGKILL");
    await until(() => at("/killed-path").length > 0, { limitMs: 90_000 });
    const [only, ...others] = at("/killed-path");
    expect(others).toEqual([]);
    const transcript: { segments: object[] } = await verify(only as Received);
    expect<object>(transcript).toMatchObject({ session_id: id, truncated: true });
    const [turn, heard, ...rest] = transcript.segments;
    expect(turn).toMatchObject({ role: "user", text: "Tell me all.", turn_id: "t-1" });
    // The worker reports the heard part of an answer once a second. The kill can come before the first report.
    if (heard) expect(heard).toMatchObject({ role: "assistant", interrupted: true });
    expect(rest).toEqual([]);
    await person.leave();
  });

  test("the data directory, and the output of all processes: no word of the calls, no URL, no secret", async () => {
    const words = "Heliotrope|Tell me all|Of course|interrupted-path|killed-path|mistletoe";
    const { code, stdout } = await runToEnd(["grep", "-rlaE", words, data]);
    expect([code, stdout]).toEqual([1, ""]);
    for (const { stdout: output, stderr } of [api, ...workers]) {
      expect(output() + stderr()).not.toMatch(new RegExp(words));
    }
  });
});
