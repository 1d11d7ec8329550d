import type { Avatar } from "@realtime-avatar/client";
import { Prose } from "../components/prose.tsx";
import { Badge, type Tone } from "../components/text.tsx";
import { counted } from "../format.ts";

type Check = Avatar["checks"][number];

const TONES: Record<Check["verdict"], Tone> = { pass: "good", warn: "warn", fail: "bad" };
const VERDICTS: Record<Check["verdict"], string> = { pass: "passed", warn: "could be better", fail: "failed" };

/** The checks for a person. */
const NAMES: Record<Check["code"], string> = {
  decodable: "The file",
  single_frame: "A still picture",
  codec: "Video codec",
  duration: "Length",
  frame_rate: "Frames per second",
  resolution: "Pixels",
  frame: "A frame to examine",
  face_count: "One face",
  face_confidence: "A clear face",
  face_size: "Size of the face",
  face_yaw: "Turned to a side",
  face_pitch: "Turned up or down",
  cropped: "The whole head",
  sharpness: "Sharpness",
  brightness: "Brightness",
};

/** The detail contains the measured value, the requirement and the next step. */
const List = ({ label, checks }: { label: string; checks: readonly Check[] }) => (
  <ul aria-label={label} className="divide-y divide-line rounded-lg border border-line">
    {checks.map(({ code, verdict, detail }) => (
      <li key={code} className="px-3 py-2 text-sm">
        <div className="flex flex-wrap items-center justify-between gap-2">
          <span className="font-medium">{NAMES[code] ?? code}</span>
          <Badge tone={TONES[verdict]}>{VERDICTS[verdict] ?? verdict}</Badge>
        </div>
        <p className="mt-0.5">
          <Prose text={detail} />
        </p>
      </li>
    ))}
  </ul>
);

/** The verdict of each check: failed checks first, then warnings. Passed checks are collapsed. */
export const Checks = ({ checks }: { checks: readonly Check[] }) => {
  const [failed, warned, passed] = (["fail", "warn", "pass"] as const).map((verdict) =>
    checks.filter((check) => check.verdict === verdict),
  );
  const noted = [...(failed ?? []), ...(warned ?? [])];
  return (
    <>
      {noted.length > 0 && <List label="Checks" checks={noted} />}
      {passed && passed.length > 0 && (
        <details className="mt-2 text-sm">
          <summary className="mb-2">{counted(passed.length, "check")} passed</summary>
          <List label="Passed checks" checks={passed} />
        </details>
      )}
    </>
  );
};
