/** The routes that take a form: in which order a request is checked. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startApi, type TestApi } from "../support/api.ts";
import { fieldPart, fileOf, filePart, formOf, PNG, typeOf } from "../support/forms.ts";
import { allRoutesOf, expectProblem } from "../support/routes.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;
let everything: string;

beforeAll(async () => {
  api = await startApi();
  everything = await api.key();
});
afterAll(() => api.close());

const withForm = () => allRoutesOf(api).filter(({ isForm }) => isForm);
const FORM = { body: formOf([filePart(PNG)]), headers: { "content-type": typeOf() } };

test("there is one", () => {
  expect(withForm().length).toBe(1);
});

describe("a form goes through the same steps", () => {
  const send = (type: string, body: string | Uint8Array, more = {}) =>
    Promise.all(
      withForm().map(({ method, url }) =>
        api.call(method, url, { key: everything, body, headers: { "content-type": type, ...more } }),
      ),
    );

  test.each(["application/json", "multipart/form-data2; boundary=x", "multipart/mixed; boundary=x", "text/plain", ""])(
    "the media type %j is 415, before the size is looked at",
    async (type) => {
      for (const body of ["x", FORM.body]) {
        for (const answer of await send(type, body)) expectProblem(answer, "unsupported_media_type");
      }
    },
  );

  test.each(["gzip", "identity"])("the content encoding %s is 415", async (encoding) => {
    for (const answer of await send(typeOf(), FORM.body, { "content-encoding": encoding })) {
      expectProblem(answer, "unsupported_media_type");
    }
  });

  test("too large is 413, malformed is 400, and what does not meet its constraints is 422", async () => {
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
