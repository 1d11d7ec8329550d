/** `health`, of the API, of the worker, and of servers that are not the service. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { testDatabase } from "@realtime-avatar/testing/database";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { run, runProcess } from "../../test/cli.ts";

// Tests do not assert durations, so that a slow disk does not fail one.
setDefaultTimeout(60_000);

describe("the health command", () => {
  const health = (variables: Record<string, string>, ...args: string[]) => run(variables, "health", ...args);
  const unreachable = { status: "unavailable", reason: "unreachable" };
  /** Runs `work` with a server that responds to each request with `answer`, or never if it is null. */
  const serving = async (answer: (() => Response) | null, work: (port: string) => Promise<void>): Promise<void> => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer ?? (() => new Promise(() => {})) });
    await work(String(server.port));
    await server.stop(true);
  };

  test.each([
    [
      "the API",
      "apps/api/src/main.ts",
      "PORT",
      [],
      { livekit: { status: "not_configured" } },
      "LiveKit: not configured\n",
    ],
    ["the worker", "apps/worker/src/main.ts", "WORKER_PORT", ["--worker"], {}, ""],
  ] as const)(
    "health, of %s: not ready, ready, unreachable, as text and JSON",
    async (_, program, variable, args, more, line) => {
      const empty = await testDatabase({ migrated: false });
      const running = startProcess(bun(program), { [variable]: "0", DATABASE_URL: empty.url });
      const [, port = ""] = await running.waitFor(/"url":"http:[^"]+:(\d+)/);
      // A proxy in the environment is not used.
      const variables = { [variable]: port, HOST: "0.0.0.0", HTTP_PROXY: "http://127.0.0.1:1" };
      const pending = await runProcess(variables, "health", ...args);
      expect([pending.code, pending.stdout, pending.stderr]).toEqual([
        1,
        `not ready: migrations_pending (http://127.0.0.1:${port}/readyz)\n${line}`,
        "",
      ]);
      const unready = await health(variables, ...args, "--json");
      expect([unready.code, JSON.parse(unready.stdout)]).toEqual([
        1,
        { status: "unavailable", reason: "migrations_pending", url: `http://127.0.0.1:${port}/readyz`, ...more },
      ]);
      await run({ DATABASE_URL: empty.url }, "migrate");
      const ready = await health(variables, ...args);
      expect([ready.code, ready.stdout, ready.stderr]).toEqual([
        0,
        `ready (http://127.0.0.1:${port}/readyz)\n${line}`,
        "",
      ]);
      // The output contains no password.
      const named = await health({}, "--url", `http://user:hunter2@127.0.0.1:${port}`, "--json");
      expect([named.code, JSON.parse(named.stdout)]).toEqual([
        0,
        { status: "ok", url: `http://127.0.0.1:${port}/readyz`, livekit: { status: "not_configured" } },
      ]);
      running.kill("SIGTERM");
      await running.exited;
      // The port of the ended process may belong to another process by now, so the command gets a port without a
      // listener.
      const gone = await health({ [variable]: "1" }, ...args, "--json");
      expect([gone.code, JSON.parse(gone.stdout)]).toEqual([
        1,
        { ...unreachable, url: "http://127.0.0.1:1/readyz", ...more },
      ]);
      await empty.close();
    },
  );

  test.each([
    [{}, [], "127.0.0.1:3000"],
    [{ HOST: "::", PORT: "1" }, [], "[::1]:1"],
    [{ HOST: "0.0.0.0", PORT: "1" }, [], "127.0.0.1:1"],
    [{ HOST: "avatars.invalid", WORKER_PORT: "1", PORT: "2" }, ["--worker"], "avatars.invalid:1"],
    [{ HOST: "127.0.0.9" }, ["--worker"], "127.0.0.9:3001"],
    [{ HOST: "127.0.0.9" }, ["--avatar-worker"], "127.0.0.9:3002"],
  ] as const)("health, with the environment %j and the options %j: requests %s", async (variables, args, at) => {
    const { stdout } = await health({ ...(variables as Record<string, string>) }, ...args, "--json");
    expect(JSON.parse(stdout).url).toBe(`http://${at}/readyz`);
  });

  test.each(["ftp://127.0.0.1", "127.0.0.1:3000", "http://", "javascript:1"])(
    "health, with --url %s: exit 2",
    async (url) => expect((await health({}, "--url", url)).code).toBe(2),
  );

  test.each<[string, (() => Response) | null]>([
    ["never answers", null],
    ["is another program", () => new Response("<html>", { status: 200 })],
    ["sends two statuses at once", () => Response.json({ status: "ok" }, { status: 503 })],
    ["redirects it", () => Response.redirect("http://127.0.0.1:1/")],
  ])("health, a server that %s: not ready", async (_, answer) => {
    await serving(answer, async (PORT) => {
      const { code, stdout, stderr } = await health({ PORT });
      expect([code, stdout, stderr]).toEqual([
        1,
        `not ready: unreachable (http://127.0.0.1:${PORT}/readyz)\nLiveKit: not configured\n`,
        "",
      ]);
    });
  });

  test("health, with a LiveKit that responds, allows room creation, or does not respond: its state is printed", async () => {
    const livekit = await startLivekitStandIn();
    const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = livekit;
    const variables = { PORT: "1", LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET };
    expect((await health(variables)).stdout).toEndWith(`\nLiveKit: reachable, auto_create off (${LIVEKIT_URL})\n`);
    await livekit.stop();
    const gone = await health(variables, "--json");
    expect(JSON.parse(gone.stdout).livekit).toEqual({
      status: "unreachable",
      reason: "unreachable",
      url: LIVEKIT_URL,
    });
    expect(gone.stdout + gone.stderr).not.toContain(LIVEKIT_API_SECRET);
  });

  test("health, of an avatar worker and of the API on its embedded database: each provider of conversations, without keys", async () => {
    const key = "sk-operator-0123456789";
    const provider = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ headers }) =>
        new Response(key, { status: headers.get("authorization") === `Bearer ${key}` ? 200 : 401 }),
    });
    const LLM_URL = `${provider.url.origin}/v1`;
    const variables = {
      LLM_URL,
      LLM_MODEL: "m",
      LLM_API_KEY: key,
      STT_URL: LLM_URL,
      STT_MODEL: "m",
      STT_API_KEY: "wrong",
    };
    const own = await health({ PORT: "1", ...variables });
    expect(own.stdout).toEndWith("\nLiveKit: not configured\nlanguage model: ok\nrecognizer: refused\n");
    expect(own.stdout + own.stderr).not.toContain(key);
    // The API then has no avatar worker, and does not use these variables.
    const served = await health({ PORT: "1", DATABASE_URL: "postgres://127.0.0.1:1/none", ...variables });
    expect(served.stdout).toEndWith("\nLiveKit: not configured\n");
    await provider.stop(true);

    const providers = { llm: "busy", tts: "ok" };
    await serving(
      () => Response.json({ status: "ok", providers }),
      async (AVATAR_WORKER_PORT) => {
        const url = `http://127.0.0.1:${AVATAR_WORKER_PORT}/readyz`;
        const text = await health({ AVATAR_WORKER_PORT }, "--avatar-worker");
        expect([text.code, text.stdout]).toEqual([0, `ready (${url})\nlanguage model: busy\nvoice: ok\n`]);
        const json = await health({ AVATAR_WORKER_PORT }, "--avatar-worker", "--json");
        expect(JSON.parse(json.stdout)).toEqual({ status: "ok", url, providers });
      },
    );
  });
});
