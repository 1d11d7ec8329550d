import { expect, test } from "bun:test";
import { validate } from "../schema.ts";
import { REQUIREMENTS } from "./checks.ts";
import { LIVE_MODEL_ID, listModels, ModelPage } from "./models.ts";

test("the models, with another default: the default first, each once", () => {
  const flags = (id: string) => listModels(id).map((model) => [model.id, model.isDefault]);
  expect(flags("mine")).toEqual([
    ["mine", true],
    [LIVE_MODEL_ID, false],
  ]);
  expect(flags(LIVE_MODEL_ID)).toEqual([[LIVE_MODEL_ID, true]]);
});

test("the requirements, of each model: every check with its bounds", () => {
  const data = listModels("mine");
  expect(validate(ModelPage, { data, nextCursor: null })).toEqual([]);
  for (const { requirements } of data) {
    for (const kind of ["image", "video"] as const) {
      expect(requirements[kind].map(({ code }) => code)).toEqual(REQUIREMENTS[kind].map(({ code }) => code));
    }
    const size = requirements.image.find(({ code }) => code === "face_size");
    const [minimum, recommended] = [size?.required, size?.recommended];
    const row = REQUIREMENTS.image.find(({ code }) => code === "face_size");
    expect([minimum?.min, minimum?.max]).toEqual([row?.required?.[0], row?.required?.[1]]);
    expect([recommended?.min, recommended?.max]).toEqual([row?.recommended?.[0], row?.recommended?.[1]]);
    expect(requirements.image.find(({ code }) => code === "decodable")).toMatchObject({
      required: null,
      recommended: null,
    });
  }
});
