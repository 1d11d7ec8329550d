/**
 * The photographs that tests and the calibration of the checks use. They come with packages of the npm registry under
 * the MIT licence, are not part of this repository, and are not part of any release. A person described what each
 * photograph shows before any program measured it.
 */
import { dirname, join } from "node:path";

export const PHOTO_PACKAGES = {
  /** Copyright 2018 Creative Tim, MIT: `LICENSE.md` of the package. */
  "material-kit": { version: "2.0.4", licence: "MIT", folder: "assets/img" },
  /** Copyright 2017 Creative Tim, MIT: `LICENSE.md` of the package. */
  "material-dashboard": { version: "3.1.0", licence: "MIT", folder: "assets/img" },
  /** Copyright 2021 Creative Tim, MIT: `LICENSE` of the package. */
  "soft-ui-dashboard": { version: "1.0.1", licence: "MIT", folder: "assets/img" },
} as const;
type PhotoPackage = keyof typeof PHOTO_PACKAGES;

/** Bounds are chosen with the first set, and reported on the second. No person appears in both. */
export type PhotoSet = "calibration" | "report";

/**
 * The content of a photograph.
 * - `front`: one face that looks at the camera.
 * - `turned`: one face, clearly turned to a side.
 * - `unclear`: one face, turned or covered so far that one cannot say whether it should be accepted.
 * - `far`: one person, whose face is much smaller than 15 % of the height.
 * - `several`: more faces than one.
 * - `no_face`: no face of a person.
 */
export type PhotoContent = "front" | "turned" | "unclear" | "far" | "several" | "no_face";

export type Photo = { package: PhotoPackage; path: string; set: PhotoSet; content: PhotoContent; shows: string };

const photo =
  (set: PhotoSet, content: PhotoContent) =>
  (name: PhotoPackage, path: string, shows: string): Photo => ({ package: name, path, set, content, shows });

const photosOf = (set: PhotoSet) => ({
  front: photo(set, "front"),
  turned: photo(set, "turned"),
  unclear: photo(set, "unclear"),
  far: photo(set, "far"),
  several: photo(set, "several"),
  noFace: photo(set, "no_face"),
});
const calibration = photosOf("calibration");
const report = photosOf("report");

/** All photographs. Those of faces have 400 × 400 or 800 × 800 pixels; a test scales those below 512. */
export const PHOTOS: readonly Photo[] = [
  calibration.front("material-kit", "faces/marc.jpg", "man with a beard, before black"),
  calibration.front("material-kit", "faces/christian.jpg", "man with a cap, smiling, outdoors"),
  calibration.front("material-dashboard", "team-1.jpg", "woman between leaves, half of the face in the shade"),
  calibration.front("material-dashboard", "team-3.jpg", "woman, hand at the chin"),
  calibration.front("material-dashboard", "marie.jpg", "woman with glasses"),
  calibration.front("soft-ui-dashboard", "ivana-square.jpg", "woman with a fringe, before yellow"),
  calibration.turned("material-kit", "faces/card-profile1-square.jpg", "man with a beard, looks past the camera"),
  calibration.turned("material-kit", "faces/card-profile5-square.jpg", "woman, looks past the camera"),
  calibration.turned("material-dashboard", "bruce-mars.jpg", "man with a cap, from the side"),
  calibration.turned("soft-ui-dashboard", "team-2.jpg", "man with sunglasses, from the side"),
  calibration.unclear("material-kit", "faces/kendall.jpg", "woman with reflecting glasses, half turned"),
  calibration.unclear("material-kit", "faces/camp.jpg", "woman, half turned"),
  calibration.unclear("material-kit", "faces/card-profile2-square.jpg", "man, looks down"),
  calibration.unclear("soft-ui-dashboard", "bruce-mars.jpg", "man with glasses, half turned, hand at the head"),
  calibration.far("material-kit", "examples/studio-2.jpg", "woman, whole body"),
  calibration.several("material-kit", "examples/mariya-georgieva.jpg", "men in a street"),
  calibration.noFace("material-kit", "bg3.jpg", "hills"),
  calibration.noFace("material-kit", "city.jpg", "city from above, grey"),
  calibration.noFace("material-kit", "examples/olu-eletu.jpg", "man with a cup, without his head"),
  calibration.noFace("material-kit", "examples/studio-4.jpg", "hand with a bag"),
  calibration.noFace("material-kit", "examples/studio-1.jpg", "man whose cap covers the face"),
  calibration.noFace("material-dashboard", "illustrations/illustration-reset.jpg", "drawing of a deer"),
  calibration.noFace("material-dashboard", "home-decor-2.jpg", "bedroom"),
  calibration.noFace("material-dashboard", "product-12.jpg", "man in a shirt, without his head"),

  report.front("material-dashboard", "team-4.jpg", "man with a hat, before black"),
  report.front("material-dashboard", "team-5.jpg", "woman, hand at the chin"),
  report.front("material-dashboard", "ivana-square.jpg", "man with glasses and a beard"),
  report.front("material-dashboard", "ivana-squares.jpg", "woman, at sunset"),
  report.front("soft-ui-dashboard", "kal-visuals-square.jpg", "woman with braids, smiling"),
  report.front("soft-ui-dashboard", "team-1.jpg", "woman with curls, hand in the hair"),
  report.turned("material-kit", "faces/card-profile6-square.jpg", "woman with a wide hat, looks past the camera"),
  report.turned("material-dashboard", "kal-visuals-square.jpg", "man, from the side, dark"),
  report.turned("soft-ui-dashboard", "team-3.jpg", "man with glasses, looks past the camera"),
  report.turned("soft-ui-dashboard", "team-4.jpg", "man, from the side"),
  report.unclear("material-kit", "faces/avatar.jpg", "woman, hair in the face, against the light"),
  report.unclear("material-kit", "faces/card-profile4-square.jpg", "woman, hand before the mouth"),
  report.unclear("material-dashboard", "team-2.jpg", "man with sunglasses, laughing, half turned"),
  report.unclear("soft-ui-dashboard", "marie.jpg", "woman, half turned"),
  report.far("soft-ui-dashboard", "ivancik.jpg", "man in a large room"),
  report.several("material-dashboard", "meeting.jpg", "men in an office"),
  report.noFace("material-kit", "bg2.jpg", "sea at sunset"),
  report.noFace("material-kit", "profile_city.jpg", "city from above"),
  report.noFace("material-kit", "examples/clem-onojeghuo.jpg", "two people, without their heads"),
  report.noFace("material-kit", "examples/cynthia-del-rio.jpg", "woman with a bag, without her head"),
  report.noFace("material-kit", "examples/studio-5.jpg", "woman whose hair covers the face"),
  report.noFace("material-dashboard", "illustrations/illustration-signin.jpg", "drawing of a forest"),
  report.noFace("material-dashboard", "ivancik.jpg", "forest"),
  report.noFace("material-dashboard", "home-decor-3.jpg", "living room"),
];

/** The unique name of a photograph. */
export const photoName = ({ package: name, path }: Photo): string => `${name}/${path}`;

/** The path of a photograph on this machine. */
export const photoPath = ({ package: name, path }: Photo): string =>
  join(dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dir)), PHOTO_PACKAGES[name].folder, path);

const find = (name: string): Photo => {
  const found = PHOTOS.find((each) => photoName(each) === name);
  if (!found) throw new Error(`There is no photograph ${name}.`);
  return found;
};

/** The path of a photograph of 800 × 800 pixels of one face that looks at the camera. */
export const portraitPath = (): string => photoPath(find("soft-ui-dashboard/kal-visuals-square.jpg"));
/** The path of a photograph of 1740 × 900 pixels without a face. */
export const landscapePath = (): string => photoPath(find("material-kit/bg2.jpg"));
