/** The condition of a change: the version of a resource that its caller has seen. */
import { Problem } from "./problem.ts";

/** Whether a version meets the `If-Match` of the request; without the header, every version does. */
export type MatchesVersion = (version: number) => boolean;

/** Throws the problem `precondition_failed` when `matches` rejects the version of the resource. */
export const checkVersion = ({ version }: { version: number }, matches: MatchesVersion): void => {
  if (!matches(version)) {
    throw new Problem("precondition_failed", "The version of the resource does not match If-Match.");
  }
};
