/** The limits of assets, by kind: the only place where they are written. Uploads, inspection, the schemas and the documents use it. */

export const ASSET_KINDS = ["image", "video", "audio"] as const;
export type AssetKind = (typeof ASSET_KINDS)[number];

/** The origin of a file. The service renders `generated` files, to which the limits of sources do not apply. */
export const ASSET_ORIGINS = ["uploaded", "imported", "generated"] as const;
export type AssetOrigin = (typeof ASSET_ORIGINS)[number];

const MIB = 1024 * 1024;

/** The limits of the files of each kind. Every bound is inclusive. */
export const ASSET_LIMITS = {
  image: {
    contentTypes: ["image/jpeg", "image/png", "image/webp"],
    maxBytes: 16 * MIB,
    /** Width times height. With this limit, a decoder refuses a decompression bomb before it allocates memory. */
    maxPixels: 40_000_000,
    /** Animated WebP and APNG have more. */
    maxFrames: 1,
    /** The longer side of the public image in pixels. A larger image is scaled down. */
    maxPublicSide: 2048,
  },
  video: {
    contentTypes: ["video/mp4", "video/quicktime", "video/webm"],
    maxBytes: 200 * MIB,
    minSeconds: 1,
    maxSeconds: 120,
    /** 1080p in either orientation: the longer side and the shorter side in pixels. */
    maxLongSide: 1920,
    maxShortSide: 1080,
    maxFramesPerSecond: 60,
    /** H.264 (AVC) and VP9. */
    codecs: ["avc", "vp9"],
  },
  audio: {
    contentTypes: ["audio/mpeg", "audio/wav", "audio/mp4", "audio/aac", "audio/ogg", "audio/flac"],
    maxBytes: 32 * MIB,
    /** Exclusive, so that a header without samples is refused. */
    minSecondsExclusive: 0,
  },
} as const;

/** A size for people: `16 MiB`. Rounded up, so that a file above a limit never seems to be at it. */
export const inMib = (bytes: number): string => `${Math.ceil((bytes / MIB) * 10) / 10} MiB`;

/** The advice for a file that exceeds the size limit of its kind. */
export const MAKE_SMALLER: Record<AssetKind, string> = {
  image: "Scale the picture down, or export it as JPEG.",
  video: "Cut the video, or convert it with a lower resolution or bit rate.",
  audio: "Cut the recording, or convert it to MP3.",
};

/** The content types of a kind, or of all kinds. They are decided by the bytes of a file, never by a declared type. */
export type ContentType<Kind extends AssetKind = AssetKind> = (typeof ASSET_LIMITS)[Kind]["contentTypes"][number];
