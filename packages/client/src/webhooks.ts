#!/usr/bin/env node
/** The program `realtime-avatar-webhooks`: forwards the events of a tenant to a program on this machine. */
import process from "node:process";
import { parseArgs } from "node:util";
import { createClient } from "./index.ts";
import { forwardedLine, listen, listeningMessage, type WebhookSelection } from "./listen.ts";

const HELP = `Forwards the events of a tenant to a program on this machine.

  realtime-avatar-webhooks listen --forward-to http://localhost:4000/hooks [--url <service>] [--events <types>]

  --forward-to the URL that receives the events, by POST, with the signature of the service
  --url         the service (default: http://127.0.0.1:3000)
  --events      event types or groups, separated by commas, such as avatar.*,credits.low (default: all)

The environment variable API_KEY is a key with the scope *. Ends on Ctrl+C, and removes the webhook endpoint that it has added.
`;

const options = {
  "forward-to": { type: "string" },
  url: { type: "string", default: "http://127.0.0.1:3000" },
  events: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** The exit code: 2 for wrong usage, 1 for a failure. */
const main = async (args: string[]): Promise<number> => {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const forwardTo = values["forward-to"];
  const isUsable = positionals.join() === "listen" && forwardTo !== undefined && URL.canParse(forwardTo);
  if (values.help || !isUsable) {
    process.stderr.write(HELP);
    return values.help ? 0 : 2;
  }
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  await listen({
    client: createClient({ baseUrl: values.url, apiKey: process.env["API_KEY"] ?? "" }),
    forwardTo,
    ...(values.events !== undefined && { events: values.events.split(",") as WebhookSelection }),
    signal: controller.signal,
    onReady: (secret) => process.stderr.write(listeningMessage(forwardTo, secret)),
    onForwarded: (event) => process.stdout.write(forwardedLine(event)),
  });
  return 0;
};

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  },
);
