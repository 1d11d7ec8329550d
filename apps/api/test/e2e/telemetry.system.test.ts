/** Telemetry of the service: metrics, traces, and their log lines. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { startCollector } from "@realtime-avatar/testing/network/collector";
import {
  bun,
  REPOSITORY,
  type RunningProcess,
  runToEnd,
  source,
  startProcess,
} from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
// biome-ignore lint/style/noRestrictedImports: the test compares the metrics of all programs with one document
import { createMetrics as createAvatarWorkerMetrics } from "../../../avatar-worker/src/metrics.ts";
import { callAt, type TestApi } from "../support/api.ts";

const database = await fileDatabase({ isServed: true });
const tenantId = await seedTenant(database.db);
const key = (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
const folder = await fileFolder();

type Service = RunningProcess & {
  metricsUrl: string;
  call: TestApi["call"];
  /** The log lines of requests so far. */
  requests(): Record<string, unknown>[];
  end(): Promise<void>;
};

/** Starts the bundle. With `flags` for Bun, starts the source, whose packages are separate files. */
const startService = async (variables: Record<string, string>, ...flags: string[]): Promise<Service> => {
  const [program = "", ...rest] = (flags.length > 0 ? source : bun)("apps/api/src/main.ts");
  const all = { PORT: "0", ...database.variables, ...variables };
  const service = startProcess([program, ...flags, ...rest], all);
  const [line = ""] = await service.waitFor(/\{.*"listening"\}/);
  const { url, metrics = "" } = JSON.parse(line);
  return {
    ...service,
    metricsUrl: metrics,
    call: callAt(url),
    requests: () =>
      service
        .stdout()
        .split("\n")
        .filter((text) => text.includes('"msg":"request"'))
        .map((text) => JSON.parse(text)),
    end: async () => {
      service.kill("SIGTERM");
      expect(await service.exited).toBe(0);
    },
  };
};

const avatar = { displayName: "x", sourceKind: "image" };
const create = (service: Service, headers: Record<string, string> = {}) =>
  service.call("POST", "/api/v1/avatars", { key, body: avatar, headers });

describe("metrics", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ METRICS_PORT: "0", SWEEP_IN_API: "true" });
  });
  afterAll(() => service.end());

  const scrape = async (): Promise<string> => {
    const response = await fetch(service.metricsUrl);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    const text = await response.text();
    // A request is counted shortly after its response.
    return sampleOf(text, "http_server_active_requests") === 0 ? text : scrape();
  };
  /** The value of the line with this beginning; 0 without such a line. */
  const sampleOf = (text: string, start: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${start} `))
        ?.slice(start.length + 1) ?? 0,
    );

  test("metrics, after requests: count and time them by method, route and status, problems by code", async () => {
    const before = await scrape();
    const { body } = await create(service);
    await service.call("GET", `/api/v1/avatars/${body.id}`, { key });
    await service.call("GET", "/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q", { key });
    await service.call("HEAD", "/api/v1/avatars", { key });
    await service.call("POST", "/api/v1/avatars", { key, body: {} });
    await service.call("POST", "/api/v1/avatars", { body: {} });
    await service.call("GET", "/nowhere");
    const after = await scrape();
    const grown = (start: string): number => sampleOf(after, start) - sampleOf(before, start);
    const requests = (method: string, route: string, status: number): number =>
      grown(
        `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"}`,
      );
    expect([
      requests("POST", "/api/v1/avatars", 201),
      requests("GET", "/api/v1/avatars/:id", 200),
      requests("GET", "/api/v1/avatars/:id", 404),
      requests("HEAD", "/api/v1/avatars", 200),
      requests("POST", "/api/v1/avatars", 422),
      requests("POST", "/api/v1/avatars", 401),
      requests("GET", "none", 404),
    ]).toEqual([1, 1, 1, 1, 1, 1, 1]);
    const problems = (code: string): number => grown(`realtime_avatar_problems_total{code="${code}"}`);
    expect([problems("not_found"), problems("validation_failed"), problems("missing_api_key")]).toEqual([2, 1, 1]);
    expect(sampleOf(after, "http_server_active_requests")).toBe(0);
  });

  test("metrics, under load: statements, batches, connections and the queue", async () => {
    const before = await scrape();
    await Promise.all(Array.from({ length: 64 }, () => create(service)));
    const isBusy = (text: string) => sampleOf(text, 'realtime_avatar_database_connections{state="busy"}') > 0;
    let after = await scrape();
    // The use of a key is recorded in the background, after the response.
    while (isBusy(after)) after = await scrape();
    const grown = (start: string): number => sampleOf(after, start) - sampleOf(before, start);
    const statements = grown(
      'realtime_avatar_database_statement_duration_seconds_count{statement="create_avatars",outcome="done"}',
    );
    expect(grown('realtime_avatar_database_batch_size_sum{kind="create_avatar"}')).toBe(64);
    expect(grown('realtime_avatar_database_batch_size_sum{kind="find_credential"}')).toBe(64);
    const batches = grown('realtime_avatar_database_batch_size_count{kind="create_avatar"}');
    expect(batches).toBeLessThan(64);
    expect(statements).toBeGreaterThanOrEqual(batches);
    const connections = (state: string): number =>
      sampleOf(after, `realtime_avatar_database_connections{state="${state}"}`);
    expect([connections("maximum"), connections("busy"), connections("hanging")]).toEqual([10, 0, 0]);
    expect(connections("open")).toBeGreaterThan(0);
    expect(after).toContain('realtime_avatar_database_waiting{queue="statements"} 0');
    expect(after).toContain('realtime_avatar_database_waiting{queue="batched"} 0');
  });

  test("metrics, of the process: memory, processor time, start and build", async () => {
    const text = await scrape();
    expect(sampleOf(text, "process_resident_memory_bytes")).toBeGreaterThan(1e7);
    expect(sampleOf(text, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(Math.abs(sampleOf(text, "process_start_time_seconds") - Date.now() / 1000)).toBeLessThan(3600);
    expect(text).toMatch(/realtime_avatar_build_info\{version="\d+\.\d+\.\d+"\} 1/);
    await until(async () => sampleOf(await scrape(), "realtime_avatar_event_loop_lag_seconds_count") !== 0);
  });

  test("metrics, with hostile ids and paths: no id, no secret, no further series", async () => {
    const probe = async (round: number): Promise<void> => {
      await service.call("GET", `/api/v1/avatars/ava_01h455vb4pex5vsknk084sn02${"abcdefgh"[round]}`, { key });
      await service.call("GET", `/${crypto.randomUUID()}`);
      await service.call(["PROPFIND", "PURGE"][round % 2] ?? "", `/api/v1/avatars/${crypto.randomUUID()}`, { key });
      await service.call("GET", "/api/v1/avatars", { headers: { authorization: `Bearer ${crypto.randomUUID()}` } });
      await service.call("GET", `/problems/${crypto.randomUUID()}`);
    };
    /** The metrics, except those of background statements, which run at any time. */
    const names = (text: string): string[] =>
      text
        .split("\n")
        .map((line) => line.slice(0, line.lastIndexOf(" ")))
        .filter((name) => !/statement="(record_|sweep_)/.test(name));
    await probe(0);
    await probe(1);
    const before = names(await scrape());
    for (let round = 2; round < 8; round++) await probe(round);
    const text = await scrape();
    expect(names(text)).toEqual(before);
    expect(text).toContain('http_request_method="_OTHER"');
    expect(text).not.toMatch(/(ten|key|ava|aud|req)_[0-9a-z]{26}|rta_|[0-9a-f]{8}-[0-9a-f]{4}/);
    expect(text).not.toContain(key.split("_")[2] ?? "");
  });

  test("metrics, compared with documents, dashboard and alerts: the same names, each in use", async () => {
    // An unreachable LiveKit has the same metrics.
    const livekit = { LIVEKIT_URL: "ws://127.0.0.1:1", LIVEKIT_API_KEY: "k", LIVEKIT_API_SECRET: "s".repeat(32) };
    const sweeping = await startService({ METRICS_PORT: "0", SWEEP_IN_API: "true", ...livekit });
    const ofAvatarWorker = createAvatarWorkerMetrics("1");
    ofAvatarWorker.show(1, () => []);
    ofAvatarWorker.showProviders(() => ({ llm: "ok" }));
    const texts = await Promise.all([
      fetch(sweeping.metricsUrl),
      ofAvatarWorker.fetch(new Request("http://localhost/metrics")),
    ]);
    await sweeping.end();
    ofAvatarWorker.stop();
    const text = (await Promise.all(texts.map((response) => response.text()))).join("\n");
    const known = [...new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name))];
    const read = (name: string): Promise<string> => readFile(join(REPOSITORY, name), "utf8");
    const [operations, dashboard, alerts] = await Promise.all(
      ["docs/operations.md", "deploy/grafana-dashboard.json", "deploy/alerts.yaml"].map(read),
    );
    /** The metrics that a text names. A histogram is named by any of its series. */
    const namedIn = (text = ""): string[] => {
      const names = [...text.matchAll(/\b(?:http_server|realtime_avatar|process)_\w+/g)].map(([name]) => name);
      return [...new Set(names.map((name) => name.replace(/_(bucket|count|sum)$/, "")))].sort();
    };
    const [, listed] = (operations ?? "").split(/^## Metrics$|^## Alerts$/m);
    expect(namedIn(listed?.match(/^- .*$/gm)?.join("\n"))).toEqual(known.sort());
    expect(namedIn(dashboard)).toEqual(known.sort());
    // `credits verify --metrics-file` writes these; they are not metrics of a process.
    const verified = ["realtime_avatar_credit_drift", "realtime_avatar_credits_verified_timestamp_seconds"];
    expect([...known, ...verified]).toEqual(expect.arrayContaining(namedIn(alerts)));
    for (const name of verified) expect(operations).toContain(name);
    const rules = (Bun.YAML.parse(alerts ?? "") as { groups: { rules: { alert: string }[] }[] }).groups.flatMap(
      ({ rules }) => rules,
    );
    const explained = [...(operations ?? "").matchAll(/^- `(RealtimeAvatar\w+)`/gm)].map(([, name = ""]) => name);
    expect(rules.map(({ alert }) => alert).sort()).toEqual(explained.sort());
    const { panels } = JSON.parse(dashboard ?? "") as { panels: { id: number; targets: { expr: string }[] }[] };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { targets } of panels) for (const { expr } of targets) expect(expr).toContain('{instance=~"$instance"');
  });

  test("metrics, requested: only at /metrics on their own port", async () => {
    expect((await service.call("GET", "/metrics")).status).toBe(404);
    expect((await fetch(service.metricsUrl.replace("/metrics", "/"))).status).toBe(404);
    expect((await fetch(service.metricsUrl, { method: "POST" })).status).toBe(405);
    const { port } = new URL(service.metricsUrl);
    const { code, stderr } = await runToEnd(bun("apps/api/src/main.ts"), {
      PORT: "0",
      ...database.variables,
      METRICS_PORT: port,
    });
    expect([code, stderr.trim()]).toEqual([
      1,
      `Cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set METRICS_PORT to another port, or HOST.`,
    ]);
  });
});

test("the modules, with telemetry off and on: loaded only when it is on", async () => {
  const guard = join(folder, "guard.ts");
  await writeFile(
    guard,
    `Bun.plugin({ name: "guard", setup: (build) => build.onLoad({ filter: /node_modules\\/(prom-client|@opentelemetry)\\// }, ({ path }) => {
      throw new Error("loaded: " + path);
    }) });`,
  );
  const off = await startService({ OTEL_SERVICE_NAME: "off" }, "--preload", guard);
  expect((await create(off)).status).toBe(201);
  await off.end();
  for (const [variable, value, loaded] of [
    ["METRICS_PORT", "0", "prom-client"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "@opentelemetry"],
  ] as const) {
    const [program = "", ...rest] = source("apps/api/src/main.ts");
    const { code, stderr } = await runToEnd([program, "--preload", guard, ...rest], {
      PORT: "0",
      ...database.variables,
      [variable]: value,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`loaded: .*${loaded}`));
  }
});

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

describe("the traces", () => {
  test("a trace, begun by the caller: continued with the parts of the request, without a secret", async () => {
    const collector = startCollector();
    const service = await startService({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=traces",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    });
    const traced = await create(service, { traceparent: `00-${TRACE}-${PARENT}-01`, "x-request-id": "traced" });
    const own = await create(service, { "x-request-id": "own" });
    const refused = await service.call("GET", "/api/v1/avatars/none", { key });
    const unsampled = await create(service, { traceparent: `00-${"1".repeat(32)}-${PARENT}-00` });
    await service.end();

    const spans = collector.spans();
    const server = spans.find(({ attributes }) => attributes["realtime_avatar.request_id"] === "traced");
    expect(server).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: "POST /api/v1/avatars" });
    expect(server?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/api/v1/avatars",
      "http.response.status_code": 201,
      "realtime_avatar.request_id": "traced",
    });
    expect(traced.headers.get("traceparent")).toBe(`00-${TRACE}-${server?.spanId}-01`);
    const children = spans.filter(({ parentSpanId }) => parentSpanId === server?.spanId);
    expect(children.map(({ name, traceId }) => `${name} ${traceId}`)).toEqual([
      `find_credential ${TRACE}`,
      `create_avatar ${TRACE}`,
    ]);

    const [, ownTrace] = /^00-([0-9a-f]{32})-[0-9a-f]{16}-01$/.exec(own.headers.get("traceparent") ?? "") ?? [];
    expect(spans.find(({ traceId }) => traceId === ownTrace)?.parentSpanId ?? "none").toMatch(/^([0-9a-f]{16})?$/);
    expect(spans.some(({ attributes }) => attributes["realtime_avatar.problem"] === "not_found")).toBe(true);
    expect(refused.body.requestId).toBe(refused.headers.get("x-request-id"));
    expect(unsampled.headers.get("traceparent")).toMatch(new RegExp(`^00-${"1".repeat(32)}-[0-9a-f]{16}-00$`));
    expect(spans.some(({ traceId }) => traceId === "1".repeat(32))).toBe(false);

    expect(
      service
        .requests()
        .map(({ traceId }) => traceId)
        .slice(0, 2),
    ).toEqual([TRACE, ownTrace]);
    expect(
      collector.seen.every(({ path, headers }) => path === "/v1/traces" && headers.get("x-tenant") === "traces"),
    ).toBe(true);
    const sent = Buffer.concat(collector.bodies).toString("latin1");
    for (const secret of [key, key.split("_")[2] ?? "", "ten_", "ava_"]) expect(sent).not.toContain(secret);
    for (const told of ["realtime-avatar-api", "deployment.environment.name"]) expect(sent).toContain(told);
    collector.close();
  });

  test("a trace whose collector is down: no delay of requests or of the end; its headers are not logged", async () => {
    const service = await startService({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-secret",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    });
    for (let sent = 0; sent < 20; sent++) expect((await create(service)).status).toBe(201);
    await service.end();
    expect(service.stdout() + service.stderr()).not.toContain("collector-secret");
    expect(service.stdout()).toContain('"msg":"stopped"');
  });
});

test("a traceparent, valid: returned and logged; invalid: ignored", async () => {
  const service = await startService({});
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  const answer = await create(service, { traceparent });
  expect(answer.headers.get("traceparent")).toBe(traceparent);
  for (const wrong of [
    "",
    "x",
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `ff-${TRACE}-${PARENT}-01`,
    key,
  ]) {
    expect((await create(service, { traceparent: wrong })).headers.get("traceparent")).toBeNull();
  }
  await service.end();
  const lines = service.requests();
  expect(lines.map(({ traceId }) => traceId)).toEqual([TRACE, ...Array(6).fill(undefined)]);
  expect(lines.every(({ requestId }) => typeof requestId === "string")).toBe(true);
  expect(lines[0]?.["requestId"]).toBe(answer.headers.get("x-request-id"));
});
