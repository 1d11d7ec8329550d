/**
 * Checks a photo or a video in the browser before it is uploaded. Types and sizes are the file limits of the service;
 * the requirements of avatars come from `GET /models`. The service checks everything again.
 */
import type { components } from "@realtime-avatar/client";
import { ASSET_LIMITS, type ContentType, MAKE_SMALLER } from "@realtime-avatar/domain/assets/limits";
import { acceptedTypesText, describeRefusedType, TYPE_NAMES } from "@realtime-avatar/domain/assets/refused-type";
import { bytes, duration } from "../format.ts";

export type Requirements = components["schemas"]["Model"]["requirements"];
export type SourceKind = keyof Requirements;

/** The type and size of a file, measured by the browser. */
export type Source = {
  /** The first bytes; null when the file cannot be read, for example a dropped folder. */
  firstBytes: Uint8Array | null;
  /** Determined by the first bytes, like in the service; null for types that are not accepted. */
  type: { kind: SourceKind; contentType: ContentType<SourceKind> } | null;
  sizeBytes: number;
  /**
   * null when the browser cannot decode the file. `seconds`: the length of a video; null when the file does not contain
   * it.
   */
  picture: { width: number; height: number; seconds: number | null } | null;
};

export type SourceCheck = {
  name: string;
  /** `unknown`: only the service can tell. */
  verdict: "pass" | "fail" | "unknown";
  detail: string;
};

export const KIND_NAMES: Record<SourceKind, string> = { image: "photo", video: "video" };

/** The value of `accept` of a file input. */
export const acceptedTypes = (kinds: readonly SourceKind[]): string =>
  kinds.flatMap((kind) => ASSET_LIMITS[kind].contentTypes).join(",");

const DAMAGED = "The file is damaged or incomplete. Export it anew as JPEG or PNG, or use another photo.";

type Bounds = { min: number | null; max: number | null };

const boundsOf = (requirements: Requirements | undefined, kind: SourceKind, code: string): Bounds =>
  requirements?.[kind].find((requirement) => requirement.code === code)?.required ?? { min: null, max: null };

/** The requirements of a source, for people, in one sentence for each kind. Without `requirements`, only the types. */
export const sourceHints = (requirements: Requirements | undefined, kinds: readonly SourceKind[]): string[] =>
  kinds.map((kind) => {
    const side = boundsOf(requirements, kind, "resolution").min;
    const length = boundsOf(requirements, kind, "duration");
    const lasting = length.min !== null && length.max !== null ? ` of ${length.min} to ${length.max} seconds` : "";
    const sides = side === null ? "" : `, each side at least ${side} pixels`;
    return `A ${KIND_NAMES[kind]}${lasting}: ${acceptedTypesText(kind)}, at most ${bytes(ASSET_LIMITS[kind].maxBytes)}${sides}.`;
  });

/** The reason of a refusal: the exceeded bound and the next step. */
type Refusal = { bound: string; advice: string };

const check = (name: string, refusal: Refusal | null, measured: string): SourceCheck => ({
  name,
  verdict: refusal === null ? "pass" : "fail",
  detail: refusal === null ? measured : `${measured}; ${refusal.bound}. ${refusal.advice}`,
});

/** The reason why the service refuses a file of this size; null when it accepts it. */
const pixelRefusal = (kind: SourceKind, width: number, height: number, { min }: Bounds): Refusal | null => {
  if (min !== null && Math.min(width, height) < min) {
    return { bound: `each side at least ${min}`, advice: `Use a ${KIND_NAMES[kind]} of a higher resolution.` };
  }
  const advice = `Scale the ${KIND_NAMES[kind]} down.`;
  if (kind === "image") {
    const { maxPixels } = ASSET_LIMITS.image;
    return width * height > maxPixels ? { bound: `at most ${maxPixels / 1_000_000} megapixels`, advice } : null;
  }
  const { maxLongSide, maxShortSide } = ASSET_LIMITS.video;
  const isTooLarge = Math.max(width, height) > maxLongSide || Math.min(width, height) > maxShortSide;
  return isTooLarge ? { bound: `at most ${maxLongSide} × ${maxShortSide}`, advice } : null;
};

const lengthCheck = (seconds: number | null, { min, max }: Bounds): SourceCheck => {
  if (seconds === null) {
    return { name: "Length", verdict: "unknown", detail: "The file does not say it. The service will measure it." };
  }
  const measured = seconds < 60 ? `${Math.round(seconds * 10) / 10} s` : duration(seconds);
  const refusal = (bound: string, advice: string) => check("Length", { bound, advice }, measured);
  if (min !== null && seconds < min) return refusal(`at least ${min} s`, "Use a longer video.");
  if (max !== null && seconds > max) return refusal(`at most ${max} s`, "Cut the video.");
  return check("Length", null, measured);
};

/** The checks of a file that will be a source of one of these kinds. */
export const checkSource = (
  { firstBytes, type, sizeBytes, picture }: Source,
  requirements: Requirements | undefined,
  kinds: readonly SourceKind[],
): SourceCheck[] => {
  if (type === null || !kinds.includes(type.kind)) {
    const detail = firstBytes
      ? describeRefusedType(firstBytes, kinds)
      : "The file cannot be read. Choose a file, not a folder.";
    return [{ name: "Type", verdict: "fail", detail }];
  }
  const { kind, contentType } = type;
  const { maxBytes } = ASSET_LIMITS[kind];
  const tooLarge = { bound: `at most ${bytes(maxBytes)}`, advice: MAKE_SMALLER[kind] };
  const checks = [
    check("Type", null, TYPE_NAMES[contentType]),
    check("Size", sizeBytes > maxBytes ? tooLarge : null, bytes(sizeBytes)),
  ];
  if (picture === null) {
    // Browsers decode every accepted type of image, but not every accepted video codec.
    const detail = "This browser cannot open the video. The service will check it.";
    const damaged = { name: "Dimensions", verdict: "fail" as const, detail: DAMAGED };
    return [...checks, kind === "image" ? damaged : { name: "Dimensions", verdict: "unknown", detail }];
  }
  const { width, height, seconds } = picture;
  const refusal = pixelRefusal(kind, width, height, boundsOf(requirements, kind, "resolution"));
  checks.push(check("Dimensions", refusal, `${width} × ${height} pixels`));
  if (kind === "video") checks.push(lengthCheck(seconds, boundsOf(requirements, kind, "duration")));
  return checks;
};
