/** The systemd unit of the API. */
import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { checkVariables, PROGRAMS, seconds, unit } from "./support.ts";

const folder = await fileFolder();
const settings = [...(unit ?? "").matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value = ""]) => [name, value]);
const settingOf = (name: string): string => settings.find(([known]) => known === name)?.[1] ?? "";

test("the unit of the API: starts a program of the image, with its variables and enough time to stop", () => {
  const environment = settings
    .filter(([name]) => name === "Environment")
    .map(([, value = ""]) => value.split("=") as [string, string]);
  checkVariables(Object.fromEntries(environment), seconds(settingOf("TimeoutStopSec")));
  expect(PROGRAMS).toContain(basename(settingOf("ExecStart")));
  // A core dump would hold the URL of the database, and keys.
  expect(settingOf("LimitCORE")).toBe("0");
  // `MemoryDenyWriteExecute` would disable the just-in-time compiler, and the process would be many times slower.
  expect(settingOf("MemoryDenyWriteExecute")).toBe("");
});

test.skipIf(Bun.which("systemd-analyze") === null)(
  "the unit of the API, checked by systemd: valid and safe",
  async () => {
    const file = join(folder, "realtime-avatar-api.service");
    await writeFile(file, (unit ?? "").replace(settingOf("ExecStart"), process.execPath));
    const verified = await runToEnd(["systemd-analyze", "verify", "--man=no", file]);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    const safe = await runToEnd(["systemd-analyze", "security", "--offline=true", "--threshold=15", file]);
    expect([safe.code, safe.stdout]).toEqual([0, expect.stringContaining("Overall exposure level")]);
  },
);
