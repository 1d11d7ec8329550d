/** The models that render avatars, with their requirements of a source. */
import { type Static, Type } from "@sinclair/typebox";
import { Page } from "../page.ts";
import { ClosedObject, Nullable, OneOf, Text } from "../schema.ts";
import { CHECK_CODES, type Range, REQUIREMENTS, type Requirement } from "./checks.ts";

/** The default model of the service, unless another one is configured. */
export const LIVE_MODEL_ID = "realtime-avatar-live-v1";

const Bounds = Nullable(
  ClosedObject({
    min: Nullable(Type.Number(), { description: "Null: without a minimum." }),
    max: Nullable(Type.Number(), { description: "Null: without a maximum." }),
  }),
  { description: "Inclusive bounds, in `unit`; null where nothing is counted." },
);

export const SourceRequirement = ClosedObject({
  code: OneOf(CHECK_CODES, { description: "The check, as the `checks` of an avatar name it." }),
  description: Text({ minLength: 1, maxLength: 500, description: "The requirement." }),
  unit: Nullable(Text({ minLength: 1, maxLength: 16 }), { description: "The unit of the bounds and of `measured`." }),
  required: Bounds,
  recommended: Bounds,
});
export type SourceRequirement = Static<typeof SourceRequirement>;

const Requirements = Type.Array(SourceRequirement, { minItems: 1, maxItems: CHECK_CODES.length });

export const Model = ClosedObject({
  id: Text({ minLength: 1, maxLength: 160, description: "The `modelId` of avatars." }),
  isDefault: Type.Boolean({ description: "Whether this is the default model." }),
  requirements: ClosedObject({ image: Requirements, video: Requirements }),
});
export type Model = Static<typeof Model>;
export const ModelPage = Page(Model);
export type ModelPage = Static<typeof ModelPage>;

const boundsOf = (range: Range | null) => range && { min: range[0], max: range[1] };

const present = ({ code, description, unit, required, recommended }: Requirement): SourceRequirement => ({
  code,
  description,
  unit,
  required: boundsOf(required),
  recommended: boundsOf(recommended),
});

/**
 * The models of a service whose default is `defaultModelId`, the default first. A model that is not listed has the
 * requirements of the default.
 */
export const listModels = (defaultModelId: string): Model[] =>
  [...new Set([defaultModelId, LIVE_MODEL_ID])].map((id) => ({
    id,
    isDefault: id === defaultModelId,
    requirements: { image: REQUIREMENTS.image.map(present), video: REQUIREMENTS.video.map(present) },
  }));
