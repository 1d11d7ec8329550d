import { expect, test } from "bun:test";
import { readConfig } from "../../config.ts";

const read = (variables: Record<string, string>) => readConfig(variables).agents;

test("the configuration of agents, without variables: LiveKit Cloud, and no agent", () => {
  expect(read({})).toEqual({ livekitHosts: ["*.livekit.cloud"], name: null });
  expect(read({ BYO_LIVEKIT_HOSTS: "", CALL_AGENT_NAME: "" })).toEqual(read({}));
});

test("the configuration of agents, with hosts and a name: both are read", () => {
  const variables = { BYO_LIVEKIT_HOSTS: "livekit.example.com:7443, *.livekit.cloud", CALL_AGENT_NAME: "my-agent_1.0" };
  expect(read(variables)).toEqual({
    livekitHosts: ["livekit.example.com:7443", "*.livekit.cloud"],
    name: "my-agent_1.0",
  });
});

test.each([
  [{ BYO_LIVEKIT_HOSTS: "*" }, "BYO_LIVEKIT_HOSTS"],
  [{ BYO_LIVEKIT_HOSTS: "wss://livekit.example.com" }, "BYO_LIVEKIT_HOSTS"],
  [{ BYO_LIVEKIT_HOSTS: "localhost:7880", DATABASE_URL: "postgres://x" }, "BYO_LIVEKIT_HOSTS"],
  [{ CALL_AGENT_NAME: "my agent" }, "CALL_AGENT_NAME"],
])("the configuration of agents, %j: an error with the name of the variable", (variables, name) => {
  expect(() => read(variables)).toThrow(name);
});

test("a host of this machine, on the embedded database: allowed", () => {
  expect(read({ BYO_LIVEKIT_HOSTS: "localhost:7880" }).livekitHosts).toEqual(["localhost:7880"]);
});
