/** The picture of the avatar: first a still one, and then the live one in the same place. */
import type { Avatar } from "@realtime-avatar/client";
import { WHOLE_PICTURE_PATH } from "@realtime-avatar/domain/avatars/preparation";
import type { Media } from "./room.ts";

/**
 * The still picture is the prepared one, from which the live picture is drawn, cut to the same square. So nothing moves
 * when the live picture appears.
 */
const Still = ({ avatar: { displayName, previewUrl } }: { avatar: Avatar }) => {
  if (previewUrl) {
    const source = `${previewUrl}${WHOLE_PICTURE_PATH}`;
    return <img src={source} alt="" data-still className="absolute inset-0 size-full object-cover" />;
  }
  return (
    <p aria-hidden="true" className="grid size-full place-items-center text-6xl font-semibold text-muted">
      {[...displayName][0]?.toUpperCase()}
    </p>
  );
};

type Props = Media & { avatar: Avatar; picture: "awaited" | "shown" | "lost" };

export const Stage = ({ avatar, video, audio, picture }: Props) => (
  <div className="relative aspect-square overflow-hidden rounded-2xl border border-line bg-raised">
    {picture === "awaited" && <Still avatar={avatar} />}
    {/* biome-ignore lint/a11y/useMediaCaption: it is a live picture, whose words nobody has written down */}
    <video
      ref={video}
      autoPlay
      playsInline
      aria-label={`The picture of ${avatar.displayName}`}
      className={`absolute inset-0 size-full object-cover ${picture === "awaited" ? "invisible" : ""} ${picture === "lost" ? "opacity-40" : ""}`}
    />
    {picture === "lost" && (
      <p
        aria-hidden="true"
        className="absolute inset-x-0 bottom-0 bg-warn-soft px-4 py-2 text-center font-medium text-warn"
      >
        Reconnecting
      </p>
    )}
    {/* biome-ignore lint/a11y/useMediaCaption: it is a live voice */}
    <audio ref={audio} autoPlay />
  </div>
);
