/** An action of a person: it runs once at a time, asks for the passkey when needed, and refreshes what it changed. */
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
  // Not `isBusy`, which a second click before the next rendering would still find false.
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
      // What the person has left does not open or close anything elsewhere.
      if (!isGone.current) onDone(result);
    } catch (failure) {
      if (!(failure instanceof Cancelled)) setError(failure);
      // The role has changed meanwhile: the page hides what it no longer allows.
      if (isProblem(failure, "insufficient_role")) void queries.invalidateQueries({ queryKey: ["session"] });
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { run, isBusy, error };
};
