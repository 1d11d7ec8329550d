import { expect, test } from "bun:test";
import { ASSET_KINDS, ASSET_LIMITS } from "./limits.ts";
import { uploadErrors } from "./upload.ts";

const md5 = "1B2M2Y8AsgTpgAmY7PhCfg==";

test("the content types and the largest size of a kind: allowed; a byte more: refused", () => {
  for (const kind of ASSET_KINDS) {
    const { contentTypes, maxBytes } = ASSET_LIMITS[kind];
    for (const contentType of contentTypes) {
      expect(uploadErrors({ kind, contentType, sizeBytes: maxBytes, md5 })).toEqual([]);
      const errors = uploadErrors({ kind, contentType, sizeBytes: maxBytes + 1, md5 });
      expect(errors).toMatchObject([{ pointer: "#/sizeBytes", code: "too_large" }]);
      expect(errors[0]?.detail).toContain(String(maxBytes));
    }
  }
});

test("an upload, with the type of another kind or a malformed MD5: refused", () => {
  const pointers = (request: object) =>
    uploadErrors({ kind: "image", contentType: "image/png", sizeBytes: 1, md5, ...request }).map(
      ({ pointer }) => pointer,
    );
  for (const contentType of ["video/mp4", "image/gif", "image/svg+xml", "IMAGE/PNG", "image/png; a=b"]) {
    expect(pointers({ contentType })).toEqual(["#/contentType"]);
  }
  // Only two bits of the last digit before the padding are data. The others must be zero.
  for (const bad of ["1B2M2Y8AsgTpgAmY7PhCfh==", "1B2M2Y8AsgTpgAmY7PhCfg=a", "-B2M2Y8AsgTpgAmY7PhCfg=="]) {
    expect(pointers({ md5: bad })).toEqual(["#/md5"]);
  }
});
