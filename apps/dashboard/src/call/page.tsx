/** The page on which a person talks to an avatar, to try it before writing code. */
import type { Avatar } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import type { LocalAudioTrack } from "livekit-client";
import { useEffect, useRef, useState } from "react";
import { isProblem } from "../api/client.ts";
import { statusName } from "../avatars/data.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Failure, Loaded, Skeleton } from "../components/state.tsx";
import { Badge } from "../components/text.tsx";
import { creditAmount } from "../format.ts";
import { Sign } from "../layout/brand.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, useParameters } from "../layout/navigation.tsx";
import { hasCalls } from "../page-settings.ts";
import { BASE, PRODUCT } from "../paths.ts";
import { useBalance } from "../usage/data.ts";
import { Captions, WriteField } from "./captions.tsx";
import { Figures } from "./figures.tsx";
import { watchLevel } from "./microphone.ts";
import { Stage } from "./stage.tsx";
import { TimeLeftLine } from "./time-left.tsx";
import { NoCalls } from "./try-call.tsx";
import { type ConversationView, useCall } from "./use-call.ts";

/** The address of a page of the dashboard, which is a separate document. */
const addressOf = (path: string, parameters: Record<string, string>): string =>
  `${BASE}${path}?${new URLSearchParams(parameters)}`;

type Call = ReturnType<typeof useCall>;

/** The loudness of the microphone, so that the person sees that it works. */
const Level = ({ track }: { track: LocalAudioTrack }) => {
  const [level, setLevel] = useState(0);
  useEffect(() => watchLevel(track, setLevel), [track]);
  return (
    <div className="mt-4">
      <p className="mb-1 text-sm text-muted">Your microphone</p>
      <svg role="img" aria-label="The level of your microphone" className="block h-3 w-full rounded-full bg-raised">
        <rect
          data-level
          width={`${Math.min(100, Math.round(level * 150))}%`}
          height="100%"
          rx="6"
          className="fill-good"
        />
      </svg>
    </div>
  );
};

const TEXTS: Record<"asking" | "awaited" | "lost" | "failed", string> = {
  asking: "The browser asks whether this page may use the microphone.",
  awaited: "Waiting for the avatar.",
  lost: "The avatar is lost. Reconnecting.",
  failed: "No call.",
};

const STATES = { listening: "listens", thinking: "thinks", speaking: "speaks" } as const;

const TALKS: Record<ConversationView["kind"], (name: string) => string> = {
  echo: (name) => `${name} says what you say, a moment later. With a language model, it would answer.`,
  typed: (name) => `${name} answers what you write. It cannot hear you: the service has no recognizer of speech.`,
  spoken: (name) => `${name} answers what you say or write.`,
};

const statusOf = (name: string, { view, microphone: { track }, conversation }: Call): string => {
  switch (view.state) {
    case "idle":
      return "";
    case "ready":
      return track ? "Say something: the bar moves when the microphone hears you. Nothing is charged yet." : "";
    case "starting":
      return view.text;
    case "open":
      return view.picture === "shown" ? TALKS[conversation.kind](name) : TEXTS[view.picture];
    case "ended":
      return view.isHungUp ? "You hung up." : "The call is over.";
    case "asking":
    case "failed":
      return TEXTS[view.state];
  }
};

/** The available credits, if they are too few for a call. */
const Available = () => {
  const { data } = useBalance();
  return data ? <p className="mb-4">Available now: {creditAmount(data.availableCreditMicros)}.</p> : null;
};

/** The buttons before a call: the microphone comes first. */
const StartButtons = ({ view: { state }, microphone, prepare, start }: Call) => {
  if (state === "idle" || state === "asking") {
    return (
      <Button kind="primary" isBusy={state === "asking"} onClick={prepare}>
        Try the microphone
      </Button>
    );
  }
  if (state === "ready" && microphone.track === null) {
    return (
      <>
        <Button kind="primary" onClick={prepare}>
          Try the microphone again
        </Button>
        <Button onClick={() => start({ isSilent: true })}>Start without a microphone</Button>
      </>
    );
  }
  return (
    <Button kind="primary" onClick={() => start()}>
      {state === "ended" ? "Call again" : state === "failed" ? "Try again" : "Start the call"}
    </Button>
  );
};

const Buttons = ({ call }: { call: Call }) => {
  const { view, microphone, hangUp, turnMicrophone } = call;
  const { environment } = useAccount();
  const inEnvironment = environment === "test" ? { environment } : {};
  const isBusy = view.state === "starting" || view.state === "open";
  return (
    <div className="mt-5 flex flex-wrap gap-2">
      {isBusy ? (
        <Button kind="danger" onClick={hangUp}>
          {view.state === "open" ? "Hang up" : "Cancel"}
        </Button>
      ) : (
        <StartButtons {...call} />
      )}
      {view.state === "open" && (
        <Button onClick={() => turnMicrophone(!microphone.isOn)}>
          {microphone.isOn ? "Mute the microphone" : "Turn the microphone on"}
        </Button>
      )}
      {view.state === "ended" && (
        <a
          href={addressOf("/usage", { ...inEnvironment, tab: "calls", session: view.sessionId })}
          className={buttonClass("plain")}
        >
          See the call
        </a>
      )}
    </div>
  );
};

const Introduction = ({ avatar }: { avatar: Avatar }) => {
  const { environment } = useAccount();
  return (
    <p className="text-muted">
      You talk, and {avatar.displayName} answers, or says it again where the service has no language model. The call
      spends {environment === "test" ? "test" : "live"} credits: at most ten minutes of them, by a key that is made for
      this page and revoked with the call. It starts when you say so, after the microphone.
    </p>
  );
};

const Talk = ({ avatar }: { avatar: Avatar }) => {
  const media = { video: useRef<HTMLVideoElement>(null), audio: useRef<HTMLAudioElement>(null) };
  const call = useCall(avatar.id, media);
  const { view, microphone, conversation, timeLeft, write } = call;
  const { state } = view;
  const { displayName: name } = avatar;
  const isHeard = microphone.isOn && ["ready", "starting", "open"].includes(state);
  return (
    <div className="grid gap-6 md:grid-cols-2">
      <Stage avatar={avatar} {...media} picture={view.state === "open" ? view.picture : "awaited"} />
      <div>
        {view.state === "failed" && <Failure error={view.error} />}
        {view.state === "failed" && isProblem(view.error, "insufficient_credits") && <Available />}
        {(state === "idle" || state === "asking") && <Introduction avatar={avatar} />}
        <p role="status" className="mt-2 min-h-6 text-muted">
          {statusOf(name, call)}
        </p>
        {"sessionId" in view && <Figures key={view.sessionId} view={view} />}
        {state === "open" && timeLeft && <TimeLeftLine left={timeLeft} />}
        {(state === "ready" || state === "open") && microphone.fault && (
          <p className="mt-4 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">{microphone.fault}</p>
        )}
        {isHeard && microphone.track && <Level track={microphone.track} />}
        {state === "open" && (
          // Not announced by screen readers, because the avatar is heard.
          <p className="mt-4 font-medium">
            {name} {STATES[conversation.state]}.
          </p>
        )}
        {(state === "open" || state === "ended") && <Captions captions={conversation.captions} name={name} />}
        {state === "open" && conversation.kind !== "echo" && <WriteField name={name} send={write} />}
        <Buttons call={call} />
      </div>
    </div>
  );
};

/** The obstacle to a call with this avatar; null without one. */
const useObstacle = (avatar: Avatar): string | null => {
  const canCreateKeys = useHasRole("developer");
  if (avatar.status !== "ready")
    return `The avatar is ${statusName(avatar.status)}. It can be called when it is ready.`;
  return canCreateKeys
    ? null
    : "Your role is viewer, which cannot create keys. A developer or an owner can try a call.";
};

const Ready = ({ avatar }: { avatar: Avatar }) => {
  const obstacle = useObstacle(avatar);
  if (!hasCalls()) return <NoCalls />;
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
        <p className="text-muted">Choose an avatar first. Its page has a link to this page.</p>
      ) : (
        <Loaded query={query} skeleton={<Skeleton label="the avatar" rows={1} height="h-64" />}>
          {(avatar) => <Ready avatar={avatar} />}
        </Loaded>
      )}
    </main>
  );
};
