import { afterAll, expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { readConversationSettings } from "../settings.ts";
import { watchProviders } from "./watch.ts";

let status = 503;
let requests = 0;
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => {
    requests++;
    return new Response(null, { status });
  },
});
afterAll(() => server.stop(true));

test("a provider that fails and recovers: each change is reported once, and none after the stop", async () => {
  const settings = readConversationSettings({ LLM_URL: `${server.url.origin}/v1`, LLM_MODEL: "m" });
  if (!settings) throw new Error("no language model is configured");
  const changes: string[] = [];
  const watch = watchProviders(settings, (provider, health) => changes.push(`${provider} ${health}`), 20);
  expect(watch.health()).toEqual({});
  await until(() => requests > 4);
  expect(watch.health()).toEqual({ llm: "busy" });
  status = 200;
  await until(() => watch.health().llm === "ok");
  const before = requests;
  await until(() => requests > before + 2);
  expect(changes).toEqual(["llm busy", "llm ok"]);
  status = 401;
  watch.stop();
  await Bun.sleep(100);
  expect(changes).toEqual(["llm busy", "llm ok"]);
});
