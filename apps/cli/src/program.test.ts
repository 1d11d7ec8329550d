/** All commands, compared with docs/cli.md. In a folder without a database they leave no file. */
import { describe, expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import type { Command } from "commander";
import { run, UNKNOWN, UNKNOWN_AVATAR, UNKNOWN_SESSION, UNKNOWN_TENANT } from "../test/cli.ts";
import { createProgram } from "./program.ts";

/** Each executable command, by its words. */
const commandsOf = (command: Command, words: string[] = []): [name: string, command: Command][] =>
  command.commands.length > 0
    ? command.commands.flatMap((one) => commandsOf(one, [...words, one.name()]))
    : [[words.join(" "), command]];
const COMMANDS = commandsOf(createProgram());

test("docs/cli.md: lists each command with its options", async () => {
  const document = await readFile(join(REPOSITORY, "docs/cli.md"), "utf8");
  for (const [name, { options }] of COMMANDS) {
    // `shards` without a subcommand runs `list`.
    expect(document).toMatch(new RegExp(`^- \`bun run ${name.replace("shards list", "shards")}[ \`]`, "m"));
    for (const { long } of options)
      if (!new RegExp(`${long}(?![a-z-])`).test(document)) throw new Error(`no ${long} of ${name}`);
  }
});

describe("a folder without a database", async () => {
  const folder = await fileFolder();
  const tenant = `--tenant ${UNKNOWN_TENANT}`;
  const move = `${tenant} --amount 1 --reference x`;
  const endpoint = UNKNOWN.replace("key", "whe");
  const LINES = [
    ...[
      "shards list",
      "shards move 0 host:1",
      "shards rebalance",
      "shards abandon 0 --confirm x",
      "shards add 1",
      "verify",
      "tenants list",
      `tenants limit ${tenant} --max-call-seconds 3600`,
      `tenants settings ${tenant} --keep-transcripts on`,
    ],
    ...[`users invite ${tenant} --email a@example.com`, `users list ${tenant}`, `users remove a@example.com ${tenant}`],
    ...[`keys create ${tenant} --name x`, `keys list ${tenant}`, `keys show ${UNKNOWN} ${tenant}`],
    ...[`keys revoke ${UNKNOWN} ${tenant}`, `keys rotate ${UNKNOWN} ${tenant}`, `avatars list ${tenant}`],
    ...[`avatars show ${UNKNOWN_AVATAR} ${tenant}`, `avatars prepare ${UNKNOWN_AVATAR} ${tenant}`],
    ...[`credits grant ${move}`, `credits void ${move}`, `credits adjust ${move} --session ${UNKNOWN_SESSION}`],
    ...[`credits limit ${tenant} --max-concurrent-sessions 1`, `credits threshold ${tenant} --amount 1`],
    ...[`credits balance ${tenant}`, `credits entries ${tenant}`, `credits sessions ${tenant}`, "credits verify"],
    ...[`credits session ${UNKNOWN_SESSION} ${tenant}`, "sessions list --open", `sessions end ${UNKNOWN_SESSION}`],
    ...["workers list", "webhooks list", `webhooks disable ${endpoint}`, `audit tail ${tenant}`],
    ...[`webhooks recover ${endpoint} --since ${new Date().toISOString()}`, "health --url http://127.0.0.1:1"],
  ];
  /** Two commands create the database; `listen` uses only the API. */
  const OTHERS = ["migrate", "tenants create", "webhooks listen"];

  test("the lines of these tests: cover every command", () => {
    const names = LINES.map((line) => COMMANDS.find(([name]) => `${line} `.startsWith(`${name} `))?.[0] ?? line);
    expect([...names, ...OTHERS].sort()).toEqual(COMMANDS.map(([name]) => name).sort());
  });

  test.each(LINES)("%s, without a database: exit 1, and no database is created", async (line) => {
    const { code, stderr } = await run({ DATA_DIR: folder }, ...line.split(" "));
    expect(code).toBe(1);
    if (!line.startsWith("health"))
      expect(stderr).toBe(
        `There is no database in ${folder}. Set DATABASE_URL to that of the service, or DATA_DIR to its folder. The first start of the service creates one.\n`,
      );
    expect(await readdir(folder)).toEqual([]);
  });
});
