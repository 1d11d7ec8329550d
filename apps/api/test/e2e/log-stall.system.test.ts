/** The service while its log is not read. A real process, a real pipe and a real database. */
import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { bun, REPOSITORY } from "@realtime-avatar/testing/processes";
import { openPipe, type TestPipe } from "@realtime-avatar/testing/run/pipe";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { MAX_REQUEST_ID_LENGTH } from "../../src/http/request-context.ts";
import { requestInit } from "../support/api.ts";
import { startFlood } from "../support/flood.ts";

const database = await fileDatabase({ isServed: true });
const tenantId = await seedTenant(database.db);
const key = (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();

/** A malformed key, followed by a long header. Long log lines fill the pipe sooner. */
const NO_KEY = `no-key\r\nX-Request-Id: ${"x".repeat(MAX_REQUEST_ID_LENGTH)}`;

/** Starts a service that logs into `pipe`, and reads its addresses from the log. */
const startService = async (pipe: TestPipe) => {
  const { PATH = "", HOME = "" } = process.env;
  const child = Bun.spawn(bun("apps/api/src/main.ts"), {
    cwd: REPOSITORY,
    env: { PATH, HOME, PORT: "0", METRICS_PORT: "0", ...database.variables },
    stdin: "ignore",
    stdout: pipe.writer,
    stderr: "inherit",
  });
  pipe.closeWriter();
  let text = "";
  const addresses = await until(
    () => {
      text += pipe.read() ?? "";
      return /"url":"(http:[^"]+)".*"metrics":"(http:[^"]+)"/.exec(text);
    },
    { state: () => text },
  );
  const [, url = "", metrics = ""] = addresses;
  return { child, url, metrics };
};

test("a log that is not read: no request waits, and dropped lines are counted and logged", async () => {
  const pipe = await openPipe();
  const { child, url, metrics } = await startService(pipe);
  try {
    const dropped = async (): Promise<number> => {
      const text = await (await fetch(metrics)).text();
      return Number(/^realtime_avatar_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    };
    const ask = async (): Promise<number> =>
      (await fetch(`${url}/api/v1/api-keys/self`, requestInit("GET", { key }))).status;

    expect(await dropped()).toBe(0);
    const flood = await startFlood(url, 20, () => NO_KEY);
    while ((await dropped()) === 0) await flood.untilAnswered(1000);
    flood.stop();
    expect([...flood.statuses.keys()]).toEqual([401]);
    expect(await ask()).toBe(200);

    // The reader is back. It gets the kept lines, and then the number of dropped lines.
    let text = "";
    let told: string | undefined;
    while (told === undefined) {
      const part = pipe.read();
      if (part === "") await Bun.sleep(1);
      text += part ?? "";
      [told] = /^\{"level":40.*$/m.exec(text) ?? [];
    }
    expect(JSON.parse(told)).toMatchObject({ dropped: await dropped() });
    expect(await ask()).toBe(200);

    // The reader stalls again. The service still ends.
    const second = await startFlood(url, 20, () => NO_KEY);
    await second.untilAnswered(1000);
    second.stop();
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    await pipe.remove();
  }
});
