/** An action of a person. One run is in progress at a time. It asks for the passkey when needed, and refreshes the changed data. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { isProblem } from "../api/client.ts";
import { Cancelled, useVerified } from "./verified.tsx";

export type Action<Arguments extends unknown[]> = {
  run: (...values: Arguments) => Promise<void>;
  isBusy: boolean;
  error: unknown;
};

/** `refreshes`: the first parts of the keys of the queries whose data the action changes. */
export const useAction = <Arguments extends unknown[], Result>(
  action: (...values: Arguments) => Promise<Result>,
  refreshes: readonly string[],
  onDone: (result: Result) => void = () => {},
): Action<Arguments> => {
  const runVerified = useVerified();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // A reference, because `isBusy` would still be false for a second click before the next rendering.
  const isRunning = useRef(false);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  const run = async (...values: Arguments): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setError(null);
    try {
      const result = await runVerified(() => action(...values));
      for (const key of refreshes) void queries.invalidateQueries({ queryKey: [key] });
      // After the person has left, the result must not open or close anything elsewhere.
      if (!isGone.current) onDone(result);
    } catch (failure) {
      if (!(failure instanceof Cancelled)) setError(failure);
      // The role has changed meanwhile. The page hides actions that it no longer allows.
      if (isProblem(failure, "insufficient_role")) void queries.invalidateQueries({ queryKey: ["session"] });
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { run, isBusy, error };
};
