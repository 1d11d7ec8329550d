/** The look-up of names of the public internet, with a name server of the test. */
import { afterAll, expect, test } from "bun:test";
import { getServers, setServers } from "node:dns";
import { until } from "@realtime-avatar/testing/until";
import { startNameServer } from "./name-server.testing.ts";
import { PUBLIC_INTERNET } from "./request.ts";

const before = getServers();
const server = await startNameServer({ "hooks.example.com": { ipv4: ["93.184.216.34"], ipv6: [] } });
setServers([`127.0.0.1:${server.port}`]);
afterAll(() => {
  setServers(before);
  server.close();
});

test("a look-up beside others that get no response of their name server: resolved at once", async () => {
  let ended = 0;
  for (let i = 0; i < 64; i++) {
    void PUBLIC_INTERNET.resolve(`name${i}.silent.example.com`)
      .catch(() => [])
      .then(() => {
        ended += 1;
      });
  }
  await until(() => server.silent.size >= 64, { pollMs: 5 });
  expect(await PUBLIC_INTERNET.resolve("hooks.example.com")).toEqual(["93.184.216.34"]);
  expect(ended).toBe(0);
});
