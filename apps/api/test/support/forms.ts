/** Forms and files for the tests of uploads. */
import { createHash, randomBytes } from "node:crypto";

const crlf = "\r\n";
export const BOUNDARY = "----test-boundary";

export type Part = { headers: string; content: string | Uint8Array };

/** A file part. */
export const filePart = (content: string | Uint8Array, filename = "ada.jpg", name = "file"): Part => ({
  headers: `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: application/octet-stream`,
  content,
});
/** A field. */
export const fieldPart = (name: string, content: string): Part => ({
  headers: `Content-Disposition: form-data; name="${name}"`,
  content,
});

/** The bytes of a form. `end: false`: without the last boundary. */
export const encodeForm = (parts: readonly Part[], { boundary = BOUNDARY, end = true } = {}): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ headers, content }) => [
      Buffer.from(`--${boundary}${crlf}${headers}${crlf}${crlf}`),
      Buffer.from(content),
      Buffer.from(crlf),
    ]),
    Buffer.from(end ? `--${boundary}--${crlf}` : ""),
  ]);

export const formType = (boundary = BOUNDARY): string => `multipart/form-data; boundary=${boundary}`;

/** The first bytes of accepted files. The API does not check the rest. */
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0]);
const MP4 = Buffer.from("\0\0\0\x18ftypisom\0\0\x02\0isommp41", "latin1");
const WAV = Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1");
export const STARTS = { image: JPEG, video: MP4, audio: WAV } as const;

/** A file that begins like its kind, followed by zeros or random bytes. */
export const createFile = (kind: keyof typeof STARTS, sizeBytes: number, isRandom = false): Buffer => {
  const file = isRandom ? randomBytes(sizeBytes) : Buffer.alloc(sizeBytes);
  STARTS[kind].copy(file);
  return file;
};

export const sha256Hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
export const md5Base64 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("base64");

/** A small picture (1 × 1 pixel, PNG) that can be decoded. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
