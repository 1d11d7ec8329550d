/** The error texts of invalid options. */
import { expect, test } from "bun:test";
import type { Command } from "commander";
import { cliTests, UNKNOWN, UNKNOWN_AVATAR, UNKNOWN_SESSION } from "../test/cli.ts";
import { createProgram } from "./program.ts";

const { cli, tenantId } = await cliTests();

/** The executable commands, by their words. */
const commandsOf = (command: Command, words: string[] = []): [words: string[], command: Command][] =>
  command.commands.length > 0
    ? command.commands.flatMap((one) => commandsOf(one, [...words, one.name()]))
    : [[words, command]];

/** Valid values of required options. */
const VALUES: Record<string, string> = {
  ...{ "--tenant": tenantId, "--amount": "1", "--reference": "r", "--name": "n", "--email": "a@example.com" },
  ...{ "--session": UNKNOWN_SESSION, "--since": "2026-11-20T12:00:00Z", "--max-concurrent-sessions": "1" },
  ...{ "--keep-transcripts": "on", "--max-call-seconds": "3600" },
  "--forward-to": "http://localhost:4000",
};
/** Valid arguments, by the first word of a command. */
const IDS: Record<string, string> = {
  ...{ keys: UNKNOWN, avatars: UNKNOWN_AVATAR, credits: UNKNOWN_SESSION, sessions: UNKNOWN_SESSION },
  ...{ users: "a@example.com", webhooks: UNKNOWN.replace("key", "whe") },
};
/** Options whose values are system names, and options of commands that wait for events or are only for shards. */
const UNCHECKED = [
  "verify --metrics-file",
  "abandon --confirm",
  "migrate --grant",
  "migrate --shards",
  "listen --url",
  "listen --events",
];
/** Longer than any valid value. */
const INVALID = "x".repeat(3000);

test("each option with an invalid value: named by the error, exit 2", async () => {
  for (const [words, { options, registeredArguments }] of commandsOf(createProgram())) {
    const given = words[0] === "shards" ? [] : registeredArguments.map(() => IDS[words[0] ?? ""] ?? "");
    for (const { long, flags, mandatory } of options) {
      const name = `${words.at(-1)} ${long}`;
      if (!/[<[]/.test(flags) || UNCHECKED.includes(name)) continue;
      const others = options.filter((other) => other.long !== long && (other.mandatory || other.long === "--tenant"));
      const valid = others.flatMap((other) => [other.long ?? "", VALUES[other.long ?? ""] ?? ""]);
      const { code, stderr } = await cli(...words, ...given, ...valid, long ?? "", INVALID);
      expect([name, mandatory, code, stderr]).toEqual([
        name,
        mandatory,
        2,
        expect.stringMatching(new RegExp(`^${long}: `)),
      ]);
    }
  }
});
