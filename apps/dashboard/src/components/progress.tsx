import { useEffect, useState } from "react";

/** The whole seconds since `text` was first shown. */
const useSeconds = (text: string): number => {
  const [shown, setShown] = useState({ text, seconds: 0 });
  useEffect(() => {
    const since = Date.now();
    setShown({ text, seconds: 0 });
    const timer = setInterval(() => setShown({ text, seconds: Math.floor((Date.now() - since) / 1000) }), 1000);
    return () => clearInterval(timer);
  }, [text]);
  return shown.text === text ? shown.seconds : 0;
};

/**
 * The current step and its progress. `share`: from 0 to 1; null if unknown. Without a share, elapsed seconds are shown,
 * so that it does not look stuck.
 */
export const Progress = ({ text, share }: { text: string; share: number | null }) => {
  const seconds = useSeconds(text);
  return (
    <div>
      <p className="mb-1 flex justify-between gap-3 text-sm">
        <span role="status">{text}</span>
        {share === null && seconds > 0 && (
          <span className="whitespace-nowrap text-muted tabular-nums">{seconds} s</span>
        )}
      </p>
      <div
        role="progressbar"
        aria-label={text}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      >
        <svg aria-hidden="true" className="block h-2 w-full rounded-full bg-raised">
          <rect
            width={share === null ? "30%" : `${share * 100}%`}
            height="100%"
            rx="4"
            className={`fill-accent ${share === null ? "runs" : ""}`}
          />
        </svg>
      </div>
    </div>
  );
};
