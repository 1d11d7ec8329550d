/** Pages and scripts that are kept compressed. */
import { acceptsCoding, type ResponseHead } from "../http/response.ts";

/** Sends what `gzip` holds: compressed to a client that accepts it, as every browser does, and plain to any other. */
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
