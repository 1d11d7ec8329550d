import type { Avatar } from "@realtime-avatar/client";
import { useState } from "react";
import { useSourceUrl } from "./data.ts";

const allowsMotion = (): boolean => window.matchMedia("(prefers-reduced-motion: no-preference)").matches;

/** The preview of an avatar. The moving preview lies over the still one, so that nothing flickers while it loads. */
const Preview = ({ avatar, url, moves }: { avatar: Avatar; url: string; moves: boolean }) => {
  const { animatedPreviewUrl, status } = avatar;
  const look = `absolute inset-0 size-full object-cover ${status === "disabled" ? "grayscale" : ""}`;
  return (
    <div className="relative size-full">
      <img src={url} alt="" width={320} height={320} loading="lazy" className={look} />
      {moves && animatedPreviewUrl && allowsMotion() && (
        <img src={animatedPreviewUrl} alt="" data-moving width={320} height={320} className={look} />
      )}
    </div>
  );
};

/**
 * The picture of an avatar. It moves if `moves` is set and the person allows motion. A failed avatar shows the refused
 * source. Without a picture, its first letter is shown.
 */
export const Portrait = ({ avatar, moves }: { avatar: Avatar; moves: boolean }) => {
  const { previewUrl, status } = avatar;
  const sourceUrl = useSourceUrl(avatar, status === "failed" && previewUrl === null);
  if (previewUrl) return <Preview avatar={avatar} url={previewUrl} moves={moves} />;
  if (sourceUrl) {
    return <img src={sourceUrl} alt="The refused source" loading="lazy" className="size-full object-contain" />;
  }
  return (
    <div aria-hidden="true" className="grid size-full place-items-center text-4xl font-semibold text-muted">
      {[...avatar.displayName][0]?.toUpperCase()}
    </div>
  );
};

/** Whether the pointer or the focus is on an element, and the handlers that the element needs. */
export const useAttention = () => {
  const [hasAttention, setAttention] = useState(false);
  const [begin, end] = [() => setAttention(true), () => setAttention(false)];
  return { hasAttention, handlers: { onPointerEnter: begin, onPointerLeave: end, onFocus: begin, onBlur: end } };
};
