/**
 * What is deployed, as far as it can be held to its word without a container engine: the image is built step by step in
 * a folder, its programs are run with nothing beside them, and the descriptions are compared with them and with each other.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { temporaryFolder, testDatabase } from "@realtime-avatar/db/testing";
import { REPOSITORY, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";
import Ajv from "ajv";
import { createApp } from "../apps/api/src/app.ts";
import { readConfig } from "../apps/api/src/config.ts";
import type { Dependencies } from "../apps/api/src/dependencies.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(180_000);

// biome-ignore lint/suspicious/noExplicitAny: what is in a document is what the tests look at
type Yaml = any;

const read = (name: string): Promise<string> => readFile(join(REPOSITORY, name), "utf8");
const [dockerfile, dockerignore, unit, composeText, kubernetesText, configuration] = await Promise.all(
  ["Dockerfile", ".dockerignore", "deploy/realtime-avatar-api.service", "compose.yaml", "deploy/kubernetes.yaml"]
    .concat("docs/configuration.md")
    .map(read),
);
const compose: Yaml = Bun.YAML.parse(composeText ?? "");
const kubernetes: Yaml[] = Bun.YAML.parse(kubernetesText ?? "") as Yaml[];

type Instruction = { name: string; text: string };
/** The instructions of the Dockerfile: those before its first stage, and a list for each of its stages. */
const parts: Instruction[][] = (dockerfile ?? "")
  .replace(/^#.*\n/gm, "")
  .replace(/\\\n\s*/g, "")
  .split(/^(?=FROM )/m)
  .map((stage) =>
    stage
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const [name = "", ...words] = line.split(" ");
        return { name, text: words.join(" ") };
      }),
  );
const [globals = [], buildStage = [], imageStage = []] = parts;
const inImage = (name: string): string => imageStage.find((instruction) => instruction.name === name)?.text ?? "";
/** What the image takes from the build, by where it is there: `/src/…`. */
const taken = Object.fromEntries(
  imageStage.flatMap(({ name, text }) => {
    const [, from = "", to = ""] = (name === "COPY" && /^--from=build \/src\/(\S+) (\S+)$/.exec(text)) || [];
    return from === "" ? [] : [[from, to] as const];
  }),
);
const imageVariables = Object.fromEntries(
  imageStage.filter(({ name }) => name === "ENV").map(({ text }) => text.split("=") as [string, string]),
);

/** Whether .dockerignore keeps a file out: the last of its patterns that meets the file, or a folder above it, decides. */
const isIgnored = (file: string): boolean => {
  const parts = file.split("/");
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  let ignored = false;
  for (const line of (dockerignore ?? "").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const isKept = line.startsWith("!");
    const glob = new Bun.Glob(isKept ? line.slice(1) : line);
    if (paths.some((path) => glob.match(path))) ignored = !isKept;
  }
  return ignored;
};

let folder = "";
/** Where the image's programs are, as if it were /usr/local/bin. */
let programs = "";
/** Where the notices of the programs are, and the bundles of the same sources with theirs. */
let notices = "";
let bundles: Record<"api" | "worker", string> = { api: "", worker: "" };
let empty = "";

beforeAll(async () => {
  folder = await temporaryFolder();
  [programs, empty, notices] = [join(folder, "programs"), join(folder, "empty"), join(folder, "notices.txt")];
  bundles = { api: join(folder, "bundle-api"), worker: join(folder, "bundle-worker") };
  await mkdir(empty);
  await build();
});
afterAll(() => rm(folder, { recursive: true }));

/** What the build can see: the files of the repository's folder that .dockerignore lets in. */
const contextFiles = async (): Promise<string[]> => {
  const entries = (await readdir(REPOSITORY, { withFileTypes: true })).filter(({ name }) => !isIgnored(name));
  const files = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory()) return [entry.name];
      return Array.fromAsync(new Bun.Glob(`${entry.name}/**`).scan({ cwd: REPOSITORY, dot: true }));
    }),
  );
  return files.flat().filter((file) => !isIgnored(file));
};

/** Does what the build stage says, in a folder that has nothing but what it copies. */
const build = async (): Promise<void> => {
  const source = join(folder, "source");
  const tools = join(folder, "tools");
  await Promise.all([mkdir(source), mkdir(tools)]);
  const bun = join(tools, "bun");
  await symlink(process.execPath, bun);
  const context = await contextFiles();
  for (const { name, text } of buildStage) {
    if (name === "COPY") {
      const words = text.split(" ");
      const target = words.pop() ?? "";
      for (const word of words) {
        const files = context.filter((file) => file === word || file.startsWith(`${word}/`));
        if (files.length === 0) throw new Error(`COPY ${word}: there is no such file for the build`);
        for (const file of files) {
          const inFolder = target.endsWith("/") ? join(target, basename(file)) : target;
          const to = file === word ? inFolder : join(target, file.slice(word.length + 1));
          await cp(join(REPOSITORY, file), join(source, to), { recursive: true });
        }
      }
    }
    if (name === "RUN") {
      const PATH = `${tools}:${process.env["PATH"]}`;
      const { code, stderr } = await runToEnd(["sh", "-c", `cd "$0" && ${text}`, source], { PATH });
      if (code !== 0) throw new Error(`RUN ${text}: ${stderr}`);
    }
  }
  // COPY --from=build: nothing but the programs and their notices is left of it.
  expect(taken).toEqual({
    "dist/bin/": "/usr/local/bin/",
    "dist/THIRD_PARTY_NOTICES.txt": "/usr/share/doc/realtime-avatar/",
  });
  await rename(join(source, "dist/bin"), programs);
  await rename(join(source, "dist/THIRD_PARTY_NOTICES.txt"), notices);
  for (const app of ["api", "worker"] as const) {
    const { code, stderr } = await runToEnd(["sh", "-c", 'cd "$0" && "$1" run build', join(source, "apps", app), bun]);
    if (code !== 0) throw new Error(`the bundle of ${app}: ${stderr}`);
    await rename(join(source, "apps", app, "dist"), bundles[app]);
  }
  await rm(source, { recursive: true });
};

/** As the image's user, where we may become another. */
const [uid = "", gid = ""] = inImage("USER").split(":");
const asUser =
  process.getuid?.() === 0 && Bun.which("setpriv") !== null
    ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"]
    : [];
/** A command in an empty folder, with no other variables than these and those that find it. */
const alone = (command: readonly string[], variables: Record<string, string>): [string[], Record<string, string>] => [
  ["sh", "-c", 'cd "$0" && exec "$@"', empty, ...asUser, ...command],
  { HOME: empty, PATH: `${programs}:/usr/bin:/bin`, ...variables },
];
const run = (command: readonly string[], variables: Record<string, string>) => runToEnd(...alone(command, variables));
const listening = async (running: RunningProcess): Promise<string> =>
  (await running.waitFor(/"url":"http:[^"]+:(\d+)/))[1] ?? "";

const CMD: string[] = JSON.parse(inImage("CMD"));
const [, healthCommand = "[]"] = inImage("HEALTHCHECK").match(/ CMD (\[.*\])$/) ?? [];
const HEALTHCHECK: string[] = JSON.parse(healthCommand);

describe("the image", () => {
  test("has the three programs, and no secret or leftover comes near it", async () => {
    const names = ["realtime-avatar", "realtime-avatar-api", "realtime-avatar-worker"];
    expect((await readdir(programs)).sort()).toEqual(names);
    for (const file of ["apps/api/src/main.ts", "bun.lock", "patches/postgres@3.4.9.patch"]) {
      expect([file, isIgnored(file)]).toEqual([file, false]);
    }
    for (const file of [".env", "apps/api/.env", ".data/password", ".git/config", "packages/db/node_modules/x/y"]) {
      expect([file, isIgnored(file)]).toEqual([file, true]);
    }
  });

  test("is of the Bun of package.json, and runs as a user that is a number and not root", async () => {
    const { packageManager } = JSON.parse(await read("package.json"));
    // Each base image is an argument, so that it can be pinned by its digest.
    expect([...globals, buildStage[0], imageStage[0]].map((line) => `${line?.name} ${line?.text}`)).toEqual([
      `ARG BUN_IMAGE=oven/${packageManager.replace("@", ":")}`,
      "ARG RUNTIME_IMAGE=debian:bookworm-slim",
      "FROM $BUN_IMAGE AS build",
      "FROM $RUNTIME_IMAGE",
    ]);
    expect(compose["x-program"].build).toEqual({ context: ".", args: ["BUN_IMAGE", "RUNTIME_IMAGE"] });
    expect(inImage("USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(Number(inImage("EXPOSE"))).toBe(readConfig({}).port);
    expect(() => readConfig(imageVariables)).not.toThrow();
  });

  test("serves with nothing beside its programs but a database", async () => {
    const database = await testDatabase({ migrated: false });
    const DATABASE_URL = database.url;
    const cli = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(["realtime-avatar", ...args, "--json"], { DATABASE_URL });
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    };
    expect(await cli("migrate")).toEqual({ migrated: true });
    const { id: tenantId } = await cli("tenants", "create", "--name", "Acme");
    const key = await cli("keys", "create", "--tenant", tenantId, "--name", "ops", "--scopes", "avatars:write");

    const api = startProcess(...alone(["realtime-avatar-api"], { DATABASE_URL, PORT: "0" }));
    const url = `http://127.0.0.1:${await listening(api)}`;
    const made = await fetch(`${url}/api/v1/avatars`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ displayName: "Ada", sourceKind: "image" }),
    });
    expect([made.status, ((await made.json()) as Yaml).displayName]).toEqual([201, "Ada"]);
    for (const [path, words] of [
      ["/readyz", '{"status":"ok"}'],
      ["/openapi.json", '"openapi":"3.1'],
      ["/docs", "viewer.js"],
      ["/docs/viewer.js", "SwaggerUIBundle"],
      ["/docs/viewer.css", ".swagger-ui"],
      ["/docs/init.js", "openapi.json"],
      ["/docs/icon.png", "PNG"],
    ] as const) {
      const answer = await fetch(url + path);
      expect([path, answer.status, (await answer.text()).includes(words)]).toEqual([path, 200, true]);
    }
    const worker = startProcess(...alone(["realtime-avatar-worker"], { DATABASE_URL, WORKER_PORT: "0" }));
    expect((await fetch(`http://127.0.0.1:${await listening(worker)}/readyz`)).status).toBe(200);
    for (const running of [api, worker]) {
      running.kill("SIGTERM");
      expect([await running.exited, running.stderr()]).toEqual([0, ""]);
    }
    // They write no file.
    expect(await readdir(empty)).toEqual([]);
    await database.close();
  });

  test("starts by its CMD; its HEALTHCHECK fails until it is ready, and again when it has gone", async () => {
    const database = await testDatabase({ migrated: false });
    const variables = { ...imageVariables, DATABASE_URL: database.url };
    const container = startProcess(...alone(CMD, { ...variables, PORT: "0" }));
    const PORT = await listening(container);
    const health = async () => (await run(HEALTHCHECK, { ...variables, PORT })).code;
    expect(await health()).toBe(1);
    expect((await run(["realtime-avatar", "migrate"], variables)).code).toBe(0);
    expect(await health()).toBe(0);
    container.kill(inImage("STOPSIGNAL") as NodeJS.Signals);
    expect(await container.exited).toBe(0);
    expect(await health()).toBe(1);
    await database.close();
  });

  test.each(["realtime-avatar-api", "realtime-avatar-worker", "realtime-avatar migrate"])(
    "%s says in one line that it needs DATABASE_URL, and takes it from no file",
    async (command) => {
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
    },
  );
});

describe("the third-party notices", () => {
  /** The packages that a text has notices of, as `name version`. */
  const noticed = async (file: string): Promise<string[]> =>
    [...(await readFile(file, "utf8")).matchAll(/^={80}\n(\S+ \S+)\nLicense: \S.*\n\n(?=.*\n)/gm)].map(
      ([, name = ""]) => name,
    );
  /** The folder of the package that a folder below `node_modules` belongs to. */
  const packageFolder = (path: string): string => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;
  /** The packages whose sources a bundle's source maps name, as `name version`. */
  const inMaps = async (bundle: string): Promise<string[]> => {
    const maps = (await readdir(bundle)).filter((name) => name.endsWith(".js.map"));
    const texts = await Promise.all(maps.map((name) => readFile(join(bundle, name), "utf8")));
    const sources: string[] = texts.flatMap((text) => JSON.parse(text).sources);
    // A source is `…/node_modules/<package>/…`, or that within the node_modules of another package.
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

  test("name every package of the bundles, and those of the programs Bun as well", async () => {
    const ofBundles = await Promise.all(
      Object.values(bundles).map(async (bundle) => {
        const names = await noticed(join(bundle, "THIRD_PARTY_NOTICES.txt"));
        const found = await inMaps(bundle);
        expect(found.length).toBeGreaterThan(10);
        for (const name of found) expect(names).toContain(name);
        return names;
      }),
    );
    const ofPrograms = await noticed(notices);
    // What is in a program is what is in the bundles of the same sources, and the runtime.
    expect(new Set(ofPrograms)).toEqual(new Set([`Bun ${Bun.version}`, ...ofBundles.flat()]));
    // What is served as a file is no source of a bundle.
    expect(ofPrograms.some((name) => name.startsWith("swagger-ui-dist "))).toBe(true);
    const text = await readFile(notices, "utf8");
    expect(text).toContain(await read("node_modules/swagger-ui-dist/NOTICE").then((notice) => notice.trim()));
  });
});

const KNOWN = new Set([...(configuration ?? "").matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name]) => name));

/** The variables are those of the service, of the right form, and a process has the time to end that they give it. */
const checkVariables = (variables: Record<string, string>, stopSeconds: number): void => {
  for (const name of Object.keys(variables)) expect([name, KNOWN.has(name)]).toEqual([name, true]);
  const { shutdownGraceMs, database } = readConfig(variables);
  expect(shutdownGraceMs).toBeGreaterThan(0);
  // A client may take as long over its body as the database over the request.
  expect(1000 * stopSeconds).toBeGreaterThan(shutdownGraceMs + 2.1 * database.deadlineMs);
};
const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]);

describe("compose.yaml", () => {
  const withPassword = (text: string): string => text.replace(/\$\{POSTGRES_PASSWORD:\?[^}]+\}/, "hunter2");

  test("meets the published schema of Compose, which a misspelt copy does not", async () => {
    const { $schema, ...schema } = JSON.parse(await read("node_modules/dclint/schemas/compose.schema.json"));
    // Bounds that Compose itself looks at.
    const formats = { duration: true, ports: true, expose: true, subnet_ip_address: true } as const;
    const meets = new Ajv({ strict: false, formats }).compile(schema);
    expect([meets(compose), meets.errors]).toEqual([true, null]);
    const { api } = compose.services;
    expect(meets({ ...compose, services: { ...compose.services, api: { ...api, read_onyl: true } } })).toBe(false);
    expect(meets({ ...compose, services: { ...compose.services, api: { ...api, cap_drop: "ALL" } } })).toBe(false);
  });

  test("gives the programs no more than they need, and what they need in time", async () => {
    const names = await readdir(programs);
    const { postgres, ...own } = compose.services;
    expect(Object.keys(own).sort()).toEqual(["api", "migrate", "worker"]);
    for (const service of Object.values<Yaml>(own)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        ulimits: { core: 0 },
      });
      expect([service.image, service.privileged, service.user, service.volumes]).toEqual([
        own.api.image,
        undefined,
        undefined,
        undefined,
      ]);
      const variables = { ...service.environment, DATABASE_URL: withPassword(service.environment.DATABASE_URL) };
      checkVariables(variables, seconds(service.stop_grace_period));
      const [program] = service.command ?? CMD;
      expect(names).toContain(program);
      if (service !== own.migrate) {
        expect(service.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
      }
    }
    expect(own.migrate.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    expect(own.worker.healthcheck.test).toEqual(["CMD", ...HEALTHCHECK, "--worker"]);
    const version = JSON.parse(await read("package.json")).version;
    expect(own.api.image).toBe(`realtime-avatar:${version}`);

    // A port of the host for each replica.
    const [, low, high, port] = /:(\d+)-(\d+):(\d+)$/.exec(own.api.ports[0]) ?? [];
    expect(Number(high) - Number(low) + 1).toBe(own.api.deploy.replicas);
    expect(Number(port)).toBe(readConfig({}).port);
    expect(own.api.deploy.replicas).toBeGreaterThan(1);
  });

  test("has no password in it, and one place for the data", () => {
    const { environment, volumes } = compose.services.postgres;
    const password = environment.POSTGRES_PASSWORD;
    expect(withPassword(password)).toBe("hunter2");
    const { POSTGRES_USER: user, POSTGRES_DB: name } = environment;
    expect(Object.keys(environment).sort()).toEqual(["POSTGRES_DB", "POSTGRES_PASSWORD", "POSTGRES_USER"]);
    expect(compose.services.api.environment.DATABASE_URL).toBe(`postgres://${user}:${password}@postgres:5432/${name}`);
    const [volume] = volumes[0].split(":");
    expect(Object.keys(compose.volumes)).toEqual([volume]);
  });
});

describe("the systemd unit", () => {
  const settings = [...(unit ?? "").matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  const settingOf = (name: string): string => settings.find(([known]) => known === name)?.[1] ?? "";

  test("runs a program of ours with variables of ours, and gives it the time to end", async () => {
    const environment = settings
      .filter(([name]) => name === "Environment")
      .map(([, value = ""]) => value.split("=") as [string, string]);
    checkVariables(Object.fromEntries(environment), seconds(settingOf("TimeoutStopSec")));
    expect(await readdir(programs)).toContain(basename(settingOf("ExecStart")));
    // A core dump would hold the URL of the database, and keys.
    expect(settingOf("LimitCORE")).toBe("0");
    // It would take the compiler away from the process, which then is many times slower.
    expect(settingOf("MemoryDenyWriteExecute")).toBe("");
  });

  test.skipIf(Bun.which("systemd-analyze") === null)("is understood by systemd, and called safe", async () => {
    const file = join(folder, "realtime-avatar-api.service");
    await writeFile(file, (unit ?? "").replaceAll("/usr/local/bin", programs));
    const verified = await runToEnd(["systemd-analyze", "verify", "--man=no", file]);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    const safe = await runToEnd(["systemd-analyze", "security", "--offline=true", "--threshold=15", file]);
    expect([safe.code, safe.stdout]).toEqual([0, expect.stringContaining("Overall exposure level")]);
  });
});

describe("kubernetes.yaml", () => {
  const of = (kind: string): Yaml => kubernetes.find((object) => object.kind === kind);
  const [deployment, job, service, budget] = ["Deployment", "Job", "Service", "PodDisruptionBudget"].map(of);
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;
  /** The one image of all pods. */
  const image: string = container.image;
  const variables = (list: Yaml[]): Record<string, string> =>
    Object.fromEntries(list.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));

  test("has everything in its namespace, once", () => {
    const names = kubernetes.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const own = of("Namespace").metadata;
    expect(own.labels["pod-security.kubernetes.io/enforce"]).toBe("restricted");
    for (const { kind, metadata } of kubernetes) if (kind !== "Namespace") expect(metadata.namespace).toBe(own.name);
  });

  test("selects the pods that it means", () => {
    const { labels } = deployment.spec.template.metadata;
    for (const selector of [
      deployment.spec.selector.matchLabels,
      service.spec.selector,
      budget.spec.selector.matchLabels,
      pod.topologySpreadConstraints[0].labelSelector.matchLabels,
    ]) {
      expect(selector).toEqual(labels);
    }
    // The pod of the migration gets no requests.
    expect(job.spec.template.metadata.labels).not.toEqual(labels);
  });

  test("names its image by a digest, which the command in its head puts in", async () => {
    const reference = /^[a-z0-9.:/-]+\/realtime-avatar(:[\w.]+)?@sha256:[0-9a-f]{64}$/;
    // The placeholder is no image: a file that is applied as it is starts nothing.
    expect(image).not.toMatch(reference);
    const [, command = ""] = /^#\s+(sed .*) \| kubectl apply -f -$/m.exec(kubernetesText ?? "") ?? [];
    const digest = `registry.example.com/realtime-avatar@sha256:${"0123456789abcdef".repeat(4)}`;
    const { code, stdout } = await runToEnd(["sh", "-c", command], { image: digest });
    expect(code).toBe(0);
    const applied = (Bun.YAML.parse(stdout) as Yaml[]).flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
    expect(applied.map((each: Yaml) => each.image)).toEqual([digest, digest]);
    expect(digest).toMatch(reference);
  });

  test("lets only named sources reach its pods, and its pods reach only DNS and PostgreSQL", () => {
    const policies = kubernetes.filter(({ kind }) => kind === "NetworkPolicy").map(({ spec }) => spec);
    const [everywhere, api] = policies;
    expect(policies).toHaveLength(2);
    expect(everywhere.podSelector).toEqual({});
    expect(everywhere.policyTypes.sort()).toEqual(["Egress", "Ingress"]);
    // Without a rule for what comes in, nothing does.
    expect(everywhere.ingress).toBeUndefined();
    expect(everywhere.egress.map(({ ports }: Yaml) => ports.map(({ port }: Yaml) => port))).toEqual([[53, 53], [5432]]);
    for (const { ports } of everywhere.egress) expect(ports.length).toBeGreaterThan(0);
    expect(api.podSelector.matchLabels).toEqual(deployment.spec.template.metadata.labels);
    expect(api.policyTypes).toEqual(["Ingress"]);
    const ports = container.ports.map(({ name }: Yaml) => name);
    expect(api.ingress.flatMap((rule: Yaml) => rule.ports.map(({ port }: Yaml) => port)).sort()).toEqual(ports.sort());
    // Each rule names who may come: one without `from` would let everybody in.
    for (const { from } of api.ingress) {
      expect(from).toHaveLength(1);
      expect(Object.keys(from[0].namespaceSelector.matchLabels)).toEqual(["kubernetes.io/metadata.name"]);
    }
  });

  test("asks for paths and ports that exist", async () => {
    const app = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const paths = app.routes.flatMap(({ method, path }) => (method === "GET" ? [path] : []));
    const ports = container.ports.map(({ name }: Yaml) => name);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const { path, port } = container[probe].httpGet;
      expect(path).toBe(probe === "readinessProbe" ? "/readyz" : "/healthz");
      expect(paths).toContain(path);
      expect(ports).toContain(port);
    }
    expect(ports).toContain(service.spec.ports[0].targetPort);
    expect(container.ports[0].containerPort).toBe(readConfig({}).port);
  });

  test("keeps serving while pods are replaced and nodes are emptied", () => {
    expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
    expect(deployment.spec.replicas).toBeGreaterThan(1);
    // One can be evicted, and one is left.
    expect(budget.spec.maxUnavailable).toBe(1);
    checkVariables(variables(container.env), pod.terminationGracePeriodSeconds);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    const grace = Number(variables(container.env)["SHUTDOWN_GRACE_MS"]);
    expect(grace).toBeGreaterThan(1000 * periodSeconds * failureThreshold);
  });

  test("gives the programs no more than they need, and secrets by their names alone", async () => {
    const version = JSON.parse(await read("package.json")).version;
    const names = await readdir(programs);
    for (const { spec } of [deployment.spec.template, job.spec.template]) {
      expect(spec.automountServiceAccountToken).toBe(false);
      expect(spec.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: Number(uid),
        runAsGroup: Number(gid),
        seccompProfile: { type: "RuntimeDefault" },
      });
      const [{ command, env, securityContext, resources }] = spec.containers;
      expect(spec.containers).toHaveLength(1);
      expect(spec.containers[0].image).toBe(image);
      expect(image).toContain(`/realtime-avatar:${version}@`);
      expect(names).toContain((command ?? CMD)[0]);
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(Object.keys(resources).sort()).toEqual(["limits", "requests"]);
      for (const { name, value, valueFrom } of env) {
        expect([name, KNOWN.has(name)]).toEqual([name, true]);
        if (name === "DATABASE_URL") expect([value, Object.keys(valueFrom)]).toEqual([undefined, ["secretKeyRef"]]);
      }
    }
  });
});
