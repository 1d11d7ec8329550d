/** The checks of a signed upload before its bytes are known. */
import type { FieldError } from "../problem.ts";
import { ASSET_LIMITS } from "./limits.ts";
import { type CreateUpload, MD5_PATTERN } from "./schemas.ts";

/** How long the URL of an upload is valid. */
export const UPLOAD_URL_SECONDS = 15 * 60;

const MD5 = new RegExp(MD5_PATTERN);

/** The errors of a valid `CreateUpload`: a content type or a size that its kind does not allow, or a malformed MD5. */
export const uploadErrors = ({ kind, contentType, sizeBytes, md5 }: CreateUpload): FieldError[] => {
  const { maxBytes } = ASSET_LIMITS[kind];
  const contentTypes: readonly string[] = ASSET_LIMITS[kind].contentTypes;
  const errors: FieldError[] = [];
  if (!contentTypes.includes(contentType)) {
    const detail = `Must be, for kind ${kind}, one of: ${contentTypes.join(", ")}.`;
    errors.push({ pointer: "#/contentType", code: "not_allowed", detail });
  }
  if (sizeBytes > maxBytes) {
    errors.push({
      pointer: "#/sizeBytes",
      code: "too_large",
      detail: `Must be, for kind ${kind}, at most ${maxBytes}.`,
    });
  }
  if (!MD5.test(md5)) {
    errors.push({ pointer: "#/md5", code: "malformed", detail: "Must be the 16 bytes of an MD5 in base64." });
  }
  return errors;
};
