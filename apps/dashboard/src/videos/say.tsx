/** A form on the page of an avatar: the avatar says a typed sentence with a chosen voice in a short video. */
import type { Avatar } from "@realtime-avatar/client";
import { MAX_TEXT_LENGTH } from "@realtime-avatar/domain/videos/limits";
import { type FormEvent, useId, useState } from "react";
import { fieldError } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { TextArea } from "../components/field.tsx";
import { Failure, useInView } from "../components/state.tsx";
import { counted, creditAmount } from "../format.ts";
import { useAccount } from "../layout/context.tsx";
import { LINK, PageLink } from "../layout/navigation.tsx";
import { useAction } from "../layout/use-action.ts";
import { usePrice } from "../usage/data.ts";
import { useVoices, type Voice } from "../voices/data.ts";
import { VoiceSelect } from "../voices/voice-select.tsx";
import { createVideo, type VideoRequest } from "./create.ts";
import { costText, isRunning, maxCost, useVideo, type Video } from "./data.ts";
import { VideoPlayer } from "./player.tsx";

const REFRESHES = ["videos", "balance", "usage", "audit"];

/**
 * The voice in the request: omitted for the avatar's own voice. The default voice is named if the avatar has another
 * one.
 */
const voiceOf = (avatar: Avatar, chosen: string | null, voices: readonly Voice[]): Pick<VideoRequest, "voiceId"> => {
  if (chosen === avatar.defaultVoiceId) return {};
  const voiceId = chosen ?? voices.find(({ isDefault }) => isDefault)?.id;
  return voiceId === undefined ? {} : { voiceId };
};

/** Why the button is disabled: a second click would charge another video. */
const RENDERING = "You can create another video when this one is finished.";

/** The maximum cost of the video, or the reason that it cannot be created yet. The line stays while the text is empty. */
const Cost = ({ id, text, isRendering }: { id: string; text: string; isRendering: boolean }) => {
  const { data: price } = usePrice();
  const { seconds, creditMicros } = maxCost(text, price);
  const most = text.trim() === "" ? "" : `At most ${counted(seconds, "second")}: ${creditAmount(creditMicros)}. `;
  return (
    <p id={id} className="mt-2 min-h-10 text-sm text-muted sm:min-h-5" aria-live="polite">
      {isRendering ? RENDERING : `${most}The seconds of the video are charged.`}
    </p>
  );
};

type CreatedProps = { video: Video; error: unknown; onRetry: () => void };

const Created = ({ video, error, onRetry }: CreatedProps) => {
  const ref = useInView<HTMLDivElement>(video.status);
  return (
    <div ref={ref} className="mt-4 grid scroll-my-16 gap-2">
      {error ? <Failure error={error} onRetry={onRetry} /> : null}
      <VideoPlayer video={video} starts />
      <p className="flex flex-wrap gap-x-4 text-sm text-muted">
        {video.status === "ready" && <span>It cost {costText(video)}.</span>}
        <PageLink to="/videos" search={{ avatar: video.avatarId }} className={LINK}>
          All videos of this avatar
        </PageLink>
      </p>
    </div>
  );
};

export const Say = ({ avatar }: { avatar: Avatar }) => {
  const { client, environment } = useAccount();
  const voices = useVoices() ?? [];
  const { data: price } = usePrice();
  const [text, setText] = useState("");
  const [voice, setVoice] = useState(avatar.defaultVoiceId);
  const [created, setCreated] = useState<Video | null>(null);
  const query = useVideo(created?.id, created ?? undefined);
  const video = query.data ?? created;
  const isRendering = video !== null && isRunning(video);
  const costId = useId();
  const create = useAction(
    () => {
      const request = { avatarId: avatar.id, text: text.trim(), ...voiceOf(avatar, voice, voices) };
      return createVideo(client, environment, request, price);
    },
    REFRESHES,
    setCreated,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "" && !isRendering) void create.run();
  };
  return (
    <section className="mt-4">
      <h3 className="mb-1 font-semibold">Hear it speak</h3>
      <form onSubmit={submit}>
        {create.error ? <Failure error={create.error} shownFields={["text"]} /> : null}
        <TextArea
          label="What it says"
          rows={2}
          value={text}
          onChange={({ target }) => setText(target.value)}
          maxLength={MAX_TEXT_LENGTH}
          placeholder="Hello, and welcome to our shop."
          error={fieldError(create.error, "text")}
        />
        <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
          <div className="min-w-0">
            <VoiceSelect label="Voice of the video" voices={voices} value={voice} onChange={setVoice} />
          </div>
          <Button
            kind="primary"
            type="submit"
            isBusy={create.isBusy}
            disabled={text.trim() === ""}
            // Not `disabled`, which would remove the focus from the button that the person has just pressed.
            aria-disabled={isRendering || undefined}
            aria-describedby={costId}
          >
            Create video
          </Button>
        </div>
        <Cost id={costId} text={text} isRendering={isRendering} />
      </form>
      {video && <Created key={video.id} video={video} error={query.error} onRetry={() => query.refetch()} />}
    </section>
  );
};
