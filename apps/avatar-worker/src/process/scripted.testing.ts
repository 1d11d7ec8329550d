/**
 * A scripted call process for tests. The token of its call is a JSON list of steps for the first process of the call,
 * and one for its replacement.
 */

import type { ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import { writeFragment } from "@realtime-avatar/domain/recordings/fragment";
import type { FromCallProcess, ToCallProcess } from "./messages.ts";

export type Step =
  | FromCallProcess
  | { kind: "invalid" | "flood" }
  | { kind: "abort" | "exit" | "stay" | "tell history" | "tell whether told" }
  /** A fragment with a frame of this length; null: bytes that are no fragment. */
  | { kind: "record"; bytes: number | null };
export type Script = { first: Step[]; again: Step[] };

const send = (message: unknown): void => void process.send?.(message);

const fragment = (bytes: number | null): Uint8Array =>
  bytes === null
    ? new Uint8Array(8)
    : writeFragment({ sounds: [{ role: "both", started_at: 1, samples: [new Uint8Array(bytes)] }], pictures: null });

type ScriptInput = { history?: readonly { text: string }[] | undefined; isTold?: boolean };

const perform = (step: Step, { history = [], isTold = false }: ScriptInput = {}): void => {
  switch (step.kind) {
    case "abort":
      process.abort();
      break;
    case "exit":
      process.exit(0);
      break;
    case "flood":
      for (let count = 0; count < 10_000; count++) send({ kind: "failure", cause: "again" });
      break;
    case "stay":
      // From now on, the process does not end by itself.
      process.removeAllListeners("disconnect");
      setInterval(() => {}, 1e9);
      send({ kind: "report", state: "joined", used_seconds: 0 });
      break;
    case "tell history":
      send({ kind: "failure", cause: history.map(({ text }) => text).join("|") });
      break;
    case "tell whether told":
      send({ kind: "failure", cause: isTold ? "told" : "not told" });
      break;
    case "record":
      send({ kind: "fragment", bytes: fragment(step.bytes) });
      break;
    case "invalid":
      send({ kind: "report", state: "unknown", used_seconds: -1 });
      break;
    default:
      send(step);
  }
};

if (import.meta.main) {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (message: ToCallProcess) => {
    if (message.kind === "start") {
      const { first, again } = JSON.parse(message.assigned.token) as Script;
      if (message.isRestart) send({ kind: "report", state: "joined", used_seconds: message.assigned.used_seconds });
      const isTold = message.isTold || message.assigned.recording?.is_told === true;
      const given = { history: message.assigned.history?.segments, isTold };
      for (const step of message.isRestart ? again : first) perform(step, given);
    } else if (message.kind === "preload") {
      const { steps = [] } = (message.avatar.manifest ?? {}) as { steps?: Step[] };
      for (const step of steps) perform(step);
    } else if (message.kind === "turns") {
      // The text of a turn scripts its statuses, and then an action.
      for (const { turn_id, text } of message.turns) {
        for (const step of JSON.parse(text ?? "[]") as (Step | ReportedTurn["status"])[]) {
          if (typeof step !== "string") perform(step);
          else send({ kind: "turn", turn: { turn_id, status: step, heard: step === "said" ? "heard" : null } });
        }
      }
    } else if (message.kind === "end")
      send({ kind: "report", state: "ended", used_seconds: 9, reason: message.reason });
    else if (message.kind === "leave") send({ kind: "left" });
    else if (message.kind === "file") send({ kind: "failure", cause: `${message.bytes?.length ?? "no"} bytes` });
  });
  send({ kind: "ready" });
}
