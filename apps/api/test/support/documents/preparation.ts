/** The tables of docs/preparation.md, in Markdown, generated from the tables in the code. */

import { CHECK_CODES, type Range, REQUIREMENTS, type Requirement } from "@realtime-avatar/domain/avatars/checks";
import { CHANGE_EFFECTS, type Effect, type PreparationChange } from "@realtime-avatar/domain/avatars/preparation";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { TEST_ASSETS } from "@realtime-avatar/domain/avatars/test-assets";
import { PHOTO_PACKAGES, PHOTOS } from "@realtime-avatar/testing/photos";
import { outcomeText } from "../../../src/pages/reference/outcomes.ts";

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const rangeText = (range: Range | null, unit: string | null): string => {
  if (range === null) return "";
  const [min, max] = range;
  const amount = unit === "°" ? "°" : unit === null ? "" : ` ${unit}`;
  if (min !== null && min === max) return `exactly ${min}`;
  if (min !== null && max !== null) return `${min} to ${max}${amount}`;
  return min === null ? `at most ${max}${amount}` : `at least ${min}${amount}`;
};

/** A row for each check. Checks of images and of videos with the same code must be equal. */
export const requirementsTable = (): string => {
  const rows = CHECK_CODES.flatMap((code) => {
    const kinds = SOURCE_KINDS.filter((kind) => REQUIREMENTS[kind].some((each) => each.code === code));
    const all = kinds.flatMap((kind) => REQUIREMENTS[kind].filter((each) => each.code === code));
    const [first] = all;
    if (!first) return [];
    if (all.some((each) => !Bun.deepEquals(each, first)))
      throw new Error(`The kinds have different requirements for ${code}.`);
    const { description, unit, required, recommended }: Requirement = first;
    return [[`\`${code}\``, kinds.join(", "), rangeText(required, unit), rangeText(recommended, unit), description]];
  });
  return table(["Check", "Of", "Required", "Better", "What it says"], rows);
};

const CHANGES: Readonly<Record<PreparationChange, string>> = {
  sourceAssetId: "`PATCH` with another `sourceAssetId`",
  noSource: "`PATCH` with `sourceAssetId: null`",
  modelId: "`PATCH` with another `modelId`",
  prepare: "`POST /api/v1/avatars/{id}/prepare`",
};
const EFFECTS: Readonly<Record<Effect, string>> = {
  set: "is set",
  prepare: "prepares",
  prepare_in_background: "prepares in the background",
  refuse: "409",
};

export const effectsTable = (): string => {
  const statuses = AVATAR_STATUSES;
  const changes = Object.keys(CHANGE_EFFECTS) as PreparationChange[];
  const rows = changes.map((change) => [
    CHANGES[change],
    ...statuses.map((status) => EFFECTS[CHANGE_EFFECTS[change][status]]),
  ]);
  return table(["Change", ...statuses.map((status) => `\`${status}\``)], rows);
};

export const testAssetsTable = (): string =>
  table(
    ["Id", "Outcome"],
    Object.entries(TEST_ASSETS).map(([id, outcome]) => [`\`${id}\``, outcomeText(outcome)]),
  );

export const packagesTable = (): string =>
  table(
    ["Package", "Version", "Licence", "Photographs"],
    Object.entries(PHOTO_PACKAGES).map(([name, { version, licence }]) => [
      `\`${name}\``,
      version,
      `${licence}, Creative Tim`,
      String(PHOTOS.filter((photo) => photo.package === name).length),
    ]),
  );

export const TABLES: Readonly<Record<string, () => string>> = {
  requirements: requirementsTable,
  effects: effectsTable,
  "test-assets": testAssetsTable,
  packages: packagesTable,
};
