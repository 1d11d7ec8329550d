import type { Avatar } from "@realtime-avatar/client";

/** The picture of an avatar, or its first letter while it has none. */
export const Portrait = ({ avatar }: { avatar: Avatar }) =>
  avatar.previewUrl ? (
    <img
      src={avatar.previewUrl}
      alt=""
      width={320}
      height={320}
      loading="lazy"
      className={`size-full object-cover ${avatar.status === "disabled" ? "grayscale" : ""}`}
    />
  ) : (
    <div aria-hidden="true" className="grid size-full place-items-center text-4xl font-semibold text-muted">
      {[...avatar.displayName][0]?.toUpperCase()}
    </div>
  );
