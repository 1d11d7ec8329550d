/** Compares compose.yaml and kubernetes.yaml with the image and with the service. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { runToEnd } from "@realtime-avatar/testing/processes";
import Ajv from "ajv";
import { createApp } from "../apps/api/src/app.ts";
import { readConfig } from "../apps/api/src/config.ts";
import type { Dependencies } from "../apps/api/src/dependencies.ts";
import { readConfig as readAvatarWorkerConfig } from "../apps/avatar-worker/src/config.ts";
import {
  CMD,
  checkVariables,
  compose,
  gid,
  HEALTHCHECK,
  imageVariables,
  KNOWN,
  kubernetesText,
  PROGRAMS,
  read,
  seconds,
  uid,
  type Yaml,
} from "./support.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

const kubernetes: Yaml[] = Bun.YAML.parse(kubernetesText ?? "") as Yaml[];

describe("compose.yaml", () => {
  const withPassword = (text: string): string => text.replace(/\$\{POSTGRES_PASSWORD:\?[^}]+\}/, "hunter2");

  test("compose.yaml, checked by the schema of Compose: valid; with a misspelt key: refused", async () => {
    const { $schema, ...schema } = JSON.parse(await read("node_modules/dclint/schemas/compose.schema.json"));
    // Bounds that Compose itself checks.
    const formats = { duration: true, ports: true, expose: true, subnet_ip_address: true } as const;
    const meets = new Ajv({ strict: false, formats }).compile(schema);
    expect([meets(compose), meets.errors]).toEqual([true, null]);
    const { api } = compose.services;
    expect(meets({ ...compose, services: { ...compose.services, api: { ...api, read_onyl: true } } })).toBe(false);
    expect(meets({ ...compose, services: { ...compose.services, api: { ...api, cap_drop: "ALL" } } })).toBe(false);
  });

  test("the programs in compose.yaml: few rights, and enough time to stop", async () => {
    const names = PROGRAMS;
    const { postgres, "avatar-worker": _, ...own } = compose.services;
    expect(Object.keys(own).sort()).toEqual(["api", "migrate", "worker"]);
    for (const service of Object.values<Yaml>(own)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        ulimits: { core: 0 },
      });
      expect([service.image, service.privileged, service.user]).toEqual([own.api.image, undefined, undefined]);
      // The files of assets, which the API and the worker share, and temporary files.
      const volumes = [`files:${imageVariables["DATA_DIR"]}`, "temporary:/tmp"];
      expect(service.volumes).toEqual(service === own.migrate ? [] : volumes);
      const set = Object.entries<string | null>(service.environment).filter(([, value]) => value !== null);
      const variables = {
        ...(Object.fromEntries(set) as Record<string, string>),
        DATABASE_URL: withPassword(service.environment.DATABASE_URL),
      };
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

  test("the avatar worker in compose.yaml: in a profile, with few rights and only the secret of avatar workers", () => {
    const { "avatar-worker": worker, api } = compose.services;
    for (const [name, value] of Object.entries({ ...worker.environment, ...api.environment })) {
      expect([name, KNOWN.has(name) || value === null]).toEqual([name, true]);
    }
    expect(Object.keys(worker.environment)).toEqual(["SERVICE_URL", "AVATAR_WORKER_SECRET"]);
    expect(worker.environment.AVATAR_WORKER_SECRET).toBeNull();
    expect(worker).toMatchObject({
      ...{ profiles: ["calls"], read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
      build: { context: ".", target: "avatar-worker", args: ["BUN_IMAGE", "RUNTIME_IMAGE"] },
    });
  });

  test("the networks in compose.yaml: an avatar worker reaches the API, and not PostgreSQL", () => {
    const { "avatar-worker": worker, api, ...others } = compose.services;
    expect([worker.networks, api.networks]).toEqual([["calls"], ["default", "calls"]]);
    // Without networks, a service is in the default one.
    for (const service of Object.values<Yaml>(others)) expect(service.networks).toBeUndefined();
    expect(Object.keys(compose.networks)).toEqual(["calls"]);
  });

  test("the secrets and volumes in compose.yaml: no password in the file, and a volume for each kind of data", () => {
    const { environment, volumes } = compose.services.postgres;
    const password = environment.POSTGRES_PASSWORD;
    expect(withPassword(password)).toBe("hunter2");
    const { POSTGRES_USER: user, POSTGRES_DB: name } = environment;
    expect(Object.keys(environment).sort()).toEqual(["POSTGRES_DB", "POSTGRES_PASSWORD", "POSTGRES_USER"]);
    expect(compose.services.api.environment.DATABASE_URL).toBe(`postgres://${user}:${password}@postgres:5432/${name}`);
    const [volume] = volumes[0].split(":");
    const shared = compose["x-program"].volumes.map((text: string) => text.split(":")[0]);
    expect(Object.keys(compose.volumes)).toEqual([volume, ...shared]);
  });
});

describe("kubernetes.yaml", () => {
  const of = (kind: string): Yaml => kubernetes.find((object) => object.kind === kind);
  const [deployment, job, service, budget] = ["Deployment", "Job", "Service", "PodDisruptionBudget"].map(of);
  const [, worker] = kubernetes.filter(({ kind }) => kind === "Deployment");
  /** The pod template of an object; an empty list when it has none. */
  const templatesOf = ({ spec }: Yaml): Yaml[] => [spec?.template ?? spec?.jobTemplate?.spec.template].filter(Boolean);
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;
  /** The one image of all pods. */
  const image: string = container.image;
  const variables = (list: Yaml[]): Record<string, string> =>
    Object.fromEntries(list.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));

  test("the objects in kubernetes.yaml: each once, all in its namespace", () => {
    const names = kubernetes.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const own = of("Namespace").metadata;
    expect(own.labels["pod-security.kubernetes.io/enforce"]).toBe("restricted");
    for (const { kind, metadata } of kubernetes) if (kind !== "Namespace") expect(metadata.namespace).toBe(own.name);
  });

  test("the selectors in kubernetes.yaml: select the intended pods", () => {
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
    expect(worker.spec.template.metadata.labels).not.toEqual(labels);
    expect(worker.spec.selector.matchLabels).toEqual(worker.spec.template.metadata.labels);
  });

  test("the image in kubernetes.yaml: a digest, which the command at the top of the file inserts", async () => {
    const reference = /^[a-z0-9.:/-]+\/realtime-avatar(:[\w.]+)?@sha256:[0-9a-f]{64}$/;
    // The placeholder is not a valid image, so applying the unchanged file starts no pod.
    expect(image).not.toMatch(reference);
    const [, command = ""] = /^#\s+(sed .*) \| kubectl apply -f -$/m.exec(kubernetesText ?? "") ?? [];
    const digest = `registry.example.com/realtime-avatar@sha256:${"0123456789abcdef".repeat(4)}`;
    const { code, stdout } = await runToEnd(["sh", "-c", command], { image: digest });
    expect(code).toBe(0);
    const applied = (Bun.YAML.parse(stdout) as Yaml[])
      .flatMap(templatesOf)
      .flatMap((template) => template.spec.containers);
    expect(applied.map((each: Yaml) => each.image)).toEqual([digest, digest, digest, digest]);
    expect(digest).toMatch(reference);
  });

  test("the network policies in kubernetes.yaml: allow named sources and needed targets only", () => {
    const policies = kubernetes.filter(({ kind }) => kind === "NetworkPolicy").map(({ spec }) => spec);
    const [everywhere, ofDatabase, api, ofWorker] = policies;
    expect(policies).toHaveLength(4);
    expect(everywhere.podSelector).toEqual({});
    expect(everywhere.policyTypes.sort()).toEqual(["Egress", "Ingress"]);
    // Without an ingress rule, no packet comes in.
    expect(everywhere.ingress).toBeUndefined();
    expect(everywhere.egress.map(({ ports }: Yaml) => ports.map(({ port }: Yaml) => port))).toEqual([[53, 53]]);
    expect(everywhere.egress[0].to[0].namespaceSelector).toBeDefined();
    expect([ofDatabase.policyTypes, ofDatabase.ingress]).toEqual([["Egress"], undefined]);
    expect(api.podSelector.matchLabels).toEqual(deployment.spec.template.metadata.labels);
    expect(ofWorker.podSelector.matchLabels).toEqual(worker.spec.template.metadata.labels);
    for (const { policyTypes } of [api, ofWorker]) expect(policyTypes).toEqual(["Ingress", "Egress"]);
    // The store of files; and for the worker, hosts that callers name: network-policies.test.ts.
    const portsOf = ({ egress }: Yaml): number[] =>
      egress.flatMap((rule: Yaml) => rule.ports.map(({ port }: Yaml) => port));
    expect([portsOf(api), portsOf(ofWorker)]).toEqual([[443], [443, 8443]]);
    expect(ofWorker.ingress.flatMap((rule: Yaml) => rule.ports.map(({ port }: Yaml) => port))).toEqual(["metrics"]);
    const ports = container.ports.map(({ name }: Yaml) => name);
    expect(api.ingress.flatMap((rule: Yaml) => rule.ports.map(({ port }: Yaml) => port)).sort()).toEqual(ports.sort());
    // Each rule names its sources: without `from`, every source is allowed.
    for (const { from } of [...api.ingress, ...ofWorker.ingress]) {
      expect(from).toHaveLength(1);
      expect(Object.keys(from[0].namespaceSelector.matchLabels)).toEqual(["kubernetes.io/metadata.name"]);
    }
  });

  test("the probes in kubernetes.yaml: use existing paths and ports", async () => {
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
    const [program] = worker.spec.template.spec.containers;
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      expect(program[probe].httpGet).toEqual({ ...container[probe].httpGet, port: program.ports[0].name });
    }
    expect(program.ports.map(({ containerPort }: Yaml) => containerPort)).toEqual([
      3001,
      Number(variables(program.env)["WORKER_METRICS_PORT"]),
    ]);
  });

  test("the variables of the store in kubernetes.yaml: are variables of the service", () => {
    const [, names = ""] = /Its keys are the names of the variables: ([^.]*)/.exec(kubernetesText ?? "") ?? [];
    const known = names.match(/\b(STORAGE|AWS)_[A-Z_]+/g) ?? [];
    expect(known.length).toBeGreaterThan(4);
    for (const name of known) expect([name, KNOWN.has(name)]).toEqual([name, true]);
  });

  test("the pods in kubernetes.yaml, replaced or evicted: the service keeps serving", () => {
    expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
    expect(deployment.spec.replicas).toBeGreaterThan(1);
    // One pod can be evicted while another one runs.
    expect(budget.spec.maxUnavailable).toBe(1);
    checkVariables(variables(container.env), pod.terminationGracePeriodSeconds);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    const grace = Number(variables(container.env)["SHUTDOWN_GRACE_MS"]);
    expect(grace).toBeGreaterThan(1000 * periodSeconds * failureThreshold);
  });

  test("the programs in kubernetes.yaml: few rights, and secrets by name only", async () => {
    const version = JSON.parse(await read("package.json")).version;
    const names = PROGRAMS;
    const templates = kubernetes.flatMap(templatesOf);
    expect(templates).toHaveLength(4);
    for (const { spec } of templates) {
      expect(spec.automountServiceAccountToken).toBe(false);
      expect(spec.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: Number(uid),
        runAsGroup: Number(gid),
        seccompProfile: { type: "RuntimeDefault" },
      });
      const [{ command, env, envFrom, volumeMounts, securityContext, resources }] = spec.containers;
      const usesFiles = ["realtime-avatar-api", "realtime-avatar-worker"].includes((command ?? CMD)[0]);
      const store = { secretRef: { name: "realtime-avatar-storage" } };
      const livekit = { secretRef: { name: "realtime-avatar-livekit", optional: true } };
      const voices = { secretRef: { name: "realtime-avatar-voices", optional: true } };
      expect(envFrom).toEqual(usesFiles ? [store, livekit, voices] : undefined);
      // Pods share no disk. Only temporary files of limited size are on a disk. Those of the API are in its DATA_DIR.
      const isApi = (command ?? CMD)[0] === "realtime-avatar-api";
      const mountPath = isApi ? imageVariables["DATA_DIR"] : "/tmp";
      expect(volumeMounts).toEqual(usesFiles ? [{ name: "temporary", mountPath }] : undefined);
      for (const { emptyDir } of spec.volumes ?? []) expect(Object.keys(emptyDir)).toEqual(["sizeLimit"]);
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

describe("avatar-worker.yaml", async () => {
  const text = await read("deploy/avatar-worker.yaml");
  const [deployment, ...policies] = Bun.YAML.parse(text) as Yaml[];
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;

  test("the program in avatar-worker.yaml: has the variables and ports that it reads, and few rights", () => {
    const values = Object.fromEntries(
      container.env.map(({ name, value }: Yaml) => [name, name === "AVATAR_WORKER_SECRET" ? "x".repeat(32) : value]),
    );
    const { port, metricsPort } = readAvatarWorkerConfig(values);
    for (const name of Object.keys(values)) expect([name, KNOWN.has(name)]).toEqual([name, true]);
    expect(container.ports.map(({ containerPort }: Yaml) => containerPort)).toEqual([port, metricsPort]);
    const { valueFrom } = container.env.find(({ name }: Yaml) => name === "AVATAR_WORKER_SECRET");
    expect(valueFrom.secretKeyRef.name).toBe("realtime-avatar-livekit");
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: Number(uid),
      runAsGroup: Number(gid),
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
  });

  test("the policies in avatar-worker.yaml: avatar workers reach the API, and only Prometheus reaches them", () => {
    const labels = deployment.spec.template.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    const [own, ofApi] = policies.map(({ spec }) => spec);
    expect(own.podSelector.matchLabels).toEqual(labels);
    expect(own.ingress.flatMap((rule: Yaml) => rule.ports.map(({ port }: Yaml) => port))).toEqual(["metrics"]);
    const api = kubernetes.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "realtime-avatar-api",
    );
    expect(ofApi.podSelector.matchLabels).toEqual(api.spec.template.metadata.labels);
    expect(ofApi.ingress[0].from).toEqual([{ podSelector: { matchLabels: labels } }]);
    expect(own.egress[0].to).toEqual([{ podSelector: ofApi.podSelector }]);
  });
});
