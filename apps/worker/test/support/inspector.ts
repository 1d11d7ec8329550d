/** The child that inspects a file, for workers of the tests: their own program is not the one that ships. */
import { bun } from "@realtime-avatar/testing/processes";
import { CHILD_ARGUMENT } from "../../src/sandbox/command.ts";

/** The command of the child as a bundle, without the task. */
export const inspectorOf = (): string[] => [...bun("apps/worker/src/main.ts"), CHILD_ARGUMENT];
