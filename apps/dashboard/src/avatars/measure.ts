/** Measures a file for its checks. The browser decodes it locally, and no data is sent. */
import { detectContentType, MAGIC_BYTES } from "@realtime-avatar/domain/assets/magic";
import type { Source } from "./source.ts";

type Picture = Source["picture"];

const measureImage = async (file: Blob): Promise<Picture> => {
  try {
    const bitmap = await createImageBitmap(file);
    const { width, height } = bitmap;
    bitmap.close();
    return { width, height, seconds: null };
  } catch {
    return null;
  }
};

const measureVideo = (file: Blob): Promise<Picture> =>
  new Promise((resolve) => {
    const video = document.createElement("video");
    const url = URL.createObjectURL(file);
    const finish = (picture: Picture): void => {
      video.onloadedmetadata = null;
      video.onerror = null;
      // An element outside of the page continues to play and keeps the file open until its source is removed.
      video.removeAttribute("src");
      video.load();
      URL.revokeObjectURL(url);
      resolve(picture);
    };
    video.onloadedmetadata = () => {
      const { videoWidth: width, videoHeight: height, duration } = video;
      // A file with only sound has no picture. A recording of a browser can lack its duration.
      finish(width === 0 ? null : { width, height, seconds: Number.isFinite(duration) ? duration : null });
    };
    video.onerror = () => finish(null);
    video.muted = true;
    video.preload = "metadata";
    video.src = url;
  });

/** Measures the type and size of the file. */
export const measureSource = async (file: Blob): Promise<Source> => {
  const firstBytes = await file
    .slice(0, MAGIC_BYTES)
    .arrayBuffer()
    .then((buffer) => new Uint8Array(buffer))
    .catch(() => null);
  const magic = firstBytes && detectContentType(firstBytes);
  const type = magic?.kind === "image" || magic?.kind === "video" ? magic : null;
  const picture = type && (await (type.kind === "image" ? measureImage(file) : measureVideo(file)));
  return { firstBytes, type, sizeBytes: file.size, picture };
};
