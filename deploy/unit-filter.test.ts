/** The systemd unit allows the system calls by which the worker confines its decoders. */
import { expect, test } from "bun:test";
import { LANDLOCK } from "../apps/worker/src/sandbox/landlock.ts";
import { read } from "./support.ts";

// `@system-service` of systemd 252 has neither `seccomp` nor the calls of Landlock, and the unit refuses `@resources`,
// which has `prlimit64`. Without them the worker would not start, because a child opens files only with its filter, and
// with Landlock if the kernel has it.
test.each(["seccomp", ...Object.keys(LANDLOCK), "prlimit64"])(
  "the unit's filter of system calls: allows %s to the worker",
  async (name) => {
    const unit = await read("deploy/realtime-avatar-api.service");
    const lines = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, names = ""]) => names.split(" "));
    const allowed = lines.filter(([first = ""]) => !first.startsWith("~")).flat();
    expect(allowed).toContain(name);
    // A later line that refuses a set removes the calls of the set.
    const refusing = lines.findLastIndex(([first = ""]) => first.startsWith("~"));
    expect(lines.findLastIndex((names) => names.includes(name))).toBeGreaterThan(refusing);
  },
);
