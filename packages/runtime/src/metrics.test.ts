import { afterAll, describe, expect, test } from "bun:test";
import { createMetrics } from "./metrics.ts";

describe("the metrics", () => {
  const metrics = createMetrics("1.2.3");
  afterAll(() => metrics.stop());
  const get = (path = "/metrics", method = "GET") => metrics.fetch(new Request(`http://localhost${path}`, { method }));
  const text = async (): Promise<string> => (await get()).text();

  test("a request: active until its end, then counted by method, route and status", async () => {
    metrics.requestBegins();
    expect(await text()).toContain("http_server_active_requests 1");
    metrics.requestEnds({ method: "GET", route: "/a/:id", status: 404, durationMs: 3, problem: "not_found" });
    const after = await text();
    expect(after).toContain("http_server_active_requests 0");
    const labels = 'http_request_method="GET",http_route="/a/:id",http_response_status_code="404"';
    expect(after).toContain(`http_server_request_duration_seconds_bucket{le="0.005",${labels}} 1`);
    expect(after).toContain('realtime_avatar_problems_total{code="not_found"} 1');
  });

  test("a request with an unknown method and path: neither is a label", async () => {
    metrics.requestEnds({ method: "BREW", route: undefined, status: 404, durationMs: 1 });
    expect(await text()).toContain('http_request_method="_OTHER",http_route="none"');
  });

  test("the pool and the log, at each collection: read", async () => {
    const waiting = { connection: 0 };
    let dropped = 4;
    metrics.show({ stats: () => ({ connections: { open: 3 }, waiting }) as never });
    metrics.showLog({ dropped: () => dropped });
    waiting.connection = 2;
    dropped++;
    for (let round = 0; round < 2; round++) {
      const shown = await text();
      expect(shown).toContain('realtime_avatar_database_connections{state="open"} 3');
      expect(shown).toContain('realtime_avatar_database_waiting{queue="connection"} 2');
      expect(shown).toContain("realtime_avatar_log_lines_dropped_total 5");
      expect(shown).toContain('realtime_avatar_build_info{version="1.2.3"} 1');
    }
  });

  test("sessions and the sweeper, at each collection: counted and read", async () => {
    metrics.sessionHeld();
    metrics.sessionHeld();
    metrics.sessionSettled();
    for (const limit of ["self", "ancestor", "balance", "balance"] as const) metrics.sessionRefused(limit);
    const stats = { swept: 1, lagSeconds: 0 };
    metrics.showSweeper(() => stats);
    Object.assign(stats, { swept: 7, lagSeconds: 12 });
    const shown = await text();
    expect(shown).toContain("realtime_avatar_sessions_held_total 2");
    expect(shown).toContain("realtime_avatar_sessions_settled_total 1");
    expect(shown).toContain('realtime_avatar_sessions_refused_total{limit="self"} 1');
    expect(shown).toContain('realtime_avatar_sessions_refused_total{limit="ancestor"} 1');
    expect(shown).toContain('realtime_avatar_sessions_refused_total{limit="balance"} 2');
    expect(shown).toContain("realtime_avatar_sessions_swept_total 7");
    expect(shown).toContain("realtime_avatar_session_sweep_lag_seconds 12");
  });

  test("calls, LiveKit and the fleet: counted by outcome, and read", async () => {
    for (const outcome of ["started", "queued", "queued", "avatar_not_ready"]) metrics.callRequested(outcome);
    metrics.livekitResponded({ method: "create", outcome: "timed_out", durationMs: 2000 });
    metrics.showReconciler(() => ({ ended: 5, moved: 1, orphans: 2, autoCreate: true }));
    metrics.showFleet(async () => ({ slots: 4, usedSlots: 1, openCalls: 2, tickets: 3 }));
    const shown = await text();
    expect(shown).toContain('realtime_avatar_calls_total{outcome="queued"} 2');
    expect(shown).toContain('realtime_avatar_calls_total{outcome="avatar_not_ready"} 1');
    const labels = 'method="create",outcome="timed_out"';
    expect(shown).toContain(`realtime_avatar_livekit_request_duration_seconds_sum{${labels}} 2`);
    expect(shown).toContain("realtime_avatar_orphaned_rooms_total 2");
    expect(shown).toContain("realtime_avatar_livekit_auto_create 1");
    expect(shown).toContain('realtime_avatar_call_slots{state="free"} 3');
    expect(shown).toContain("realtime_avatar_open_calls 2");
    expect(shown).toContain("realtime_avatar_call_tickets 3");
  });

  test("webhooks: attempts by class, and the queue", async () => {
    for (const durationMs of [1000, 2000]) metrics.webhookAttempted({ class: "timed_out", durationMs });
    metrics.showWebhooks(async () => ({ due: 3, pending: 5, oldestDueSeconds: 61, disabledEndpoints: 2 }));
    const shown = await text();
    expect(shown).toContain('realtime_avatar_webhook_attempt_duration_seconds_count{class="timed_out"} 2');
    expect(shown).toContain('realtime_avatar_webhook_attempt_duration_seconds_sum{class="timed_out"} 3');
    expect(shown).toContain('realtime_avatar_webhook_deliveries{state="due"} 3');
    expect(shown).toContain('realtime_avatar_webhook_deliveries{state="pending"} 5');
    expect(shown).toContain("realtime_avatar_webhook_oldest_due_seconds 61");
    expect(shown).toContain("realtime_avatar_webhook_disabled_endpoints 2");
  });

  test("recordings: joins by outcome, the queue, the stored bytes", async () => {
    metrics.recordingsJoined({ outcome: "ready", durationMs: 1500 });
    metrics.showRecordings(async () => ({ oldestDueSeconds: 7, oldestUnneededSeconds: 8, storedBytes: 9e9 }));
    const shown = await text();
    expect(shown).toContain('realtime_avatar_recording_join_duration_seconds_sum{outcome="ready"} 1.5');
    expect(shown).toContain("realtime_avatar_recording_oldest_due_seconds 7");
    expect(shown).toContain("realtime_avatar_recording_oldest_unneeded_seconds 8");
    expect(shown).toContain("realtime_avatar_recording_stored_bytes 9000000000");
  });

  test("the queue, at concurrent collections: read once; when the read fails: NaN", async () => {
    const asked = { count: 0 };
    metrics.showQueue(async () => {
      asked.count++;
      return { queued: 3, running: 2, oldestSeconds: 1.5 };
    });
    const [shown] = await Promise.all([text(), text()]);
    expect(shown).toContain('realtime_avatar_jobs{state="queued"} 3');
    expect(shown).toContain('realtime_avatar_jobs{state="running"} 2');
    expect(shown).toContain("realtime_avatar_oldest_job_seconds 1.5");
    await text();
    expect(asked.count).toBe(1);

    const away = createMetrics("1.2.3");
    away.showQueue(() => Promise.reject(new Error("the database is away")));
    const unknown = await (await away.fetch(new Request("http://localhost/metrics"))).text();
    away.stop();
    expect(unknown).toMatch(/^realtime_avatar_oldest_job_seconds nan$/im);
  });

  test("ended jobs and swept files: counted", async () => {
    metrics.jobEnds({ kind: "process_asset", outcome: "ready", durationMs: 300 });
    metrics.filesSwept(3);
    const shown = await text();
    const labels = 'kind="process_asset",outcome="ready"';
    expect(shown).toContain(`realtime_avatar_job_duration_seconds_bucket{le="0.5",${labels}} 1`);
    expect(shown).toContain("realtime_avatar_files_swept_total 3");
  });

  test("the server of metrics, other paths and methods: 404, or 405", async () => {
    expect((await get()).headers.get("content-type")).toStartWith("text/plain");
    expect((await get("/metrics", "HEAD")).status).toBe(200);
    const post = await get("/metrics", "POST");
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await get("/")).status).toBe(404);
  });
});
