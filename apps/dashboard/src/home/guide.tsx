/** The first steps of a newcomer, until the first call. */
import type { ReactNode } from "react";
import { ProgramCall } from "../avatars/program-call.tsx";
import { NoCalls, TryCall } from "../call/try-call.tsx";
import { buttonClass } from "../components/button.tsx";
import { Progress } from "../components/progress.tsx";
import { Card } from "../components/text.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { LINK, PageLink } from "../layout/navigation.tsx";
import type { Step, Steps } from "./steps.ts";

const CIRCLES = {
  done: "border-good bg-good-soft text-good",
  next: "border-transparent bg-fill text-white",
  later: "border-line text-muted",
};

const StepRow = ({
  number,
  title,
  state,
  action,
  children,
}: {
  number: number;
  title: string;
  state: keyof typeof CIRCLES;
  action?: ReactNode;
  children: ReactNode;
}) => (
  <li
    aria-current={state === "next" ? "step" : undefined}
    className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-3 gap-y-3 border-t border-line py-4 sm:grid-cols-[1.75rem_minmax(0,1fr)_auto]"
  >
    <span
      aria-hidden="true"
      className={`grid size-7 place-items-center rounded-full border text-sm font-semibold ${CIRCLES[state]}`}
    >
      {state === "done" ? "✓" : number}
    </span>
    <div className="min-w-0">
      <h3 className={`leading-7 font-medium ${state === "later" ? "text-muted" : ""}`}>
        {title}
        {state === "done" && <span className="sr-only"> (done)</span>}
      </h3>
      <div className="text-sm break-words text-muted">{children}</div>
    </div>
    {action && <div className="col-start-2 sm:col-start-3">{action}</div>}
  </li>
);

/** The current step, in another colour. */
const stateOf = ({ state }: Step, isNext: boolean): keyof typeof CIRCLES =>
  state === "done" ? "done" : isNext ? "next" : "later";

const KeyRow = ({ step }: { step: Step }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  return (
    <StepRow
      number={1}
      title="Create an API key"
      state={stateOf(step, true)}
      action={
        canWrite &&
        step.state !== "done" && (
          <PageLink to="/keys" search={{ create: true }} className={buttonClass("primary")}>
            Create a {environment} key
          </PageLink>
        )
      }
    >
      {step.with ? (
        <>
          <PageLink to="/keys" search={{ key: step.with.id }} className={LINK}>
            <bdi>{step.with.name}</bdi>
          </PageLink>{" "}
          is active.
        </>
      ) : (
        "Your application calls the API with it. You choose what it may do."
      )}
    </StepRow>
  );
};

const AvatarText = ({ step }: { step: Step }) => {
  if (step.with === null) return "From a photo or a video of one face. It is ready in a few seconds.";
  const name = (
    <PageLink to="/avatars" search={{ avatar: step.with.id }} className={LINK}>
      <bdi>{step.with.name}</bdi>
    </PageLink>
  );
  if (step.state === "done") return <>{name} is ready.</>;
  if (step.state === "failed") return <>{name} could not be prepared. Its page says why, and what helps.</>;
  return (
    <>
      {name}
      <Progress text="is being prepared. It usually takes a few seconds." share={null} />
    </>
  );
};

const AvatarRow = ({ step, isNext }: { step: Step; isNext: boolean }) => {
  const canWrite = useHasRole("developer");
  return (
    <StepRow
      number={2}
      title="Create an avatar"
      state={stateOf(step, isNext)}
      action={
        canWrite &&
        (step.state === "open" || step.state === "failed") && (
          <PageLink to="/avatars" search={{ create: true }} className={buttonClass(isNext ? "primary" : "plain")}>
            Create an avatar
          </PageLink>
        )
      }
    >
      <AvatarText step={step} />
    </StepRow>
  );
};

/** A program needs a key that can start calls. The first key of a newcomer may be another one. */
const CallLines = ({ avatarId, callKey }: { avatarId: string; callKey: string | null }) => {
  const { environment } = useAccount();
  if (callKey === null) {
    return (
      <p>
        No active key of this environment has <code>realtime:write</code>, with which a program starts calls.{" "}
        <PageLink to="/keys" search={{ create: true }} className={LINK}>
          Create one
        </PageLink>{" "}
        for the server of your application.
      </p>
    );
  }
  const keyText = `${callKey}, or of another ${environment} key with realtime:write`;
  return <ProgramCall avatarId={avatarId} keyText={keyText} />;
};

const VideoText = ({ step }: { step: Step }) => {
  if (step.with === null) return "Type a sentence. The avatar says it in a short video.";
  const link = (words: string) => (
    <PageLink to="/videos" search={{ video: step.with?.id }} className={LINK}>
      {words}
    </PageLink>
  );
  if (step.state === "done") return <>It said: {link(step.with.name)}</>;
  if (step.state === "failed") return <>{link("The video")} could not be made. It says why.</>;
  return (
    <>
      {link("The video")}
      <Progress text="is being rendered. It usually takes a few seconds." share={null} />
    </>
  );
};

const VideoRow = ({ step, avatar, isNext }: { step: Step; avatar: Step; isNext: boolean }) => {
  const canWrite = useHasRole("developer");
  return (
    <StepRow
      number={3}
      title="Hear it speak"
      state={stateOf(step, isNext)}
      action={
        canWrite &&
        isNext &&
        avatar.with &&
        (step.state === "open" || step.state === "failed") && (
          <PageLink to="/avatars" search={{ avatar: avatar.with.id }} className={buttonClass("primary")}>
            Type a sentence
          </PageLink>
        )
      }
    >
      <VideoText step={step} />
    </StepRow>
  );
};

const CallRow = ({ steps: { key, avatar, video, callKey } }: { steps: Steps }) => {
  const { environment } = useAccount();
  const canWrite = useHasRole("developer");
  const isReady = key.state === "done" && avatar.state === "done";
  const isNext = isReady && video.state === "done";
  return (
    <StepRow
      number={4}
      title="Make the first call"
      state={isNext ? "next" : "later"}
      action={
        canWrite &&
        isReady &&
        avatar.with && <TryCall avatar={{ id: avatar.with.id, environment }} kind={isNext ? "primary" : "plain"} />
      }
    >
      {isReady && avatar.with ? (
        <>
          <NoCalls className="mb-2" />
          <p className="mb-2">Talk to the avatar on a page of the dashboard, which starts a call as a program does.</p>
          {canWrite && <CallLines avatarId={avatar.with.id} callKey={callKey} />}
        </>
      ) : (
        "You talk to the avatar here, and your application calls it with the key."
      )}
    </StepRow>
  );
};

export const Guide = ({ steps }: { steps: Steps }) => {
  const canWrite = useHasRole("developer");
  const done = [steps.key, steps.avatar, steps.video].filter(({ state }) => state === "done").length;
  return (
    <Card title="Get started" actions={<p className="text-sm text-muted">{done} of 4 done</p>}>
      <p className="mb-4 text-muted">
        {canWrite
          ? "Four steps to your first call."
          : "Four steps to the first call, which a developer or an owner does."}
      </p>
      <ol className="-mb-4">
        <KeyRow step={steps.key} />
        <AvatarRow step={steps.avatar} isNext={steps.key.state === "done"} />
        <VideoRow step={steps.video} avatar={steps.avatar} isNext={steps.avatar.state === "done"} />
        <CallRow steps={steps} />
      </ol>
    </Card>
  );
};
