/** The built program on Node, for machines on which the library of LiveKit does not work under Bun. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { cacheFolder } from "@realtime-avatar/testing/bundles";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { startCollector } from "@realtime-avatar/testing/network/collector";
import { runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { APOLOGY } from "../src/conversation/conversation.ts";
import { startProviders } from "../src/conversation/providers/providers.testing.ts";
import { startControlPlane } from "./support/control-plane.ts";
import { preparedFace } from "./support/faces.ts";
import { joinAsPerson } from "./support/person.ts";
import { watchTranscript } from "./support/transcript.ts";

setDefaultTimeout(60_000);

const SOURCES = [
  "bun.lock",
  "apps/avatar-worker/{package.json,src/**}",
  "packages/{domain,face,runtime,speech,storage}/src/**",
];

/** Builds like `bun run build`, into a folder of the tests. */
const build = async (): Promise<string> => {
  const folder = cacheFolder("avatar-worker", SOURCES);
  const externals = ["--external=@livekit/rtc-ffi-bindings-*", "--external=sharp"];
  const command = [process.execPath, "build", "apps/avatar-worker/src/main.ts", "--target=node", "--conditions=bun"];
  const { code, stderr } = await runToEnd([...command, "--splitting", ...externals, `--outdir=${folder}`]);
  if (code !== 0) throw new Error(stderr);
  return join(folder, "main.js");
};

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : Bun.which("node") ? null : "there is no Node";

describe.skipIf(missing !== null)(`an avatar worker on Node${missing ? ` (skipped: ${missing})` : ""}`, () => {
  test("a call of an avatar with a face: rendered to its end, with exported spans", async () => {
    const livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    const control = await startControlPlane(livekit);
    const collector = startCollector();
    const worker = startProcess(["node", await build()], {
      ...control.variables,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      // As in docs/deployment.md: otherwise LiveKit's library writes its failures to standard error.
      RUST_LOG: "off",
    });
    const { image, file, manifest } = await preparedFace();
    control.files.set(file, image);
    const call = await control.start({ mode: "avatar", avatar: { avatar_id: "ava_x", manifest } });
    const person = await joinAsPerson(livekit.url, call.personToken);
    // In silence, a portrait would be a single picture.
    await person.until(() => new Set(person.seen.map(({ digest }) => digest)).size > 5);
    await person.publishMicrophone();
    person.speak(true);
    await person.until(() => person.heard.some(({ level }) => level > 0.1));
    control.end(call.session, "user_ended");
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "user_ended" });
    await person.leave();
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    expect(worker.stderr()).toBe("");
    const id = { "realtime_avatar.session_id": call.session, "realtime_avatar.generation": 1 };
    const spans = collector.spans().map(({ name, attributes }): object => ({ name, ...attributes }));
    // A change or the end can replace the other reports before they are acknowledged.
    expect(spans).toEqual(
      expect.arrayContaining([
        { name: "call_join", ...id },
        { name: "call_report", ...id, "realtime_avatar.state": "started" },
        { name: "call", ...id, "realtime_avatar.reason": "user_ended" },
      ]),
    );
    const sent = Buffer.concat(collector.bodies).toString("latin1");
    expect(sent).toContain("realtime-avatar-avatar-worker");
    for (const secret of [control.variables.AVATAR_WORKER_SECRET, call.personToken, call.room, "eyJ"])
      expect(sent).not.toContain(secret);
    await collector.close();
    await control.stop();
    await livekit.stop();
  });

  test("a typed turn: answered in the server's voice, and in the built-in voice when that fails", async () => {
    const livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    const control = await startControlPlane(livekit);
    const providers = startProviders();
    const collector = startCollector();
    const worker = startProcess(["node", await build()], {
      ...{ ...control.variables, ...providers.variables, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    });
    const call = await control.start();
    const person = await joinAsPerson(livekit.url, call.personToken);
    const { said } = watchTranscript(person.room);
    await control.untilReported(call.session, "started");
    // A message is lost if it is sent before the data channel is open.
    await person.until(() => person.messages.length > 0);
    const type = (text: string) => person.room.localParticipant?.sendText(text, { topic: "lk.chat" });
    await type("Hi?");
    await person.until(() => said().length === 2);
    providers.faults.set("llm", 429);
    await type("Again?");
    await person.until(() => said().length === 4);
    expect(said().map(({ text }) => text)).toEqual(["Hi?", "Hello there.", "Again?", APOLOGY]);
    await person.leave();
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    const spans = collector.spans();
    const turns = spans.filter(({ name }) => name === "turn");
    expect(turns.map(({ attributes }) => attributes["realtime_avatar.session_id"])).toEqual([
      call.session,
      call.session,
    ]);
    const stagesOf = (turn: (typeof turns)[0] | undefined) =>
      spans.flatMap(({ name, traceId, parentSpanId }) =>
        traceId === turn?.traceId && parentSpanId === turn.spanId ? [name] : [],
      );
    expect(turns.map(stagesOf)).toEqual([["turn first_token", "turn first_sound", "turn heard"], []]);
    await collector.close();
    await providers.stop();
    await control.stop();
    await livekit.stop();
  });
});
