/** The length and the cost of the call: the service's current counts while it is open, and the bill after it. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Prose } from "../components/prose.tsx";
import { creditAmount, duration } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { callOutcome } from "../usage/outcome.ts";
import { newMeter } from "./meter.ts";
import type { CallView } from "./use-call.ts";

const TICK_MS = 250;
const POLL_MS = 1000;

/** Reads the session of the call until it has ended and has a charge. */
const useSession = (id: string) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["call", environment, id],
    queryFn: async () => (await client.GET("/api/v1/usage/sessions/{id}", { params: { path: { id } } })).data,
    refetchInterval: ({ state }) => (state.data?.endedAt ? false : POLL_MS),
    refetchIntervalInBackground: true,
  }).data;
};

/** The seconds of the open call. */
const useSeconds = (seconds: number | null, isRunning: boolean): number => {
  const meter = useRef(newMeter());
  const input = useRef({ seconds, isRunning });
  const [shown, setShown] = useState(0);
  useEffect(() => {
    input.current = { seconds, isRunning };
  }, [seconds, isRunning]);
  useEffect(() => {
    const timer = setInterval(() => setShown(meter.current(performance.now(), input.current)), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return shown;
};

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt className="text-sm text-muted">{name}</dt>
    <dd className="text-xl font-semibold tabular-nums">{value}</dd>
  </div>
);

export const Figures = ({ view }: { view: Extract<CallView, { sessionId: string }> }) => {
  const isOver = view.state === "ended";
  const session = useSession(view.sessionId);
  const price = session?.priceCreditMicrosPerSecond ?? 0;
  const counted = session?.startedAt ? session.usedCreditMicros / price : null;
  const seconds = useSeconds(counted, view.state === "open" && view.picture === "shown");
  const charged = isOver ? session?.billedCreditMicros : session && seconds * price;
  const length = isOver ? session?.activeSeconds : seconds;
  const outcome = isOver && !view.isHungUp && session?.endedAt ? callOutcome(session) : null;
  return (
    <>
      <dl className="mt-4 grid grid-cols-2 gap-4">
        <Figure name="Length" value={isOver && !session?.endedAt ? "…" : duration(length ?? 0)} />
        <Figure name={isOver ? "Charged" : "Cost"} value={charged == null ? "…" : creditAmount(charged)} />
      </dl>
      {outcome && (
        <div role="status" className="mt-4">
          <p className="font-medium">{outcome.text}</p>
          <p className="text-sm text-muted">
            <Prose text={outcome.detail} />
          </p>
        </div>
      )}
    </>
  );
};
