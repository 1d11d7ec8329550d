/** Runs the examples and the programs of the documents, on a service with its worker. */
import { beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallGrant } from "@realtime-avatar/domain/calls/schemas";
import { RECORDING, RESUME, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { bun, REPOSITORY, release, runToEnd } from "@realtime-avatar/testing/processes";
import { EXAMPLES } from "../../src/openapi/examples.ts";
import { WORKER_SECRET } from "../support/calls/calls.ts";
import { PHOTO, readExamples, settled, shortened, untilPrepared, untilSettled } from "../support/examples.ts";
import { fileService } from "../support/process.ts";

const DOCUMENTS = ["README", "docs/api", "docs/credits", "docs/getting-started", "docs/videos"];
const [readme, apiDocument, creditsDocument, gettingStarted, videos] = await Promise.all(
  DOCUMENTS.map((name) => readFile(join(REPOSITORY, `${name}.md`), "utf8")),
);

const folder = await fileFolder();
let variables: Record<string, string>;

type Create = <Body = Record<string, string>>(path: string, body: object) => Promise<Body>;
type SignedUpload = { id: string; upload: { method: string; url: string; headers: Record<string, string> } };

/**
 * The assets in examples: one from which an avatar is built, an upload whose file was sent, and one that waits for its
 * file.
 */
const createAssets = async (create: Create): Promise<void> => {
  const md5 = createHash("md5").update(PHOTO).digest("base64");
  const about = { kind: "image", contentType: "image/jpeg", sizeBytes: PHOTO.length, md5 };
  const send = async () => {
    const { id, upload } = await create<SignedUpload>("assets/uploads", about);
    await fetch(upload.url, { method: upload.method, headers: upload.headers, body: PHOTO });
    return id;
  };
  const { id: pending, upload } = await create<SignedUpload>("assets/uploads", about);
  Object.assign(variables, { PENDING_ID: pending, UPLOAD_URL: upload.url, UPLOAD_MD5: md5, UPLOADED_ID: await send() });
  const sendWhole = async () => {
    const asset = await send();
    await create(`assets/${asset}/complete`, {});
    return asset;
  };
  variables["ASSET_ID"] = await sendWhole();
  const called = { displayName: "Called", sourceKind: "image", sourceAssetId: await sendWhole() };
  variables["CALLED_ID"] = (await create("avatars", called))["id"] ?? "";
};

/** An avatar worker that offers a slot and takes turns, but joins no room. */
const syncWorker = async (): Promise<void> => {
  const ofCall = { generation: 1, state: "started", used_seconds: 1 };
  const calls = called === null ? [] : [{ session_id: called, ...ofCall }];
  const body = JSON.stringify({ slots: 1, features: [RESUME, TURNS, RECORDING], calls });
  const headers = { authorization: `Bearer ${WORKER_SECRET}`, "content-type": "application/json" };
  await fetch(`${url}/internal/avatar-workers/wrk_docs/sync`, { method: "POST", headers, body }).catch(() => {});
};
/** Sends the transcript of the call that has ended last. */
const sendTranscript = async (): Promise<void> => {
  const segments = EXAMPLES.Transcript.segments.map(({ input_source: _, ...segment }) => segment);
  const path = `/internal/avatar-workers/wrk_docs/calls/${variables["SESSION_ID"]}/transcript`;
  const body = JSON.stringify({ generation: 1, first: 0, segments, is_complete: true });
  const headers = { authorization: `Bearer ${WORKER_SECRET}`, "content-type": "application/json" };
  await fetch(url + path, { method: "PUT", headers, body });
};
/** Starts a call, whose page uploads an observation, and ends it. */
const observeCall = async (): Promise<void> => {
  const headers = { authorization: `Bearer ${variables["API_KEY"]}`, "content-type": "application/json" };
  const session = `${url}/api/v1/realtime/livekit/session`;
  const send = (to: string, body: object, as = headers) =>
    fetch(to, { method: "POST", headers: as, body: JSON.stringify(body) });
  const response = await send(session, { avatar_id: variables["CALLED_ID"], connection_history: true });
  const { session_id, connection_history } = (await response.json()) as CallGrant;
  const upload = { sessionId: session_id, observations: [EXAMPLES.ConnectionObservation] };
  const page = { ...headers, authorization: `Bearer ${connection_history?.token}` };
  await send(`${url}/public/connection-histories`, upload, page);
  await send(`${session}/release`, { session_id });
  variables["OBSERVED_ID"] = session_id;
};
/** Starts a call that is recorded, once. */
const recordCall = async (): Promise<void> => {
  if (variables["RECORDING_ID"] !== undefined) return;
  const headers = { authorization: `Bearer ${variables["API_KEY"]}`, "content-type": "application/json" };
  const body = JSON.stringify({ avatar_id: variables["CALLED_ID"], recording: "audio" });
  const response = await fetch(`${url}/api/v1/realtime/livekit/session`, { method: "POST", headers, body });
  const grant = (await response.json()) as { recording: { recordingId: string } };
  variables["RECORDING_ID"] = grant.recording.recordingId;
};
/** The call that the worker reports: the example that resumes a call needs a person in it. */
let called: string | null = null;

/** Replaces the receiver in the examples. */
const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(null, { status: 204 }) });
await fixture({ close: () => receiver.stop(true) });
const livekit = await startLivekitStandIn();
await fixture({ close: () => livekit.stop() });
const service = await fileService(
  {
    DATA_DIR: await preparedDataDirectory(join(folder, "data")),
    WEBHOOK_ALLOW_HTTP_LOCALHOST: "true",
    LIVEKIT_URL: livekit.url,
    LIVEKIT_API_KEY: livekit.apiKey,
    LIVEKIT_API_SECRET: livekit.apiSecret,
    AVATAR_WORKER_SECRET: WORKER_SECRET,
    // The grant of a connection history needs https.
    PUBLIC_URL: "https://avatars.example.com",
  },
  release(),
);
const { url } = service;
const syncing = setInterval(syncWorker, 2000);
await fixture({ close: () => clearInterval(syncing) });

beforeAll(async () => {
  await writeFile(join(folder, "ada.jpg"), PHOTO);
  const [, key = ""] = await service.waitFor(/export API_KEY=(\S+)/);
  variables = { API_KEY: key };
  const create: Create = async <Body>(path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as Body;
  };
  const narrow = { name: "narrow", scopes: ["api_keys:write", "avatars:read"], spendLimitCreditMicros: 1_000_000 };
  variables["NARROW_KEY"] = (await create("api-keys", narrow))["apiKey"] ?? "";
  // Further resources of the document, for the examples that need their ids.
  const bodyOf = (path: string): object => {
    const [, section = ""] =
      apiDocument?.split(`\n## ${path === "avatars" ? "Create an avatar" : "Create an API key"}\n`) ?? [];
    const command = (readExamples(section)[0]?.[1] ?? "").replaceAll(`'"$ASSET_ID"'`, variables["ASSET_ID"] ?? "");
    return JSON.parse(/-d '(.*)'/s.exec(command)?.[1] ?? "");
  };
  await createAssets(create);
  variables["KEY_ID"] = (await create("api-keys", bodyOf("api-keys")))["id"] ?? "";
  const session = { maxSessionSeconds: 300, metadata: { user_id: "user-17" } };
  variables["SESSION_ID"] = (await create("usage/sessions", session))["sessionId"] ?? "";
  variables["AVATAR_ID"] = (await create("avatars", bodyOf("avatars")))["id"] ?? "";
});

describe.each([
  ["docs/api.md", apiDocument],
  ["docs/credits.md", creditsDocument],
] as const)("the examples of %s", (_, text = "") => {
  const examples = readExamples(text);
  test("the examples: each marked one is found", () => {
    expect(examples.length).toBeGreaterThan(1);
    expect(examples.length).toBe(text.split("<!-- example -->").length - 1);
  });

  test.each([...examples])("the example %s, executed: the documented response", async (_title, command, answer) => {
    // The avatar of earlier examples is already deleted.
    const isOfCall = command.includes("avatar_id") || command.includes("/videos");
    const ofCall = isOfCall ? { AVATAR_ID: variables["CALLED_ID"] ?? "" } : {};
    called = command.includes("/session/resume") ? (variables["SESSION_ID"] ?? "") : null;
    if (called !== null) await syncWorker();
    if (command.includes("/transcript")) await sendTranscript();
    if (command.includes("/connection-history")) await observeCall();
    if (command.includes("/recordings")) await recordCall();
    if (/\/avatars|\/videos/.test(command)) await untilSettled(url, variables["API_KEY"] ?? "");
    const { code, stdout } = await runToEnd(
      [
        "sh",
        "-c",
        `cd ${folder} && ${command
          .replaceAll("http://127.0.0.1:3000", url)
          .replaceAll("https://www.example.com/hooks", `${receiver.url.origin}/hooks`)
          // Deliveries are kept for 30 days, so the date is replaced.
          .replace(/"since": "[^"]+"/, `"since": "${new Date().toISOString()}"`)}`,
      ],
      { ...variables, ...ofCall },
    );
    expect(code).toBe(0);
    const shown = settled(answer);
    expect(shortened(settled(stdout), shown)).toEqual(shown);
    if (command.includes("ID/prepare")) await untilPrepared(url, variables["API_KEY"] ?? "", stdout);
    // A reader exports the ids of the resources that were created last.
    const [, session] = /"session_?[iI]d": ?"(ses_\w+)"/.exec(stdout) ?? [];
    if (session !== undefined) variables["SESSION_ID"] = session;
    const [, avatar] = /^\{"id":"(ava_\w+)"/.exec(stdout) ?? [];
    if (avatar !== undefined) variables["AVATAR_ID"] = avatar;
    const [, video] = /^\{"id":"(vid_\w+)"/.exec(stdout) ?? [];
    if (video !== undefined) variables["VIDEO_ID"] = video;
    const [, turn] = /^\{"id":"(trn_\w+)"/.exec(stdout) ?? [];
    if (turn !== undefined) variables["TURN_ID"] = turn;
    const [, endpoint] = /^\{"id":"(whe_\w+)"/.exec(stdout) ?? [];
    if (endpoint !== undefined) variables["ENDPOINT_ID"] = endpoint;
    const [, delivery] = /^\{"id":"(whd_\w+)"/.exec(stdout) ?? [];
    if (delivery !== undefined) variables["DELIVERY_ID"] = delivery;
    const [, asset] = /^\{"id":"(ast_\w+)".*"status":"uploaded"/.exec(stdout) ?? [];
    if (asset !== undefined) variables["ASSET_ID"] = asset;
  });
});

/** The blocks to paste in the README, after the start and the key. */
const pastes = [...(readme ?? "").matchAll(/<!-- example -->\n```sh\n(.*?)```/gs)].map(([, paste = ""]) => paste);

test("the README: its fourth block creates the video, before LiveKit is mentioned", () => {
  expect(pastes).toHaveLength(2);
  expect(readme?.indexOf("LiveKit")).toBeGreaterThan(readme?.indexOf("ada.mp4") ?? 0);
});

/** The avatar and the video wait until the worker has done the jobs of earlier examples. */
const FILM_MS = 180_000;

/** Commands without line breaks, without the output that they only show, and without the quotes of a variable. */
const plain = (commands: string): string =>
  commands
    .replaceAll(/[\s\\]+/g, " ")
    .replaceAll(" | tee /dev/stderr", "")
    .replaceAll(/'"(\$\w+)"'/g, "'$1'")
    .trim();

test("the commands that the first start prints: those of README.md", () => {
  const printed = /^ {2}npx .* sample-photo\n(?: {2}.*\n)+/m.exec(service.stderr())?.[0] ?? "";
  expect(plain(printed)).toBe(plain(pastes.join("").replaceAll("http://127.0.0.1:3000", url)));
});

test(
  "the commands of README.md, pasted: a film of the avatar",
  async () => {
    const commands = pastes.join("").replaceAll("http://127.0.0.1:3000", url);
    const write = bun(join(REPOSITORY, "scripts/sample-photo.ts")).join(" ");
    const made = join(folder, "readme");
    await mkdir(made);
    const script = `cd ${made}\n${commands.replace(/npx .*/, write)}`;
    expect((await runToEnd(["sh", "-ec", script], { API_KEY: variables["API_KEY"] ?? "" })).code).toBe(0);
    const film = await readFile(join(made, "ada.mp4"));
    expect([film.toString("latin1", 4, 8), film.length > 100_000]).toEqual(["ftyp", true]);
    const video = JSON.parse(await readFile(join(made, "video.json"), "utf8"));
    const text = "Hello! I am a photo. One request made me speak.";
    expect(video).toMatchObject({ status: "ready", text, warnings: [] });
  },
  FILM_MS,
);

describe("the programs of docs/videos.md", () => {
  const run = async (language: "ts" | "py", command: (file: string) => string[]) => {
    const program = new RegExp(`<!-- video: ${language} -->\n\`\`\`\\w+\n(.*?)\`\`\``, "s").exec(videos ?? "")?.[1];
    const file = join(folder, `video.${language}`);
    await writeFile(file, program ?? "");
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules")).catch(() => {});
    const environment = { ...variables, AVATAR_ID: variables["CALLED_ID"] ?? "", BASE_URL: url };
    const { code, stdout } = await runToEnd(["sh", "-c", `cd ${folder} && ${command(file).join(" ")}`], environment);
    expect([code, stdout.trim()]).toEqual([0, expect.stringMatching(/^ready \d+$/)]);
    // An MP4 file begins with this box.
    expect((await readFile(join(folder, "hello.mp4"))).toString("latin1", 4, 8)).toBe("ftyp");
  };
  test("the program in TypeScript, executed: a file", () => run("ts", bun));
  test.skipIf(Bun.which("python3") === null)("the program in Python, executed: a file", () =>
    run("py", (file) => ["python3", file]),
  );
});

describe("the program of docs/getting-started.md", () => {
  test("the program of docs/getting-started.md, executed: an avatar is ready", async () => {
    const [, program = ""] = gettingStarted?.match(/<!-- client -->\n```ts\n(.*?)```/s) ?? [];
    const file = join(folder, "first.ts");
    await writeFile(file, program.replace("http://127.0.0.1:3000", url));
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules")).catch(() => {});
    // The program runs in the folder of the photo.
    const { code, stdout } = await runToEnd(["sh", "-c", `cd ${folder} && ${bun(file).join(" ")}`], variables);
    const address = `${url}/public/avatars/`;
    expect([code, stdout.trim()]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^ava_[0-9a-z]{26} ready ${address}[-_0-9A-Za-z]{43}$`)),
    ]);
  });
});
