/**
 * The image without a container engine: it is built step by step in a folder, and its programs run without other files.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chown, link, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder, SOURCES } from "@realtime-avatar/testing/bundles";
import { testDatabase } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { readConfig } from "../apps/api/src/config.ts";
import { readConfig as readAvatarWorkerConfig } from "../apps/avatar-worker/src/config.ts";
import { startControlPlane } from "../apps/avatar-worker/test/support/control-plane.ts";
import { joinAsPerson } from "../apps/avatar-worker/test/support/person.ts";
import { rawPng } from "../apps/worker/src/sandbox/corpus/images.testing.ts";
import { video } from "../apps/worker/src/sandbox/corpus/media.testing.ts";
import { runVideoTask } from "../apps/worker/src/sandbox/film/run.ts";
import { runInSandbox } from "../apps/worker/src/sandbox/run.ts";
import { preparedPicture } from "../apps/worker/test/support/prepared-picture.ts";
import { APPS, build } from "./build.ts";
import {
  AVATAR_WORKER,
  avatarWorkerStage,
  buildStage,
  CMD,
  compiledChild,
  compose,
  gid,
  globals,
  HEALTHCHECK,
  imageStage,
  imageVariables,
  inImage,
  isIgnored,
  PROGRAMS,
  read,
  uid,
  type Yaml,
} from "./support.ts";

const isLong = process.env["LONG"] === "1";
const folder = await fileFolder();
/** The folder of the image's programs, in place of /usr/local/bin. */
const programs = join(folder, "programs");
/** The folder of the worker's libraries, in place of /usr/local/lib. */
const libraries = join(folder, "lib");
/** The folder of the avatar worker, whose program is in `bin` beside `lib`. */
const avatarWorker = join(folder, "avatar-worker");
/** The notices of the programs, and the bundles of the same sources with their notices. */
const notices = join(folder, "notices.txt");
const bundles = Object.fromEntries(APPS.map((app) => [app, join(folder, `bundle-${app}`)]));
const empty = join(folder, "empty");
/** The folder for the files of the programs: the DATA_DIR of the image. */
const files = join(folder, "files");

beforeAll(async () => {
  await Promise.all([mkdir(empty), mkdir(files, { mode: 0o700 })]);
  if (asUser.length > 0) await chown(files, Number(uid), Number(gid));
  const sources = ["Dockerfile", ".dockerignore", "package.json", "bunfig.toml", "scripts/*", ...SOURCES];
  const kept = join(cacheFolder("image", sources), "files");
  const built = [programs, libraries, avatarWorker, notices, ...Object.values(bundles)];
  if (existsSync(kept)) await Bun.$`cp -a ${kept}/. ${folder}`.quiet();
  else {
    await build(folder, { programs, libraries, avatarWorker, notices, bundles });
    await mkdir(`${kept}.draft`);
    await Bun.$`cp -a ${built} ${kept}.draft`.quiet();
    await rename(`${kept}.draft`, kept);
  }
}, 180_000);

/** Runs as the user of the image, where the tests may change their user. */
const asUser =
  process.getuid?.() === 0 && Bun.which("setpriv") !== null
    ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"]
    : [];
/** Runs a command in an empty folder, with only these variables and those that find the command. */
const alone = (command: readonly string[], variables: Record<string, string>): [string[], Record<string, string>] => [
  ["sh", "-c", 'cd "$0" && exec "$@"', empty, ...asUser, ...command],
  { HOME: empty, PATH: `${programs}:/usr/bin:/bin`, ...variables },
];
const run = (command: readonly string[], variables: Record<string, string>) => runToEnd(...alone(command, variables));
const listening = async (running: RunningProcess): Promise<string> =>
  (await running.waitFor(/"url":"http:[^"]+:(\d+)/))[1] ?? "";

describe("the image", () => {
  test("the files of the image: three programs, and no secret or leftover", async () => {
    expect((await readdir(programs)).sort()).toEqual(PROGRAMS);
    for (const file of ["apps/api/src/main.ts", "bun.lock", "patches/postgres@3.4.9.patch"]) {
      expect([file, isIgnored(file)]).toEqual([file, false]);
    }
    for (const file of [".env", "apps/api/.env", ".data/password", ".git/config", "packages/db/node_modules/x/y"]) {
      expect([file, isIgnored(file)]).toEqual([file, true]);
    }
  });

  test("the base and the user of the image: the Bun of package.json, a numeric user, not root", async () => {
    const { packageManager } = JSON.parse(await read("package.json"));
    // Each base image is an argument, so that it can be pinned by its digest.
    expect(
      [...globals, buildStage[0], avatarWorkerStage[0], imageStage[0]].map((line) => `${line?.name} ${line?.text}`),
    ).toEqual([
      `ARG BUN_IMAGE=oven/${packageManager.replace("@", ":")}`,
      "ARG RUNTIME_IMAGE=debian:bookworm-slim",
      "FROM $BUN_IMAGE AS build",
      "FROM $RUNTIME_IMAGE AS avatar-worker",
      "FROM $RUNTIME_IMAGE",
    ]);
    expect(compose["x-program"].build).toEqual({ context: ".", args: ["BUN_IMAGE", "RUNTIME_IMAGE"] });
    expect(inImage("USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(Number(inImage("EXPOSE"))).toBe(readConfig({}).port);
    expect(() => readConfig(imageVariables)).not.toThrow();
  });

  test("the image's CMD with only a database: unhealthy until it is migrated, serves, stops, unhealthy again", async () => {
    const database = await testDatabase({ migrated: false });
    const DATABASE_URL = database.url;
    const cli = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(["realtime-avatar", ...args, "--json"], { DATABASE_URL });
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    };
    const withFiles = { DATABASE_URL, DATA_DIR: files };
    const variables = { ...imageVariables, ...withFiles, WORKER: "true" };
    // The API starts a worker as its child. The worker's program is beside that of the API.
    const api = startProcess(...alone(CMD, { ...variables, PORT: "0" }));
    const PORT = await listening(api);
    const url = `http://127.0.0.1:${PORT}`;
    const health = async () => (await run(HEALTHCHECK, { ...variables, PORT })).code;
    expect(await health()).toBe(1);
    expect(await cli("migrate")).toEqual({ migrated: true });
    expect(await health()).toBe(0);
    const { id: tenantId } = await cli("tenants", "create", "--name", "Acme");
    const key = await cli(
      "keys",
      "create",
      "--tenant",
      tenantId,
      "--name",
      "ops",
      "--scopes",
      "avatars:read,avatars:write",
    );

    const made = await fetch(`${url}/api/v1/avatars`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ displayName: "Ada", sourceKind: "image" }),
    });
    expect([made.status, ((await made.json()) as Yaml).displayName]).toEqual([201, "Ada"]);
    for (const [path, words] of [
      ["/readyz", '{"status":"ok"}'],
      ["/openapi.json", '"openapi":"3.1'],
      ["/docs", 'id="createAvatar"'],
      ["/docs/main.js", "import"],
      ["/docs/guides/troubleshooting", "Cannot listen on"],
    ] as const) {
      const response = await fetch(url + path);
      expect([path, response.status, (await response.text()).includes(words)]).toEqual([path, 200, true]);
    }
    const authorization = `Bearer ${key.apiKey}`;
    const sample = await fetch(`${url}/api/v1/voices/flite-slt/sample`, { headers: { authorization } });
    expect([sample.status, (await sample.text()).slice(0, 4)]).toEqual([200, "RIFF"]);
    await api.waitFor(/"process":"worker".*"msg":"started by the API"/);
    const form = new FormData();
    form.append("file", new Blob([rawPng({ width: 64, height: 64, color: 2 })]), "ada.png");
    const headers = { authorization: `Bearer ${key.apiKey}` };
    const uploaded = await fetch(`${url}/api/v1/assets`, { method: "POST", headers, body: form });
    const asset = (await uploaded.json()) as Yaml;
    expect([uploaded.status, asset.status]).toEqual([201, "uploaded"]);
    await until(async () => (await fetch(asset.publicUrl)).status !== 404);
    expect((await fetch(asset.publicUrl)).headers.get("content-type")).toBe("image/webp");
    const worker = startProcess(...alone(["realtime-avatar-worker"], { ...withFiles, WORKER_PORT: "0" }));
    expect((await fetch(`http://127.0.0.1:${await listening(worker)}/readyz`)).status).toBe(200);
    for (const running of [api, worker]) {
      running.kill(inImage("STOPSIGNAL") as NodeJS.Signals);
      expect([await running.exited, running.stderr()]).toEqual([0, ""]);
    }
    expect(await health()).toBe(1);
    // They write only to DATA_DIR and to the folder for temporary files.
    expect(await readdir(empty)).toEqual([]);
    await database.close();
  });

  test.skipIf(!isLong)(
    "the folder for files of the image: belongs to its user; without the worker: serves",
    async () => {
      const { DATA_DIR } = imageVariables;
      const [installs, makes] = imageStage.filter(({ name }) => name === "RUN").map(({ text }) => text);
      expect(installs).toStartWith("apt-get update && apt-get install -y --no-install-recommends ffmpeg && ");
      expect(makes).toBe(`mkdir -m 700 ${DATA_DIR} && chown ${uid}:${gid} ${DATA_DIR}`);
      const database = await testDatabase();
      const lonely = join(folder, "lonely");
      await mkdir(lonely);
      await link(join(programs, "realtime-avatar-api"), join(lonely, "realtime-avatar-api"));
      const variables = { DATABASE_URL: database.url, DATA_DIR: files, PORT: "0", WORKER: "true" };
      const api = startProcess(...alone([join(lonely, "realtime-avatar-api")], variables));
      expect((await fetch(`http://127.0.0.1:${await listening(api)}/readyz`)).status).toBe(200);
      expect(api.stdout()).toContain("the worker's program is not beside this one");
      api.kill("SIGTERM");
      expect(await api.exited).toBe(0);
      await database.close();
    },
  );

  test.each(
    isLong ? ["realtime-avatar-worker", "realtime-avatar-api", "realtime-avatar migrate"] : ["realtime-avatar-worker"],
  )("%s, without DATABASE_URL: one line that names it, no file is read", async (command) => {
    const elsewhere = join(folder, command.replace(" ", "-"));
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, ".env"), "DATABASE_URL=hunter2\n");
    const [program, variables] = alone(command.split(" "), {});
    const { code, stdout, stderr } = await runToEnd(
      program.map((word) => (word === empty ? elsewhere : word)),
      variables,
    );
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^There is no embedded PostgreSQL .* Set DATABASE_URL to a PostgreSQL server .*\n$/);
    expect(await readdir(elsewhere)).toEqual([".env"]);
  });
});

const livekit = await livekitBinary();

describe("the image of the avatar worker", () => {
  test("the variables and ports of the image: those of the program", () => {
    const textOf = (wanted: string) => avatarWorkerStage.find(({ name }) => name === wanted)?.text ?? "";
    expect(JSON.parse(textOf("CMD"))).toEqual([AVATAR_WORKER]);
    expect(textOf("USER")).toBe(inImage("USER"));
    const { port } = readAvatarWorkerConfig({ AVATAR_WORKER_SECRET: "x".repeat(32) });
    expect(Number(textOf("EXPOSE"))).toBe(port);
    expect(textOf("HEALTHCHECK")).toEndWith('CMD ["realtime-avatar", "health", "--avatar-worker"]');
  });

  const missing = livekit.kind === "missing" ? ` (skipped: ${livekit.reason})` : "";
  test.skipIf(livekit.kind === "missing")(
    `the program, without other files: has a call, and is healthy${missing}`,
    async () => {
      const server = await startLivekit(livekit.kind === "found" ? livekit.path : "");
      const control = await startControlPlane(server);
      const worker = startProcess(...alone([join(avatarWorker, "bin", AVATAR_WORKER)], control.variables));
      const AVATAR_WORKER_PORT = await listening(worker);
      const call = await control.start({ mode: "avatar" });
      const person = await joinAsPerson(server.url, call.personToken);
      await person.until(() => person.seen.length > 5);
      const { code, stdout } = await run(["realtime-avatar", "health", "--avatar-worker"], { AVATAR_WORKER_PORT });
      expect([code, stdout]).toEqual([0, `ready (http://127.0.0.1:${AVATAR_WORKER_PORT}/readyz)\n`]);
      control.end(call.session, "user_ended");
      await control.untilReported(call.session, "ended");
      await person.leave();
      worker.kill("SIGTERM");
      // The library of LiveKit complains that it finds no sound card.
      expect(await worker.exited).toBe(0);
      await control.stop();
      await server.stop();
    },
  );
});

describe("the sandbox of the compiled worker", () => {
  /** Runs the program of the image in the confinement of this machine. */
  const inspect = async (contentType: "image/jpeg" | "image/png", bytes: Uint8Array) => {
    const [input, publicImage] = [join(folder, "input"), join(folder, "public.webp")];
    await writeFile(input, bytes);
    const files = { input, outputs: [publicImage] };
    const outcome = await runInSandbox({ kind: "image", contentType }, files, child());
    await Promise.all([input, publicImage].map((file) => rm(file, { force: true })));
    return outcome;
  };
  const child = () => compiledChild(join(programs, "realtime-avatar-worker"), libraries);

  test.skipIf(!isLong)("the sandbox, with random bytes: refused; with a video: read", async () => {
    expect(await inspect("image/jpeg", Buffer.from("<html>"))).toMatchObject({
      kind: "refused",
      code: "not_decodable",
    });
    const input = join(folder, "input");
    await writeFile(input, await video());
    const task = { kind: "video", contentType: "video/mp4" } as const;
    expect(await runInSandbox(task, { input, outputs: [] }, child())).toMatchObject({
      kind: "accepted",
      codec: "avc",
    });
    await rm(input);
  });

  test("the sandbox, with a text and a prepared picture: speech, and a video", async () => {
    const [input, sound, output] = [join(folder, "text"), join(folder, "sound"), join(folder, "video.mp4")];
    const { picture, mesh } = await preparedPicture(join(folder, "picture.webp"));
    await writeFile(input, "Hello.");
    const speech = { kind: "sound", source: { kind: "text", voice: "slt" } } as const;
    const said = await runVideoTask(speech, { input, outputs: [sound] }, child());
    const samples = said.kind === "accepted" ? said.samples : 0;
    const film = { kind: "film", samples, mesh, label: "AI", isTest: false, seed: 1 } as const;
    const files = { input: picture, inputs: [sound], outputs: [output] };
    expect(await runVideoTask(film, files, child())).toMatchObject({ kind: "accepted", isPortrait: false });
    await Promise.all([input, picture, sound, output].map((file) => rm(file)));
  });

  test("the sandbox, with a portrait: its face is found, and its files derived", async () => {
    const outputs = ["normalized", "thumb", "animated"].map((name) => join(folder, `${name}.webp`));
    const task = { kind: "portrait", contentType: "image/jpeg", label: "AI" } as const;
    const outcome = await runInSandbox(task, { input: portraitPath(), outputs }, child());
    expect(outcome).toMatchObject({ kind: "accepted", width: 800, height: 800, faces: 1 });
    for (const output of outputs) {
      expect((await readFile(output, "latin1")).slice(8, 12)).toBe("WEBP");
      await rm(output);
    }
  });

  test("the sandbox, without its libraries: the error names the missing library", async () => {
    await rename(libraries, `${libraries}-moved`);
    const outcome = await inspect("image/png", rawPng({ width: 8, height: 8 }));
    await rename(`${libraries}-moved`, libraries);
    expect(outcome).toMatchObject({
      kind: "failed",
      code: "crashed",
      stderr: expect.stringContaining("sharp is not installed"),
    });
  });
});

describe("the third-party notices", () => {
  /** The packages whose notices a text contains, as `name version`. */
  const noticed = async (file: string): Promise<string[]> =>
    [
      ...(await readFile(file, "utf8")).matchAll(/^={80}\n(\S+ \S+)\nLicense: \S.*\n(?:Source: \S+\n)?\n(?=.*\r?\n)/gm),
    ].map(([, name = ""]) => name);
  /** The folder of a package, from a folder below `node_modules` in it. */
  const packageFolder = (path: string): string => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;
  /** The packages whose sources a bundle's source maps name, as `name version`. */
  const inMaps = async (bundle: string): Promise<string[]> => {
    const maps = (await readdir(bundle)).filter((name) => name.endsWith(".js.map"));
    const texts = await Promise.all(maps.map((name) => readFile(join(bundle, name), "utf8")));
    const sources: string[] = texts.flatMap((text) => JSON.parse(text).sources);
    // A source is `…/node_modules/<package>/…`, which can be inside the node_modules of another package.
    const folders = new Set(
      sources.flatMap((source) => /node_modules\/.*(?=\/)/.exec(source)?.[0] ?? []).map(packageFolder),
    );
    return Promise.all(
      [...folders].map(async (name) => {
        const manifest = JSON.parse(await read(join(name, "package.json")));
        return `${manifest.name} ${manifest.version}`;
      }),
    );
  };

  test("the notices of each program: name every package, and Bun", async () => {
    const ofBundles = await Promise.all(
      Object.entries(bundles).map(async ([app, bundle]) => {
        const names = await noticed(join(bundle, "THIRD_PARTY_NOTICES.txt"));
        // The files of the dashboard come without source maps.
        if (app === "dashboard") return names;
        const found = await inMaps(bundle);
        expect(found.length).toBeGreaterThan(3);
        for (const name of found) expect(names).toContain(name);
        return names;
      }),
    );
    const ofPrograms = await noticed(notices);
    // A program contains the bundles of the same sources and the runtime. The other packages are beside it.
    const folders = [join(libraries, "realtime-avatar"), join(avatarWorker, "lib", AVATAR_WORKER)];
    const find = (cwd: string, pattern: string) => Array.fromAsync(new Bun.Glob(pattern).scan({ cwd, absolute: true }));
    const manifests = await Promise.all(
      folders.flatMap((cwd) =>
        ["node_modules/*/package.json", "node_modules/@*/*/package.json"].map((at) => find(cwd, at)),
      ),
    );
    const beside = await Promise.all(
      manifests.flat().map(async (file) => {
        const { name, version } = JSON.parse(await readFile(file, "utf8"));
        return `${name} ${version}`;
      }),
    );
    // The native library of LiveKit is inside the program of the avatar worker, and outside of its bundle.
    const native = ofPrograms.filter((name) => name.startsWith("@livekit/rtc-ffi-bindings-"));
    expect(native).toHaveLength(1);
    expect(beside.some((name) => name.startsWith("sharp "))).toBe(true);
    expect(new Set(ofPrograms)).toEqual(new Set([`Bun ${Bun.version}`, ...ofBundles.flat(), ...beside, ...native]));
    const text = await readFile(notices, "utf8");
    expect(text).toContain("BlazeFace (back) and Face Mesh of MediaPipe, by Google");
  });
});
