/** The systemd unit of the avatar worker. */
import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { readConfig } from "../apps/avatar-worker/src/config.ts";
import { AVATAR_WORKER, read } from "./support.ts";

const NAME = "realtime-avatar-avatar-worker.service";
const unit = await read(`deploy/${NAME}`);
const settingOf = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";

test("the unit of the avatar worker: its program, the variables of its example, and no core dump", () => {
  expect(basename(settingOf("ExecStart"))).toBe(AVATAR_WORKER);
  const example = Object.fromEntries(
    [...unit.matchAll(/^#\s+([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  const { serviceUrl, port } = readConfig({ ...example, AVATAR_WORKER_SECRET: "s".repeat(32) });
  expect([serviceUrl, port]).toEqual([example["SERVICE_URL"], 3002]);
  expect(Object.keys(example)).toContain("AVATAR_WORKER_SECRET");
  expect(settingOf("LimitCORE")).toBe("0");
  // `MemoryDenyWriteExecute` would disable the just-in-time compiler, and the process would be many times slower.
  expect(settingOf("MemoryDenyWriteExecute")).toBe("");
  expect(settingOf("RestrictAddressFamilies").split(" ")).toContain("AF_NETLINK");
});

test.skipIf(Bun.which("systemd-analyze") === null)(
  "the unit of the avatar worker, checked by systemd: valid and safe",
  async () => {
    const folder = await temporaryFolder();
    const file = join(folder, NAME);
    await writeFile(file, unit.replace(settingOf("ExecStart"), process.execPath));
    const verified = await runToEnd(["systemd-analyze", "verify", "--man=no", file]);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    const safe = await runToEnd(["systemd-analyze", "security", "--offline=true", "--threshold=15", file]);
    expect([safe.code, safe.stdout]).toEqual([0, expect.stringContaining("Overall exposure level")]);
    await rm(folder, { recursive: true });
  },
);
