import type { Avatar } from "@realtime-avatar/client";
import { useSourceUrl } from "./data.ts";

/** The picture of an avatar; of a failed one the source that was refused; or its first letter while there is neither. */
export const Portrait = ({ avatar }: { avatar: Avatar }) => {
  const { previewUrl, status } = avatar;
  const sourceUrl = useSourceUrl(avatar, status === "failed" && previewUrl === null);
  if (previewUrl === null && sourceUrl) {
    return <img src={sourceUrl} alt="The one that was refused" loading="lazy" className="size-full object-contain" />;
  }
  return previewUrl ? (
    <img
      src={previewUrl}
      alt=""
      width={320}
      height={320}
      loading="lazy"
      className={`size-full object-cover ${status === "disabled" ? "grayscale" : ""}`}
    />
  ) : (
    <div aria-hidden="true" className="grid size-full place-items-center text-4xl font-semibold text-muted">
      {[...avatar.displayName][0]?.toUpperCase()}
    </div>
  );
};
