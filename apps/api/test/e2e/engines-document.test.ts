/** The engine of docs/engines.md, unchanged, in a call of the real service. Needs Python with LiveKit's package. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { REPOSITORY, release, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { joinAsPerson } from "../../../avatar-worker/test/support/person.ts";
import { WORKER_SECRET } from "../support/calls/calls.ts";
import { untilPrepared } from "../support/examples.ts";
import { call, start, stop } from "../support/process.ts";

setDefaultTimeout(90_000);

const binary = await livekitBinary();
/** PYTHON names an interpreter with the package, for example in a virtual environment. */
const python = process.env["PYTHON"] ?? Bun.which("python3");
const hasPackage = python !== null && (await runToEnd([python, "-c", "import livekit.rtc"])).code === 0;
const missing =
  binary.kind === "missing" ? binary.reason : python === null ? "there is no python3" : "Python has no package livekit";
const isSkipped = binary.kind === "missing" || !hasPackage;

describe.skipIf(isSkipped)(`docs/engines.md${isSkipped ? ` (skipped: ${missing})` : ""}`, () => {
  test("the engine in Python, in a call: its picture is seen; the call is charged", async () => {
    const folder = await temporaryFolder();
    const document = await readFile(join(REPOSITORY, "docs/engines.md"), "utf8");
    const [, program = ""] = /<!-- program: engine -->\n```python\n(.*?)```/s.exec(document) ?? [];
    await writeFile(join(folder, "engine.py"), program);
    const livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = livekit;
    const DATA_DIR = await preparedDataDirectory(join(folder, "data"));
    const secrets = { LIVEKIT_API_KEY, LIVEKIT_API_SECRET, AVATAR_WORKER_SECRET: WORKER_SECRET };
    const service = await start({ DATA_DIR, LIVEKIT_URL, ...secrets }, release());
    const [, root = ""] = await service.waitFor(/export API_KEY=(\S+)/);
    const api = `${service.url}/api/v1`;
    const { body: test } = await call(`${api}/api-keys`, root, { name: "test", environment: "test", scopes: ["*"] });
    const key: string = test.apiKey;
    const post = async (path: string, body: object) => (await call(`${api}/${path}`, key, body)).body;
    const engine = startProcess([python ?? "", join(folder, "engine.py")], {
      SERVICE_URL: service.url,
      AVATAR_WORKER_SECRET: WORKER_SECRET,
    });
    const avatar = await post("avatars", { displayName: "Ada", sourceKind: "image", sourceAssetId: "ast_test_ready" });
    await untilPrepared(service.url, key, JSON.stringify(avatar));
    const startCall = { avatar_id: avatar.id, instructions: "Be kind." };
    let grant = await post("realtime/livekit/session", startCall);
    // Before the first sync of the engine, the service has no slot.
    for (; grant.status !== "ready"; grant = await post("realtime/livekit/session", startCall)) await Bun.sleep(200);
    expect(grant.ignored).toEqual(["instructions"]);
    const person = await joinAsPerson(grant.livekit_url, grant.participant_token);
    await person.until(() => new Set(person.seen.map(({ digest }) => digest)).size > 3);
    const read = async () => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${api}/usage/sessions/${grant.session_id}`, { headers });
      return (await response.json()) as { status: string; billedCreditMicros: number };
    };
    // The engine reports once a second.
    await until(async () => (await read()).status === "started");
    await post("realtime/livekit/session/release", { session_id: grant.session_id });
    await person.until(() => person.disconnectReason() !== null);
    expect(person.messages.every(({ kind }) => kind === "ended")).toBe(true);
    const session = await read();
    expect(session.status).toBe("released");
    expect(session.billedCreditMicros).toBeGreaterThanOrEqual(1_000_000);
    expect(engine.stdout() + engine.stderr()).not.toMatch(/eyJ[\w-]{20}/);
    await person.leave();
    engine.kill("SIGKILL");
    await engine.exited;
    await stop(service);
    await livekit.stop();
    await rm(folder, { recursive: true, force: true });
  });
});
