import { expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../../../package.json" with { type: "json" };
import { fileFolder } from "../fixture.ts";
import { optionsOfAll, testOptions } from "./parallel.ts";

const folder = await fileFolder();

test.each([
  ["bun test", []],
  ["bun test --timeout=9000 --bail", ["--timeout=9000", "--bail"]],
  ["bun test packages", null],
  ["bun test -t name", null],
  ["bun test --parallel=6", null],
  ["bun.exe test --test-worker --no-isolate --timeout=5000", null],
  ["bun run test", null],
  ["bun main.ts", null],
])("%p: the options of a run of all tests: %p", (command, options) => {
  expect(optionsOfAll(command.split(" "))).toEqual(options);
});

test("a plain `bun test`: each file runs once, in several processes; a failure sets the exit code", async () => {
  // Without preparations.
  await Bun.write(join(folder, "run/parallel.ts"), Bun.file(join(import.meta.dir, "parallel.ts")));
  await Bun.write(join(folder, "prepare.ts"), "");
  await Bun.write(join(folder, "bunfig.toml"), '[test]\npreload = ["./run/parallel.ts"]\n');
  const text = (name: string, passes: boolean) => `
    import { expect, test } from "bun:test";
    test("${name}", () => expect([Bun.env.BUN_TEST_WORKER_ID === undefined, ${passes}]).toEqual([false, true]));`;
  await Bun.write(join(folder, "a.test.ts"), text("a", true));
  await Bun.write(join(folder, "b.test.ts"), text("b", true));
  const run = async () => {
    const child = Bun.spawn([process.execPath, "test"], { cwd: folder, stdout: "pipe", stderr: "pipe" });
    const [output, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    return { code, passed: /(\d+) pass/.exec(output)?.[1], failed: /(\d+) fail/.exec(output)?.[1] };
  };
  expect(await run()).toEqual({ code: 0, passed: "2", failed: "0" });
  await Bun.write(join(folder, "b.test.ts"), text("b", false));
  expect(await run()).toEqual({ code: 1, passed: "1", failed: "1" });
});

test("the scripts `test` and `test:system`: together run each file once, with the options of `bun test`", () => {
  const command = (processes: number) =>
    `bun packages/testing/src/prepare.ts && bun test ${testOptions(processes).join(" ")}`;
  expect(manifest.scripts.test).toBe(`${command(4)} --path-ignore-patterns='**/*.system.test.ts'`);
  expect(manifest.scripts["test:system"]).toBe(`${command(3)} .system.test.ts`);
});
