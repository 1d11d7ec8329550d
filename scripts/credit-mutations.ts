/**
 * Runs the tests of credits, calls, people, events and deliveries on functions with a fault, one fault after another, and prints which test fails first:
 * `bun run test:mutations`. Fails when a fault is not found. `--sample`: one fault of each kind. Another argument: the faults
 * whose names contain it.
 */
import {
  RESUME_MUTATIONS,
  TRANSCRIPT_MUTATIONS,
  TURN_MUTATIONS,
} from "@realtime-avatar/testing/calls/conversation-mutations";
import { GROWTH_MUTATIONS } from "@realtime-avatar/testing/calls/growth-mutations";
import { CALL_MUTATIONS } from "@realtime-avatar/testing/calls/mutations";
import { MUTATIONS } from "@realtime-avatar/testing/credits/mutations";
import { PEOPLE_MUTATIONS } from "@realtime-avatar/testing/people/mutations";
import { DELIVERY_MUTATIONS } from "@realtime-avatar/testing/webhooks/delivery-mutations";
import { EVENT_MUTATIONS } from "@realtime-avatar/testing/webhooks/mutations";

/** One fault of each kind, which the tests find quickly. */
const SAMPLE = [
  "no lock on the meters",
  "the account before the meters",
  "caps before the lock on the keys",
  "an absolute update of meters",
  "a sweep that ignores the lease",
  "a session that is changed twice in one call",
  "a release that trusts the caller's figure",
  "a call that ends keeps its slot",
  "one turn too many",
  "a write of a person that does not read the session again",
];
const only = process.argv[2] ?? "";
const names = Object.keys(MUTATIONS).filter((name) =>
  only === "--sample" ? SAMPLE.includes(name) : name.includes(only),
);
if (names.length === 0 || (only === "--sample" && names.length < SAMPLE.length)) throw new Error("no such fault");
/** The tests that must find a fault. A name without a folder is below `packages/db`. */
const filesOf = (name: string): readonly string[] => {
  if (name in TURN_MUTATIONS) return ["apps/api/src/calls/turns", "apps/api/src/calls/turns-refused"];
  if (name in GROWTH_MUTATIONS) return ["calls/growth"];
  if (name in RESUME_MUTATIONS) return ["calls/resume"];
  if (name in TRANSCRIPT_MUTATIONS) return ["calls/transcripts"];
  if (name in PEOPLE_MUTATIONS) return ["people/rechecks"];
  if (name in DELIVERY_MUTATIONS)
    return ["webhooks/sending", "webhooks/sending-waits", "webhooks/failing-endpoints", "webhooks/histories"];
  if (name in EVENT_MUTATIONS) {
    return ["webhooks/events", "webhooks/session-events", "webhooks/threshold-events", "webhooks/event-histories"];
  }
  if (name in CALL_MUTATIONS) {
    const files = [
      "charged-seconds",
      "agents",
      "calls",
      "conversations",
      "conversation-usage",
      "fleet",
      "queue",
      "rooms",
      "growth",
    ];
    return files.map((file) => `calls/${file}`);
  }
  return [
    "credits/session-limits",
    "credits/session-changes",
    "credits/leases",
    "credits/waits",
    "credits/histories",
    "credits/races",
  ];
};
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const missed: string[] = [];
for (const name of names) {
  const startedAt = performance.now();
  let found: string | undefined;
  const files = filesOf(name);
  for (const file of files) {
    const child = Bun.spawn(
      [process.execPath, "test", "--bail", `./${file.startsWith("apps/") ? "" : "packages/db/src/"}${file}.test.ts`],
      {
        cwd: new URL("..", import.meta.url).pathname,
        env: { ...process.env, MUTATION: name, OPERATIONS: "6000" },
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const text = await new Response(child.stderr).text();
    if ((await child.exited) === 0) continue;
    const test = /^\(fail\) (.*?)( \[[\d.]+m?s\])?$/m.exec(text)?.[1] ?? "";
    // A fault that does not compile proves nothing.
    const isUnfit = [`${name} changes nothing`, "the functions do not contain", "syntax error"].some((part) =>
      text.includes(part),
    );
    if (!test || isUnfit) throw new Error(`${name}: ${text}`);
    found = `${file}: ${test}`;
    break;
  }
  if (found === undefined) missed.push(name);
  print(`| ${name} | ${found ?? "NOT FOUND"} | ${((performance.now() - startedAt) / 1000).toFixed(0)} s |`);
}
if (missed.length > 0) throw new Error(`not found: ${missed.join(", ")}`);
