/** The output that a shell receives for `export LIVEKIT_SERVER_BIN=$(…)`. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { fileFolder } from "../fixture.ts";
import { runToEnd, source } from "../processes.ts";

const PROGRAM = "packages/testing/src/livekit/binary.ts";
const folder = await fileFolder();
/** The environment of a machine with neither the server nor Go. */
const bare = { PATH: folder, XDG_CACHE_HOME: folder };

test("no LiveKit server: exit 1, the reason on standard error, and an empty standard output", async () => {
  expect(await runToEnd(source(PROGRAM), bare)).toEqual({
    code: 1,
    stdout: "",
    stderr: "neither livekit-server nor Go is on the PATH\n",
  });
  expect(await runToEnd(source(PROGRAM), { ...bare, LIVEKIT_SERVER_BIN: join(folder, "none") })).toEqual({
    code: 1,
    stdout: "",
    stderr: "LIVEKIT_SERVER_BIN names no file\n",
  });
});

test("a LiveKit server: only its path", async () => {
  const LIVEKIT_SERVER_BIN = process.execPath;
  expect(await runToEnd(source(PROGRAM), { ...bare, LIVEKIT_SERVER_BIN })).toEqual({
    code: 0,
    stdout: `${LIVEKIT_SERVER_BIN}\n`,
    stderr: "",
  });
});
