/** A video in the list, and the dialog that shows it. */
import { useState } from "react";
import { useAvatar } from "../avatars/data.ts";
import { Portrait, useAttention } from "../avatars/portrait.tsx";
import { EndDialog } from "../components/action-dialog.tsx";
import { Button, buttonClass } from "../components/button.tsx";
import { CopyButton, Id } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Progress } from "../components/progress.tsx";
import { Prose } from "../components/prose.tsx";
import { Loaded, Skeleton } from "../components/state.tsx";
import { Badge, Item, Time } from "../components/text.tsx";
import { duration } from "../format.ts";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { ObjectName } from "../layout/object-name.tsx";
import { useVoices, voiceName } from "../voices/data.ts";
import { costText, isRunning, progressText, STATUS_TONES, useVideo, type Video } from "./data.ts";
import { VideoPlayer } from "./player.tsx";

const REFRESHES = ["videos", "balance", "usage"];

/** The spoken text, in one line. */
export const videoTitle = ({ text, audioAssetId, status }: Video): string =>
  text ?? (audioAssetId === null || status === "deleted" ? "A deleted video" : "A recording");

const VoiceText = ({ video: { voiceId } }: { video: Video }) => {
  const voice = useVoices()?.find(({ id }) => id === voiceId);
  return voiceId === null ? "that of the recording" : voice ? voiceName(voice) : voiceId;
};

const AvatarName = ({ id }: { id: string }) => (
  <ObjectName id={id} name={useAvatar(id, undefined).data?.displayName ?? null} />
);

type EndProps = { video: Video; onClose: () => void; onEnded?: () => void };

/** Cancels a video that is not finished, and deletes any other. */
const EndVideo = ({ video, onClose, onEnded = onClose }: EndProps) => {
  const { client } = useAccount();
  // The video can become ready while the dialog is open. The dialog keeps the earlier status, about which the person
  // decides.
  const [isCancel] = useState(() => isRunning(video));
  return (
    <EndDialog
      title={isCancel ? "Cancel the video" : "Delete the video"}
      confirm={isCancel ? "Cancel it" : "Delete it for good"}
      keep={isCancel ? "Let it go on" : "Keep it"}
      end={() => client.DELETE("/api/v1/videos/{id}", { params: { path: { id: video.id } } })}
      refreshes={REFRESHES}
      notice={isCancel ? "The video is canceled." : "The video is deleted."}
      onEnded={onEnded}
      onClose={onClose}
    >
      <p>
        {isCancel
          ? "Its rendering stops within seconds, and nothing is charged. A video that has become ready meanwhile is deleted."
          : "Its text and its file are deleted, and its address no longer works. It cannot be brought back."}
      </p>
    </EndDialog>
  );
};

const endName = (video: Video): string => (isRunning(video) ? "Cancel" : "Delete");

const Download = ({ video, label }: { video: Video; label?: string }) =>
  video.videoUrl === null ? null : (
    <a href={video.videoUrl} download={`${video.id}.mp4`} aria-label={label} className={buttonClass("plain")}>
      Download
    </a>
  );

export const VideoCard = ({ video }: { video: Video }) => {
  const { change } = useNavigation();
  const canWrite = useHasRole("developer");
  const [isEnding, setEnding] = useState(false);
  const { hasAttention, handlers } = useAttention();
  const { status, progress, durationSeconds, error } = video;
  // A video begins with the picture of its avatar.
  const avatar = useAvatar(video.avatarId, undefined).data;
  const title = videoTitle(video);
  return (
    <li {...handlers} className="flex flex-col overflow-hidden rounded-2xl border border-line bg-surface">
      <div className="aspect-4/3 bg-raised">{avatar && <Portrait avatar={avatar} moves={hasAttention} />}</div>
      <div className="flex flex-1 flex-col gap-2 p-4">
        <div className="flex items-start justify-between gap-3">
          <AvatarName id={video.avatarId} />
          <Badge tone={STATUS_TONES[status]}>{status}</Badge>
        </div>
        <p className="line-clamp-3 grow break-words" title={title}>
          {title}
        </p>
        {isRunning(video) && <Progress text={progressText(video)} share={status === "queued" ? null : progress} />}
        {error && (
          <p className="text-sm text-bad">
            <Prose text={error.detail} />
          </p>
        )}
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span>
            <VoiceText video={video} />
          </span>
          {durationSeconds !== null && <span>{duration(Math.max(1, durationSeconds))} long</span>}
          <span>{costText(video)}</span>
          <Time at={video.createdAt} />
        </p>
        <div className="flex flex-wrap gap-2">
          <Button
            kind={video.videoUrl === null ? "plain" : "primary"}
            onClick={() => change({ video: video.id })}
            aria-label={`${video.videoUrl === null ? "Show" : "Play"}: ${title}`}
          >
            {video.videoUrl === null ? "Show" : "Play"}
          </Button>
          <Download video={video} label={`Download: ${title}`} />
          {canWrite && status !== "deleted" && (
            <Button onClick={() => setEnding(true)} aria-label={`${endName(video)}: ${title}`}>
              {endName(video)}
            </Button>
          )}
        </div>
        {isEnding && <EndVideo video={video} onClose={() => setEnding(false)} />}
      </div>
    </li>
  );
};

const Facts = ({ video }: { video: Video }) => (
  <div className="grid gap-5 sm:grid-cols-[minmax(0,1fr)_13rem]">
    <div className="min-w-0">
      <VideoPlayer video={video} starts />
      {video.text !== null && <p className="mt-3 break-words whitespace-pre-wrap">{video.text}</p>}
    </div>
    <dl className="grid content-start gap-3">
      <Item name="Status">
        <Badge tone={STATUS_TONES[video.status]}>{video.status}</Badge>
      </Item>
      <Item name="Avatar">
        <AvatarName id={video.avatarId} />
      </Item>
      <Item name="Voice">
        <VoiceText video={video} />
      </Item>
      <Item name="Cost">{costText(video)}</Item>
      <Item name="Created">
        <Time at={video.createdAt} />
      </Item>
      <Item name="Id">
        <Id id={video.id} />
      </Item>
    </dl>
  </div>
);

type DetailsProps = { id: string; listed: Video | undefined; onClose: () => void };

export const VideoDetails = ({ id, listed, onClose }: DetailsProps) => {
  const canWrite = useHasRole("developer");
  const query = useVideo(id, listed);
  const [isEnding, setEnding] = useState(false);
  const video = query.data;
  const actions = video && (
    <>
      {canWrite && video.status !== "deleted" && <Button onClick={() => setEnding(true)}>{endName(video)}</Button>}
      {video.videoUrl !== null && (
        <CopyButton text={video.videoUrl} name="Copy address" label="Copy address of the file" />
      )}
      <Download video={video} />
    </>
  );
  return (
    <>
      <Dialog title="Video" onClose={onClose} isWide isTall actions={actions}>
        <Loaded query={query} skeleton={<Skeleton label="the video" rows={3} />}>
          {(data) => <Facts video={data} />}
        </Loaded>
      </Dialog>
      {video && isEnding && <EndVideo video={video} onClose={() => setEnding(false)} onEnded={onClose} />}
    </>
  );
};
