/** The page on which a person talks to an avatar, to see it before any code is written. */
import type { Avatar } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useRef, useState } from "react";
import { statusName } from "../avatars/data.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge } from "../components/text.tsx";
import { credits, duration } from "../format.ts";
import { Sign } from "../layout/brand.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, useParameters } from "../layout/navigation.tsx";
import { BASE, PRODUCT } from "../paths.ts";
import { outcomeOf } from "../usage/outcome.ts";
import { type CallView, useCall } from "./use-call.ts";

const TICK_MS = 250;
const POLL_MS = 500;

/** The address of a page of the dashboard, which is another document. */
const addressOf = (path: string, parameters: Record<string, string>): string =>
  `${BASE}${path}?${new URLSearchParams(parameters)}`;

/** The session of the call: read until it has ended, when it has a charge. */
const useSession = (id: string | null, isOver: boolean) => {
  const { client, environment } = useAccount();
  return useQuery({
    queryKey: ["call", environment, id],
    queryFn: async () => (await client.GET("/api/v1/usage/sessions/{id}", { params: { path: { id: id ?? "" } } })).data,
    enabled: id !== null,
    refetchInterval: ({ state }) => (isOver && !state.data?.endedAt ? POLL_MS : false),
  }).data;
};

/** The seconds since `startedAt`, whole as they are charged. */
const useSeconds = (startedAt: number | null): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (startedAt === null) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [startedAt]);
  return startedAt === null ? 0 : Math.max(0, Math.ceil((now - startedAt) / 1000));
};

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt className="text-sm text-muted">{name}</dt>
    <dd className="text-xl font-semibold tabular-nums">{value}</dd>
  </div>
);

/** How long the call takes and what it costs, while it is open and after it. */
const Figures = ({ view }: { view: CallView }) => {
  const isOver = view.state === "ended";
  const session = useSession("sessionId" in view ? view.sessionId : null, isOver);
  const seconds = useSeconds(view.state === "open" ? view.startedAt : null);
  const charged = isOver ? session?.billedCreditMicros : session && seconds * session.priceCreditMicrosPerSecond;
  const length = isOver ? (session?.activeSeconds ?? 0) : seconds;
  const outcome = isOver && !view.isHungUp && session?.endedAt ? outcomeOf(session) : null;
  return (
    <>
      <dl className="mt-4 grid grid-cols-2 gap-4">
        <Figure name="Length" value={duration(length)} />
        <Figure name={isOver ? "Charged" : "Cost"} value={charged == null ? "…" : `${credits(charged)} credits`} />
      </dl>
      {outcome && (
        <div role="status" className="mt-4">
          <p className="font-medium">{outcome.text}</p>
          <p className="text-sm text-muted">{outcome.detail}</p>
        </div>
      )}
    </>
  );
};

type StageProps = {
  avatar: Avatar;
  video: RefObject<HTMLVideoElement | null>;
  audio: RefObject<HTMLAudioElement | null>;
  isSeen: boolean;
};

const Stage = ({ avatar, video, audio, isSeen }: StageProps) => (
  <div className="relative aspect-square overflow-hidden rounded-2xl border border-line bg-raised">
    {avatar.previewUrl && <img src={avatar.previewUrl} alt="" className="absolute inset-0 size-full object-cover" />}
    {/* biome-ignore lint/a11y/useMediaCaption: it is a live picture, whose words nobody has written down */}
    <video
      ref={video}
      autoPlay
      playsInline
      aria-label={`The picture of ${avatar.displayName}`}
      className={`absolute inset-0 size-full object-cover ${isSeen ? "" : "invisible"}`}
    />
    {/* biome-ignore lint/a11y/useMediaCaption: it is a live voice */}
    <audio ref={audio} autoPlay />
  </div>
);

const STATES: Record<CallView["state"], string> = {
  idle: "",
  starting: "",
  open: "The avatar says what you say, a moment later.",
  ended: "The call is over.",
  failed: "There is no call.",
};

const statusOf = (view: CallView): string => {
  if (view.state === "starting") return view.text;
  if (view.state === "open" && !view.isSeen) return "Waiting for the avatar.";
  if (view.state === "ended" && view.isHungUp) return "You hung up.";
  return STATES[view.state];
};

const Talk = ({ avatar }: { avatar: Avatar }) => {
  const { environment } = useAccount();
  const media = { video: useRef<HTMLVideoElement>(null), audio: useRef<HTMLAudioElement>(null) };
  const { view, microphone, start, hangUp, turnMicrophone } = useCall(avatar.id, media);
  const { state } = view;
  const isBusy = state === "starting" || state === "open";
  const inEnvironment = environment === "test" ? { environment } : {};
  return (
    <div className="grid gap-6 md:grid-cols-2">
      <Stage avatar={avatar} {...media} isSeen={state === "open" && view.isSeen} />
      <div>
        {state === "failed" && <Failure error={view.error} />}
        {state === "idle" && (
          <p className="text-muted">
            You talk, and {avatar.displayName} says it again a moment later. The call spends{" "}
            {environment === "test" ? "test" : "live"} credits: at most ten minutes of them, by a key that is made for
            this page and revoked with the call.
          </p>
        )}
        <p role="status" className="min-h-6 text-muted">
          {statusOf(view)}
        </p>
        {state !== "idle" && state !== "failed" && <Figures view={view} />}
        {state === "open" && microphone.fault && (
          <p className="mt-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">{microphone.fault}</p>
        )}
        <div className="mt-5 flex flex-wrap gap-2">
          {isBusy ? (
            <Button kind="danger" onClick={hangUp}>
              Hang up
            </Button>
          ) : (
            <Button kind="primary" onClick={start}>
              {state === "idle" ? "Start the call" : "Call again"}
            </Button>
          )}
          {state === "open" && (
            <Button onClick={() => turnMicrophone(!microphone.isOn)}>
              {microphone.isOn ? "Mute the microphone" : "Turn the microphone on"}
            </Button>
          )}
          {state === "ended" && (
            <a
              href={addressOf("/usage", { ...inEnvironment, tab: "calls", session: view.sessionId })}
              className={buttonClass("plain")}
            >
              See the call
            </a>
          )}
        </div>
      </div>
    </div>
  );
};

/** What is in the way of a call with this avatar; null for nothing. */
const useObstacle = (avatar: Avatar): string | null => {
  const canCreateKeys = useHasRole("developer");
  if (avatar.status !== "ready")
    return `The avatar is ${statusName(avatar.status)}. It can be called when it is ready.`;
  return canCreateKeys ? null : "Your role is viewer, which creates no keys. A developer or an owner can try a call.";
};

const Ready = ({ avatar }: { avatar: Avatar }) => {
  const obstacle = useObstacle(avatar);
  return obstacle === null ? <Talk avatar={avatar} /> : <p className="text-muted">{obstacle}</p>;
};

export const CallPage = () => {
  const { client, environment } = useAccount();
  const { avatar: id } = useParameters();
  const query = useQuery({
    queryKey: ["avatar", environment, id],
    queryFn: async () => (await client.GET("/api/v1/avatars/{id}", { params: { path: { id: id ?? "" } } })).data,
    enabled: id !== undefined,
    refetchOnWindowFocus: false,
  });
  const name = query.data?.displayName;
  useEffect(() => {
    document.title = `${name ? `Call ${name}` : "Try a call"} · ${PRODUCT}`;
  }, [name]);
  const back = addressOf("/avatars", { ...(environment === "test" && { environment }), ...(id && { avatar: id }) });
  return (
    <main className="mx-auto max-w-4xl px-4 py-6">
      <p className="mb-4 flex items-center gap-2.5">
        <Sign />
        <a href={back} className={LINK}>
          Back to the avatars
        </a>
      </p>
      <h1 className="mb-5 flex flex-wrap items-center gap-3 text-2xl font-semibold tracking-tight break-words">
        {name ? <>Try a call with {name}</> : "Try a call"}
        <Badge tone={environment === "live" ? "good" : "warn"}>{environment}</Badge>
      </h1>
      {id === undefined ? (
        <p className="text-muted">Choose an avatar first: its page leads here.</p>
      ) : (
        <Loaded query={query} skeleton={<Skeleton label="the avatar" rows={1} height="h-64" />}>
          {(avatar) => <Ready avatar={avatar} />}
        </Loaded>
      )}
    </main>
  );
};
