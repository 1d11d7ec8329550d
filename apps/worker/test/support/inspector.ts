/** The child that inspects a file, for workers of the tests, whose own program is not the shipped one. */
import { bun } from "@realtime-avatar/testing/processes";
import { CHILD_ARGUMENT } from "../../src/sandbox/command.ts";

/** The command of the child as a bundle, without the task. */
export const inspectorCommand = (): string[] => [...bun("apps/worker/src/main.ts"), CHILD_ARGUMENT];

/** The command of the child as a bundle, as it is shipped, with its task. */
export const inspector = (task: string): string[] => [...inspectorCommand(), task];

/** The same, but the child waits for a file before it begins. It ends with its worker. */
export const waitingInspectorCommand = (gate: string): string[] => {
  const wait = 'while [ ! -e "$0" ]; do [ -e "/proc/$PPID" ] || exit 1; sleep 0.02; done; exec "$@"';
  return ["/bin/sh", "-c", wait, gate, ...inspectorCommand()];
};
