/** The routes that take a form: in which order a request is checked. */
import { describe, expect, test } from "bun:test";
import { startApi } from "../support/api.ts";
import { fieldPart, fileOf, filePart, formOf, PNG, typeOf } from "../support/forms.ts";
import { allRoutesOf, expectProblem } from "../support/routes.ts";

const api = await startApi();
const everything = await api.key();

const withForm = () => allRoutesOf(api).filter(({ isForm }) => isForm);
const FORM = { body: formOf([filePart(PNG)]), headers: { "content-type": typeOf() } };

test("the routes with a form, counted: one", () => {
  expect(withForm().length).toBe(1);
});

describe("the checks of a form", () => {
  const send = (type: string, body: string | Uint8Array, more = {}) =>
    Promise.all(
      withForm().map(({ method, url }) =>
        api.call(method, url, { key: everything, body, headers: { "content-type": type, ...more } }),
      ),
    );

  test.each(["application/json", "multipart/form-data2; boundary=x", "multipart/mixed; boundary=x", "text/plain", ""])(
    "a form, of the media type %j: 415 before the size",
    async (type) => {
      for (const body of ["x", FORM.body]) {
        for (const answer of await send(type, body)) expectProblem(answer, "unsupported_media_type");
      }
    },
  );

  test.each(["gzip", "identity"])("a form, with content encoding %s: 415", async (encoding) => {
    for (const answer of await send(typeOf(), FORM.body, { "content-encoding": encoding })) {
      expectProblem(answer, "unsupported_media_type");
    }
  });

  test("a form, too large, malformed or invalid: 413, 400, 422", async () => {
    const large = formOf([filePart(fileOf("image", 16 * 1024 * 1024 + 1))]);
    for (const answer of await send(typeOf(), large)) expectProblem(answer, "body_too_large");
    for (const body of ["", "x", formOf([filePart(PNG)], { end: false })]) {
      for (const answer of await send(typeOf(), body)) expectProblem(answer, "malformed_request");
    }
    for (const parts of [[], [fieldPart("kind", "image")], [filePart("text")], [filePart(PNG), fieldPart("x", "y")]]) {
      for (const answer of await send(typeOf(), formOf(parts))) expectProblem(answer, "validation_failed");
    }
  });
});
