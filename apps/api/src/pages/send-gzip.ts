/** Pages and scripts that are stored compressed. */
import { acceptsCoding, type ResponseHead } from "../http/response.ts";

/**
 * Sends the content of `gzip`: compressed to clients that accept it, as all browsers do, and uncompressed to others.
 */
export const sendGzip = (
  gzip: Uint8Array<ArrayBuffer>,
  request: Request,
  set: Pick<ResponseHead, "headers">,
): Uint8Array<ArrayBuffer> => {
  const headers = set.headers as Record<string, string>;
  headers["vary"] = "Accept-Encoding";
  if (!acceptsCoding(request, "gzip")) return Bun.gunzipSync(gzip);
  headers["content-encoding"] = "gzip";
  return gzip;
};
