import { describe, expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ASSET_KINDS, ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { Problem } from "@realtime-avatar/domain/problem";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import {
  BOUNDARY,
  createFile,
  encodeForm,
  fieldPart,
  filePart,
  formType,
  type Part,
  PNG,
  sha256Hex,
} from "../../test/support/forms.ts";
import type { RequestContext } from "../http/request-context.ts";
import { openBody } from "./body-reader.ts";
import { cleanFilename, formTooLarge, MAX_FORM_BYTES, receiveUpload } from "./receive-file.ts";
import { createSpool } from "./spool.ts";

const folder = await fileFolder();
const spool = createSpool(join(folder, "uploads"));

const streamed = (pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const source = (async function* () {
    yield* pieces;
  })();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value } = await source.next();
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await source.return(undefined)),
  });
};
/** Yields the bytes in pieces of `size`. Each piece has its own buffer, which is released after it is read. */
function* cut(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield new Uint8Array(bytes.subarray(at, at + size));
}

const context = (): RequestContext => ({
  ...{ requestId: "x", startedAt: performance.now(), deadline: performance.now() + 1000 },
  isAborted: () => false,
});

type Options = { type?: string; stallMs?: number };
/** Receives a form. Returns the outcome and the spooled bytes. */
const receive = async (pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, options: Options = {}) => {
  const { type = formType(), stallMs = 30_000 } = options;
  const request = new Request("http://x/", { method: "POST", body: streamed(pieces) });
  const result = await spool
    .withFile(async (file) => {
      const body = openBody(request, context(), { maxBytes: MAX_FORM_BYTES, tooLarge: formTooLarge, stallMs });
      const received = await receiveUpload(body, type, file);
      return { received, spooled: new Uint8Array(await readFile(file.path)) };
    })
    .catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
      return error;
    });
  // In every case, the spool is empty afterwards.
  expect(await readdir(join(folder, "uploads"))).toEqual([]);
  return result;
};

const outcomeOf = (result: Awaited<ReturnType<typeof receive>>): string => {
  if (!(result instanceof Problem)) return "received";
  const [error] = result.extras.errors ?? [];
  return [result.code, error?.pointer, error?.code].filter((part) => part !== undefined).join(" ");
};
const outcome = async (form: Uint8Array, options: Options = {}): Promise<string> =>
  outcomeOf(await receive([form], options));

describe("the upload form, received", () => {
  test.each([1, 2, 3, 7, 64, 511, 1 << 16])(
    "a form in pieces of %d bytes, parts in either order: the file is received",
    async (size) => {
      const file = createFile("image", 5000, true);
      for (const parts of [
        [filePart(file), fieldPart("kind", "image")],
        [fieldPart("kind", "image"), filePart(file)],
      ]) {
        const result = await receive(cut(encodeForm(parts), size));
        expect(result).toEqual({
          received: {
            ...{ kind: "image", contentType: "image/jpeg", sizeBytes: 5000, sha256: sha256Hex(file) },
            ...{ originalFilename: "ada.jpg", declaredKind: "image" },
          },
          spooled: new Uint8Array(file),
        });
      }
    },
  );

  test("a form, without a kind, with a tiny file, or with a file that looks like a boundary: received", async () => {
    expect(await receive([encodeForm([filePart(PNG)])])).toMatchObject({
      received: { kind: "image", contentType: "image/png", sizeBytes: PNG.length, declaredKind: null },
    });
    const near = Buffer.concat([
      PNG,
      Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n\r\n--${BOUNDARY}x`.slice(0, 40)),
    ]);
    for (const size of [1, 17, 4096]) {
      expect(await receive(cut(encodeForm([filePart(near)]), size))).toMatchObject({
        received: { sha256: sha256Hex(near) },
      });
    }
  });

  test("a form, with a preamble and an epilogue: both are ignored", async () => {
    const form = Buffer.concat([Buffer.from("preamble\r\n"), encodeForm([filePart(PNG)]), Buffer.from("epilogue")]);
    expect(await outcome(form)).toBe("received");
  });

  // The other two kinds are tested only with LONG=1, because a video takes 200 MiB.
  test.each(process.env["LONG"] === "1" ? ASSET_KINDS : (["image"] as const))(
    "a file at the maximum size of its kind: received; one byte larger: refused: %s",
    async (kind) => {
      const { maxBytes } = ASSET_LIMITS[kind];
      for (const [sizeBytes, expected] of [
        [maxBytes, "received"],
        [maxBytes + 1, "body_too_large"],
      ] as const) {
        const start = createFile(kind, 64 * 1024);
        const pieces = function* () {
          const [before = "", after = ""] = encodeForm([filePart("@")])
            .toString()
            .split("@");
          yield Buffer.from(before);
          const length = start.length;
          yield start;
          const piece = 64 * 1024;
          for (let sent = length; sent < sizeBytes; sent += piece) {
            yield new Uint8Array(Math.min(piece, sizeBytes - sent));
          }
          yield Buffer.from(after);
        };
        const result = await receive(pieces());
        expect(outcomeOf(result)).toBe(expected);
        if (result instanceof Problem) expect(result.detail).toContain(String(maxBytes));
        else expect(result.received.sizeBytes).toBe(maxBytes);
      }
    },
  );
});

describe("the upload form, refused", () => {
  test("a form, with a GIF and a kind: the error names the sent type, and the types of that kind", async () => {
    const gif = filePart("GIF89a\x01\x00\x01\x00", "a.png");
    const detailOf = async (...fields: Part[]): Promise<unknown> => {
      const result = await receive([encodeForm([...fields, gif])]);
      return result instanceof Problem ? result.extras.errors?.[0]?.detail : null;
    };
    expect(await detailOf(fieldPart("kind", "image"))).toBe(
      "This is a GIF image. Export one picture of it as PNG. Accepted: JPEG, PNG or WebP.",
    );
    expect(await detailOf(fieldPart("kind", "video"))).toBe("This is a GIF image. Accepted: MP4, MOV or WebM.");
    expect(await detailOf()).toEndWith(
      "Accepted: image (JPEG, PNG or WebP), video (MP4, MOV or WebM), audio (MP3, WAV, M4A, AAC, Ogg or FLAC).",
    );
  });

  const image = filePart(PNG);
  const part = (headers: string, content = "x"): Part => ({ headers, content });

  test.each([
    ["no parts", [], "validation_failed #/file required"],
    ["no file", [fieldPart("kind", "image")], "validation_failed #/file required"],
    ["an empty file", [filePart("")], "validation_failed #/file unsupported_file"],
    ["two files", [image, image], "validation_failed #/file repeated_field"],
    [
      "two kinds",
      [fieldPart("kind", "image"), fieldPart("kind", "image"), image],
      "validation_failed #/kind repeated_field",
    ],
    ["an unknown field", [fieldPart("metadata", "{}"), image], "validation_failed #/metadata unknown_field"],
    ["a field called __proto__", [fieldPart("__proto__", "x"), image], "validation_failed #/__proto__ unknown_field"],
    ["another file", [image, filePart(PNG, "b.png", "other")], "validation_failed #/other unknown_field"],
    ["the file as text", [fieldPart("file", "x")], "validation_failed #/file wrong_type"],
    ["the kind as a file", [filePart("image", "k", "kind"), image], "validation_failed #/kind wrong_type"],
    ["an unknown kind", [fieldPart("kind", "picture"), image], "validation_failed #/kind not_allowed"],
    ["a kind in another case", [fieldPart("kind", "Image"), image], "validation_failed #/kind not_allowed"],
    ["a kind with a space", [fieldPart("kind", "image "), image], "validation_failed #/kind not_allowed"],
    ["an empty kind", [fieldPart("kind", ""), image], "validation_failed #/kind not_allowed"],
    ["a kind of 17 bytes", [fieldPart("kind", "x".repeat(17)), image], "validation_failed #/kind too_long"],
    ["a kind of 60 KB", [fieldPart("kind", "x".repeat(60_000)), image], "validation_failed #/kind too_long"],
    [
      "another kind before the file",
      [fieldPart("kind", "video"), image],
      "validation_failed #/kind asset_kind_mismatch",
    ],
    [
      "another kind after the file",
      [image, fieldPart("kind", "video")],
      "validation_failed #/kind asset_kind_mismatch",
    ],
    ["text as a file", [filePart("hello, world")], "validation_failed #/file unsupported_file"],
    [
      "SVG",
      [filePart('<svg xmlns="http://www.w3.org/2000/svg"/>', "a.png")],
      "validation_failed #/file unsupported_file",
    ],
    ["HTML", [filePart("<html><script>alert(1)</script>", "a.jpg")], "validation_failed #/file unsupported_file"],
    ["GIF", [filePart("GIF89a\x01\x00\x01\x00", "a.gif")], "validation_failed #/file unsupported_file"],
    ["PDF", [filePart("%PDF-1.7\n", "a.pdf")], "validation_failed #/file unsupported_file"],
    ["a part without a name", [part("Content-Disposition: form-data"), image], "malformed_request"],
    ["a part with an empty name", [part('Content-Disposition: form-data; name=""'), image], "malformed_request"],
    ["a long name", [fieldPart("n".repeat(5000), "x"), image], `validation_failed #/${"n".repeat(128)} unknown_field`],
    ["a header of 20 KB", [part(`X-Long: ${"x".repeat(20_000)}`), image], "malformed_request"],
    [
      "many headers",
      [part(Array.from({ length: 3000 }, (_, at) => `X-${at}: y`).join("\r\n")), image],
      "malformed_request",
    ],
    [
      "a control character in a header",
      [part('Content-Disposition: form-data; name="fi\x01le"'), image],
      "malformed_request",
    ],
    ["a header without a colon", [part("Content-Disposition"), image], "malformed_request"],
    ["17 parts that are not form data", Array.from({ length: 17 }, () => part("X: y")), "malformed_request"],
  ] satisfies [string, Part[], string][])("a form, with %s: the error names the part", async (_, parts, expected) => {
    expect(await outcome(encodeForm(parts))).toBe(expected);
    // The result is the same in small pieces.
    expect(outcomeOf(await receive(cut(encodeForm(parts), 100)))).toBe(expected);
  });

  test.each([
    ["without the last boundary", encodeForm([image], { end: false })],
    ["that ends in a file", encodeForm([image]).subarray(0, 150)],
    ["that ends in the headers of a part", encodeForm([image]).subarray(0, 60)],
    ["that ends in the last boundary", encodeForm([image]).subarray(0, -4)],
    ["of another boundary", encodeForm([image], { boundary: "other" })],
    ["that is empty", new Uint8Array(0)],
    ["that is JSON", Buffer.from('{"file":"x"}')],
  ])("a form, %s: 400", async (_, form) => {
    expect(await outcome(form)).toBe("malformed_request");
  });

  test.each([
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "multipart/form-data; bound=x",
    "multipart/form-data;;",
  ])("a form, with the type %j: 400", async (type) =>
    expect(await outcome(encodeForm([image]), { type })).toBe("malformed_request"),
  );

  test("a form with an endless file: 413 at the limit of the kind", async () => {
    let sent = 0;
    const endless = async function* () {
      yield encodeForm([filePart(createFile("image", 1000))], { end: false });
      for (;;) {
        sent += 64 * 1024;
        yield new Uint8Array(64 * 1024);
      }
    };
    expect(outcomeOf(await receive(endless()))).toBe("body_too_large");
    expect(sent).toBeLessThan(ASSET_LIMITS.image.maxBytes + 1024 * 1024);
  });

  test.each(["a preamble", "an epilogue"])(
    "a form, with %s that never ends: 413 at the limit of the form",
    async (where) => {
      const endless = async function* () {
        if (where === "an epilogue") yield encodeForm([image]);
        for (;;) yield new Uint8Array(1024 * 1024);
      };
      expect(outcomeOf(await receive(endless()))).toBe("body_too_large");
    },
  );

  test("a form with endless parts: 400 at the sixteenth part", async () => {
    let parts = 0;
    const endless = async function* () {
      for (;;) {
        parts++;
        yield encodeForm([part("X: y")], { end: false });
      }
    };
    expect(outcomeOf(await receive(endless()))).toBe("malformed_request");
    expect(parts).toBeLessThan(30);
  });

  test("a form that stops or is too slow: 400, retryable; the connection closes", async () => {
    const [start = "", end = ""] = encodeForm([filePart(`${PNG.toString("latin1")}@`)])
      .toString("latin1")
      .split("@");
    const silent = async function* () {
      yield Buffer.from(start, "latin1");
      await Bun.sleep(400);
      yield Buffer.from(end, "latin1");
    };
    const slow = async function* () {
      yield Buffer.from(start, "latin1");
      for (let sent = 0; sent < 100; sent++) {
        await Bun.sleep(10);
        yield new Uint8Array(1);
      }
    };
    for (const pieces of [silent(), slow()]) {
      const result = await receive(pieces, { stallMs: 200 });
      expect(outcomeOf(result)).toBe("malformed_request");
      expect((result as Problem).extras).toMatchObject({ retryable: true, hangUp: true });
    }
  });

  test("a form whose connection breaks: 400", async () => {
    const broken = async function* () {
      yield encodeForm([image]).subarray(0, 150);
      throw new Error("ECONNRESET");
    };
    expect(outcomeOf(await receive(broken()))).toBe("malformed_request");
  });
});

describe("the name of a file", () => {
  test.each([
    ["quote and line break as browsers encode them", "a%22b%0D%0A.jpg", 'a"b.jpg'],
    ["quote as older clients escape it", 'a\\"b.jpg', 'a"b.jpg'],
    ["quote without an escape", 'a"b.jpg', 'a"b.jpg'],
    ["other escapes, which browsers do not encode", "100%25 %41%0d.jpg", "100%25 %41%0d.jpg"],
    ["folders", "../../etc/passwd", "../../etc/passwd"],
    ["backslashes", "C:\\Users\\\\ada\\me.jpg", "C:\\Users\\\\ada\\me.jpg"],
    ["slash at the end", "foo/", "foo/"],
    ["backslash at the end", "foo\\", "foo\\"],
    ["dots alone", "..", ".."],
    ["semicolon", "a;b=c.jpg", "a;b=c.jpg"],
    ["spaces around it", " a.jpg ", " a.jpg "],
    ["characters beyond ASCII", "Ada Lovelace 👩‍🚀 é.jpg", "Ada Lovelace 👩‍🚀 é.jpg"],
    ["more than 240 characters", `${"é".repeat(300)}.jpg`, "é".repeat(240)],
    ["characters that change the direction of text or break lines", "a\u202e\u061c\u2028gpj.exe", "agpj.exe"],
    ["line breaks alone", "%0D%0A", null],
  ])("the name, %s (%s): read as %s", async (_case, filename, expected) => {
    expect(await receive([encodeForm([filePart(PNG, filename)])])).toMatchObject({
      received: { originalFilename: expected },
    });
  });

  test("`filename` before `name`, and `filename*` (RFC 5987): decoded", async () => {
    for (const [headers, expected] of [
      [`Content-Disposition: form-data; filename="a\\"; name="file"`, "a\\"],
      [`Content-Disposition: form-data; name="file"; filename*=UTF-8''a%00%0d%0a%1b%7f.png`, "a.png"],
    ] as const) {
      expect(await receive([encodeForm([{ headers, content: PNG }])])).toMatchObject({
        received: { originalFilename: expected },
      });
    }
  });

  test("sent by fetch with FormData: the name given to fetch", async () => {
    for (const name of ['a"b\\c/d.png', "foo\\", "é %41;.png"]) {
      const form = new FormData();
      form.append("file", new File([PNG], name));
      const sent = new Response(form);
      const type = sent.headers.get("content-type") ?? "";
      expect(await receive([new Uint8Array(await sent.arrayBuffer())], { type })).toMatchObject({
        received: { originalFilename: name },
      });
    }
  });

  test("in a malformed header: malformed_request instead of a missing file", async () => {
    const headers = 'Content-Disposition: form-data; name="file"; filename="a"; b';
    expect(outcomeOf(await receive([encodeForm([{ headers, content: PNG }])]))).toBe("malformed_request");
  });

  test("absent or empty: null; with an unpaired surrogate: U+FFFD in its place", () => {
    expect([cleanFilename(undefined), cleanFilename("\u0000\r\n"), cleanFilename("\ud800a")]).toEqual([
      null,
      null,
      "\ufffda",
    ]);
  });
});
