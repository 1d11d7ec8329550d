/** Shows the progress of a video, then its player, or the reason for a missing player. */
import { Progress } from "../components/progress.tsx";
import { Prose } from "../components/prose.tsx";
import { isRunning, progressText, type Video } from "./data.ts";

const ENDS: Record<"canceled" | "deleted" | "failed", string> = {
  canceled: "The video was canceled. It cost nothing.",
  deleted: "The video is deleted.",
  failed: "The video could not be made. It cost nothing.",
};

/** `starts`: plays by itself when the video is ready, for a person who has just created or opened it. */
export const VideoPlayer = ({ video, starts = false }: { video: Video; starts?: boolean }) => {
  const { status, progress, videoUrl, text, error, warnings } = video;
  if (isRunning(video)) return <Progress text={progressText(video)} share={status === "queued" ? null : progress} />;
  if (status !== "ready") {
    return (
      <p className={`rounded-lg px-3 py-2 ${status === "failed" ? "bg-bad-soft text-bad" : "bg-raised text-muted"}`}>
        {ENDS[status as keyof typeof ENDS]} {error && <Prose text={error.detail} />}
      </p>
    );
  }
  return (
    <>
      {videoUrl === null ? (
        <p className="rounded-lg bg-raised px-3 py-2 text-muted">The file of the video is deleted.</p>
      ) : (
        // The text beside it says what is heard.
        // biome-ignore lint/a11y/useMediaCaption: the text is shown beside the video
        <video
          key={videoUrl}
          src={videoUrl}
          controls
          playsInline
          autoPlay={starts}
          aria-label={text ?? "A recording"}
          className="aspect-square w-full max-w-sm rounded-xl bg-raised"
        />
      )}
      {warnings.map((warning) => (
        <p key={warning} className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
          <Prose text={warning} />
        </p>
      ))}
    </>
  );
};
